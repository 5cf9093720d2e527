// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s -p nc-verify-machine -o /dev/null

// A transfer is started by SP, or by POOL where POOL makes its descriptors, if nothing else is said. Its
// queue belongs to that engine.

// CHECK: nc.dma (%a[0:128 | 64:1 | 0]) = (%x[0:128 * 64 | 64:1 | 0]) on dma0{{$}}
// CHECK: nc.dma (%b[0:128 | 64:1 | 0]) = (%x[0:128 * 64 | 64:1 | 0]) on dma1 by act update [<0, 16>]
// CHECK: nc.dma (%y[0:128 * 64 | 64:1 | 0]) = (%b[0:128 | 64:1 | 0]) on dma4 by pool wait [<0, 16>] update [<1, 16>]
// CHECK: nc.dma_gather ({{.*}} on dma14{{$}}

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "ordered"} {
  nc.variable "x" : "input" memref<128x64xf32, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<128x64xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<128x64xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x64xf32, #nc.space<"hbm">>
    %a = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    %b = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    %i = nc.alloc : memref<128x1xi32, #nc.space<"sbuf">>
    nc.dma (%a[0:128 | 64:1 | 0]) = (%x[0:128 * 64 | 64:1 | 0]) on dma0 by sp
    nc.dma (%b[0:128 | 64:1 | 0]) = (%x[0:128 * 64 | 64:1 | 0]) on dma1 by act update [<0, 16>]
    nc.dma (%y[0:128 * 64 | 64:1 | 0]) = (%b[0:128 | 64:1 | 0]) on dma4 by pool wait [<0, 16>] update [<1, 16>]
    nc.iota (%i[0:128 | 1:1 | 0]) = () {base = 0, channel_multiplier = 1} on pool
    nc.dma_gather (%a[0:128 | 64:1 | 0]) = (%x[0:1 | 64:1 | 0], %i[0:128 | 1:1 | 0]) {row_stride = 256, rows = 128} on dma14
    nc.return
  }
}
