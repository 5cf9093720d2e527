// RUN: neuron-opt %s -p nc-split-transfers | filecheck %s

// A hand-written order is not changed.

// CHECK: nc.dma (%hand[0:128 | 2:1024, 1024:1 | 0])

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "allocated"} {
  nc.variable "x" : "input" memref<128x2048xf32, #nc.space<"hbm">> index 0 at 0
  nc.func "main" {
    %x = nc.address_of @x : memref<128x2048xf32, #nc.space<"hbm">>
    %hand = nc.alloc at 0 : memref<128x2048xf32, #nc.space<"sbuf">>
    nc.dma (%hand[0:128 | 2:1024, 1024:1 | 0]) = (%x[0:128 * 2048 | 2:1024, 1024:1 | 0]) on dma1
    nc.return
  }
}
