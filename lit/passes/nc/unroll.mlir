// Each iteration has its own buffer and its own offsets. A loop of `keep` or more iterations stays for nc-pipeline.
// RUN: neuron-opt %s -p nc-unroll | filecheck %s
// RUN: neuron-opt %s -p 'nc-unroll{limit=3}' | filecheck %s --check-prefix=LARGE
// RUN: neuron-opt %s -p 'nc-unroll{keep=2}' | filecheck %s --check-prefix=LARGE
// RUN: neuron-opt %s -p 'nc-verify-order,nc-unroll,nc-verify-order' -o /dev/null
// RUN: not neuron-opt %s -p '@nc-order,nc-unroll' 2>&1 | filecheck %s --check-prefix=PHASE

// CHECK-NOT:  scf.for
// CHECK:      nc.dma ([[A:%[a-z0-9_]+]][0:128 | 64:1 | 0]) = (%x[0:128 * 64 | 64:1 | 0])
// CHECK-NEXT: nc.dma (%y[0:128 * 64 | 64:1 | 0]) = ([[A]][0:128 | 64:1 | 0])
// CHECK-NEXT: nc.dma ([[B:%[a-z0-9_]+]][0:128 | 64:1 | 0]) = (%x[0:128 * 64 | 64:1 | 8192])
// CHECK-NEXT: nc.dma (%y[0:128 * 64 | 64:1 | 8192]) = ([[B]][0:128 | 64:1 | 0])
// LARGE:      scf.for
// LARGE-NEXT:   nc.alloc
// PHASE: [NIR_NC002] nc-unroll takes a module in phase virtual, this one is 'ordered'
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<2x128x64xf32, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<2x128x64xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<2x128x64xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<2x128x64xf32, #nc.space<"hbm">>
    %zero = arith.constant 0 : index
    %trips = arith.constant 2 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %trips step %one {
      %a = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
      nc.dma (%a[0:128 | 64:1 | 0]) = (%x[0:128 * 64 | 64:1 | 0 + 8192 * %i])
      nc.dma (%y[0:128 * 64 | 64:1 | 0 + 8192 * %i]) = (%a[0:128 | 64:1 | 0])
    }
    nc.return
  }
}
