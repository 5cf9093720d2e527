// RUN: neuron-opt %s -p "nc-unroll,nc-assign-engines,nc-rotate,nc-prefetch,nc-pipeline,nc-reload-weights,nc-schedule" | filecheck %s
// RUN: neuron-opt %s -p "@nc-order" | filecheck %s --check-prefix=PIECES

// Transfers of a scratch array are distributed round robin over three queues, except for its large
// loads (4 MiB each here), which share one queue: in parallel, both would arrive late.

// CHECK: nc.dma (%a[{{.*}}) = (%t[{{.*}}) on dma8{{$}}
// CHECK: nc.dma (%b[{{.*}}) = (%t[{{.*}}) on dma8{{$}}
// CHECK: nc.dma (%c[{{.*}}) = (%t[{{.*}}) on dma9{{$}}
// CHECK: nc.dma (%d[{{.*}}) = (%t[{{.*}}) on dma10{{$}}

// Pieces run in parallel, those of the first load before those of the second.

// PIECES: nc.dma (%a[{{.*}}| 0]) = (%t[{{.*}}) on dma8
// PIECES: nc.dma (%a[{{.*}}| 1024]) = (%t[{{.*}}) on dma9
// PIECES: nc.dma (%a[{{.*}}| 2048]) = (%t[{{.*}}) on dma10
// PIECES: nc.dma (%a[{{.*}}| 3072]) = (%t[{{.*}}) on dma8
// PIECES: nc.dma (%b[{{.*}}| 0]) = (%t[{{.*}}) on dma10

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "t" : "scratch" memref<256x8192xf32, #nc.space<"hbm">>
  nc.variable "y" : "output" memref<256x8192xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %t = nc.address_of @t : memref<256x8192xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<256x8192xf32, #nc.space<"hbm">>
    %a = nc.alloc : memref<128x8192xf32, #nc.space<"sbuf">>
    %b = nc.alloc : memref<128x8192xf32, #nc.space<"sbuf">>
    %c = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    %d = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    nc.dma (%a[0:128 | 8192:1 | 0]) = (%t[0:128 * 8192 | 8192:1 | 0])
    nc.dma (%b[0:128 | 8192:1 | 0]) = (%t[0:128 * 8192 | 8192:1 | 1048576])
    nc.dma (%c[0:128 | 64:1 | 0]) = (%t[0:128 * 8192 | 64:1 | 0])
    nc.dma (%d[0:128 | 64:1 | 0]) = (%t[0:128 * 8192 | 64:1 | 64])
    nc.dma (%y[0:128 * 8192 | 8192:1 | 0]) = (%a[0:128 | 8192:1 | 0])
    nc.dma (%y[0:128 * 8192 | 8192:1 | 1048576]) = (%b[0:128 | 8192:1 | 0])
    nc.dma (%y[0:128 * 8192 | 64:1 | 0]) = (%c[0:128 | 64:1 | 0])
    nc.dma (%y[0:128 * 8192 | 64:1 | 64]) = (%d[0:128 | 64:1 | 0])
    nc.return
  }
}
