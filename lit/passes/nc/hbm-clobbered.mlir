// Two scratch arrays share bytes, and the second one is stored before the first one has been loaded.
// RUN: status 1 neuron-opt %s -p nc-verify-order,nc-verify-order 2>&1 | filecheck %s

// CHECK: error: [NIR_NC011] nc.dma may overwrite the bytes of a variable that is needed later
// CHECK: help: variables that share bytes of HBM must be used one after the other
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "allocated"} {
  nc.variable "x" : "input" memref<128x8xf32, #nc.space<"hbm">> index 0 at 0
  nc.variable "y" : "output" memref<128x8xf32, #nc.space<"hbm">> index 0 at 4096
  nc.variable "s" : "scratch" memref<128x8xf32, #nc.space<"hbm">> at 8192
  nc.variable "t" : "scratch" memref<128x8xf32, #nc.space<"hbm">> at 8192
  nc.func "main" {
    %x = nc.address_of @x : memref<128x8xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x8xf32, #nc.space<"hbm">>
    %s = nc.address_of @s : memref<128x8xf32, #nc.space<"hbm">>
    %t = nc.address_of @t : memref<128x8xf32, #nc.space<"hbm">>
    %a = nc.alloc at 0 : memref<128x8xf32, #nc.space<"sbuf">>
    %b = nc.alloc at 32 : memref<128x8xf32, #nc.space<"sbuf">>
    nc.dma (%a[0:128 | 8:1 | 0]) = (%x[0:128 * 8 | 8:1 | 0]) on dma1
    nc.dma (%s[0:128 * 8 | 8:1 | 0]) = (%a[0:128 | 8:1 | 0]) on dma8
    nc.dma (%t[0:128 * 8 | 8:1 | 0]) = (%a[0:128 | 8:1 | 0]) on dma9
    nc.dma (%b[0:128 | 8:1 | 0]) = (%s[0:128 * 8 | 8:1 | 0]) on dma10
    nc.dma (%y[0:128 * 8 | 8:1 | 0]) = (%b[0:128 | 8:1 | 0]) on dma4
    nc.return
  }
}
