// RUN: neuron-opt %s -p "nc-allocate{sbuf=14336}" | filecheck %s
// RUN: neuron-opt %s -p "nc-allocate{sbuf=14336}" --pass-statistics -o /dev/null 2>&1 | filecheck %s --check-prefix=STATISTICS
// RUN: neuron-opt %s -p "nc-allocate{sbuf=10240}" | filecheck %s --check-prefix=SMALL
// RUN: neuron-opt %s -p "nc-allocate{sbuf=14336 loops=false}" | filecheck %s --check-prefix=SMALL

// %late is loaded behind the loop, whose tile takes 8 KiB. Its 4 KiB are others where there is room,
// so that the load is over when the loop is; in less room it waits for the loop.

// CHECK: %late = nc.alloc at 8192
// SMALL: %late = nc.alloc at 0
// STATISTICS: 1 buffers that are loaded while a loop runs

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "ordered"} {
  nc.variable "x" : "input" memref<8192x2048xf32, #nc.space<"hbm">> index 0
  nc.variable "l" : "input" memref<128x1024xf32, #nc.space<"hbm">> index 1
  nc.variable "y" : "output" memref<8192x2048xf32, #nc.space<"hbm">> index 0
  nc.variable "z" : "output" memref<128x2048xf32, #nc.space<"hbm">> index 1
  nc.func "main" {
    %x = nc.address_of @x : memref<8192x2048xf32, #nc.space<"hbm">>
    %l = nc.address_of @l : memref<128x1024xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<8192x2048xf32, #nc.space<"hbm">>
    %z = nc.address_of @z : memref<128x2048xf32, #nc.space<"hbm">>
    %fill = nc.alloc : memref<128x2048xf32, #nc.space<"sbuf">>
    %late = nc.alloc : memref<128x1024xf32, #nc.space<"sbuf">>
    %zero = arith.constant 0 : index
    %trips = arith.constant 64 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %trips step %one {
      %tile = nc.alloc : memref<128x2048xf32, #nc.space<"sbuf">>
      nc.dma (%tile[0:128 | 2048:1 | 0]) = (%x[0:128 * 2048 | 2048:1 | 0 + 262144 * %i]) on dma1
      nc.dma (%y[0:128 * 2048 | 2048:1 | 0 + 262144 * %i]) = (%tile[0:128 | 2048:1 | 0]) on dma4
    }
    nc.memset (%fill[0:128 | 2048:1 | 0]) = () {value = 1.0} on dve
    nc.dma (%z[0:128 * 2048 | 2048:1 | 0]) = (%fill[0:128 | 2048:1 | 0]) on dma4
    nc.dma (%late[0:128 | 1024:1 | 0]) = (%l[0:128 * 1024 | 1024:1 | 0]) on dma1
    nc.dma (%z[0:128 * 2048 | 1024:1 | 0]) = (%late[0:128 | 1024:1 | 0]) on dma4
    nc.return
  }
}
