// RUN: neuron-opt %s -p nc-assign-queues | filecheck %s
// RUN: neuron-opt %s -p nc-assign-queues --pass-statistics -o /dev/null 2>&1 | filecheck %s --check-prefix=STAT
// RUN: neuron-opt %s -p nc-verify-order,nc-assign-queues,nc-verify-order -o /dev/null
// RUN: sed 's/{nc.scheduled}//' %s | neuron-opt -p nc-assign-queues | filecheck %s --check-prefix=HAND
// RUN: sed '/%c\[/s/on dma3/on dma3 attributes {nc.own_queue}/' %s | neuron-opt -p nc-assign-queues | filecheck %s --check-prefix=OWN

// Loads with rows of 4 KiB share the first queue that SP has for loads: ACT uses dma1. Rows of 512
// bytes take one queue 1.6 times as long as all DMA engines together, so they are spread over two
// queues. Stores keep their queue, and so does a load whose queue the program names; others pass it.

// CHECK: nc.dma (%a{{.*}} on dma1 by act
// CHECK: nc.dma (%b{{.*}} on dma2
// CHECK: nc.dma (%c{{.*}} on dma2
// CHECK: nc.dma (%d{{.*}} on dma3
// CHECK: nc.dma (%e{{.*}} on dma3
// CHECK: nc.dma (%y{{.*}} on dma4

// STAT: 2 loads on another queue

// HAND: nc.dma (%b{{.*}} on dma2
// HAND: nc.dma (%c{{.*}} on dma3
// HAND: nc.dma (%d{{.*}} on dma3
// HAND: nc.dma (%e{{.*}} on dma2

// OWN: nc.dma (%b{{.*}} on dma2
// OWN: nc.dma (%c{{.*}} on dma3 attributes {nc.own_queue}
// OWN: nc.dma (%d{{.*}} on dma2

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "allocated"} {
  nc.variable "x" : "input" memref<128x4096xf32, #nc.space<"hbm">> index 0 at 0
  nc.variable "y" : "output" memref<128x1024xf32, #nc.space<"hbm">> index 0 at 2097152
  nc.func "main" {
    %x = nc.address_of @x : memref<128x4096xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x1024xf32, #nc.space<"hbm">>
    %a = nc.alloc at 0 : memref<128x1024xf32, #nc.space<"sbuf">>
    %b = nc.alloc at 4096 : memref<128x1024xf32, #nc.space<"sbuf">>
    %c = nc.alloc at 8192 : memref<128x1024xf32, #nc.space<"sbuf">>
    %d = nc.alloc at 12288 : memref<128x128xf32, #nc.space<"sbuf">>
    %e = nc.alloc at 12800 : memref<128x128xf32, #nc.space<"sbuf">>
    nc.dma (%a[0:128 | 1024:1 | 0]) = (%x[0:128 * 4096 | 1024:1 | 0]) on dma1 by act
    nc.dma (%b[0:128 | 1024:1 | 0]) = (%x[0:128 * 4096 | 1024:1 | 1024]) on dma2
    nc.dma (%c[0:128 | 1024:1 | 0]) = (%x[0:128 * 4096 | 1024:1 | 2048]) on dma3
    nc.dma (%d[0:128 | 128:1 | 0]) = (%x[0:128 * 4096 | 128:1 | 3072]) on dma3
    nc.dma (%e[0:128 | 128:1 | 0]) = (%x[0:128 * 4096 | 128:1 | 3200]) on dma2
    nc.dma (%y[0:128 * 1024 | 1024:1 | 0]) = (%b[0:128 | 1024:1 | 0]) on dma4
    nc.return
  } {nc.scheduled}
}
