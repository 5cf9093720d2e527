// Only the load of what the program wrote itself is split, into pieces of 256 KiB or more.
// RUN: neuron-opt %s -p nc-split-loads | filecheck %s
// RUN: neuron-opt %s -p 'nc-split-loads{piece=0}' | filecheck %s --check-prefix=WHOLE
// RUN: neuron-opt %s -p 'nc-verify-order,nc-split-loads,nc-verify-order,nc-assign-engines,nc-schedule,nc-verify-order' -o /dev/null
// RUN: neuron-opt %s -p 'nc-verify-order{piece=1},nc-split-loads{piece=1},nc-verify-order{piece=1}' -o /dev/null
// RUN: neuron-opt %s -p 'nc-verify-order,nc-assign-engines,nc-schedule,nc-verify-order' -o /dev/null

// CHECK:      nc.dma (%t[0:128 * 2048 | 2:1024, 1024:1 | 0])
// CHECK-NEXT: nc.dma (%a[0:128 | 1024:1 | 0]) = (%t[0:128 * 2048 | 1024:1 | 0])
// CHECK-NEXT: nc.dma (%a[0:128 | 1024:1 | 1024]) = (%t[0:128 * 2048 | 1024:1 | 1024])
// CHECK-NEXT: nc.dma (%y[0:128 * 2048 | 2:1024, 1024:1 | 0])
// WHOLE:      nc.dma (%a[0:128 | 2:1024, 1024:1 | 0]) = (%t
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "t" : "scratch" memref<128x2048xf32, #nc.space<"hbm">>
  nc.variable "y" : "output" memref<128x2048xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %t = nc.address_of @t : memref<128x2048xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x2048xf32, #nc.space<"hbm">>
    %z = nc.alloc : memref<128x2048xf32, #nc.space<"sbuf">>
    %a = nc.alloc : memref<128x2048xf32, #nc.space<"sbuf">>
    nc.memset (%z[0:128 | 2:1024, 1024:1 | 0]) = () {value = 0.0}
    nc.dma (%t[0:128 * 2048 | 2:1024, 1024:1 | 0]) = (%z[0:128 | 2:1024, 1024:1 | 0])
    nc.dma (%a[0:128 | 2:1024, 1024:1 | 0]) = (%t[0:128 * 2048 | 2:1024, 1024:1 | 0])
    nc.dma (%y[0:128 * 2048 | 2:1024, 1024:1 | 0]) = (%a[0:128 | 2:1024, 1024:1 | 0])
    nc.return
  }
}
