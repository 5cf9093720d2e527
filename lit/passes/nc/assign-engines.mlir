// RUN: neuron-opt %s -p nc-assign-engines | filecheck %s
// RUN: sed 's/nc.dma (%a.*$/& on dma3/' %s | neuron-opt -p nc-assign-engines | filecheck %s --check-prefix=KEPT
// RUN: sed 's/nc.dma (%a.*$/& on dma3/' %s | neuron-opt -p '@nc-order,@trn1:allocated' | filecheck %s --check-prefix=KEPT
// RUN: neuron-opt %s -p 'nc-verify-order,nc-assign-engines,nc-verify-order' -o /dev/null
// RUN: status 1 neuron-opt %s -p nc-schedule 2>&1 | filecheck %s --check-prefix=NONE

// CHECK:      nc.dma {{.*}} = (%x{{.*}} on dma1{{$}}
// CHECK-NEXT: nc.matmul {{.*}} on pe
// CHECK-NEXT: nc.tensor_copy {{.*}} on dve
// CHECK-NEXT: nc.dma (%y{{.*}} on dma4 by pool
// KEPT:       nc.dma (%a{{.*}} on dma3 attributes {nc.own_queue}
// NONE: [NIR_NC002] nc-schedule takes instructions with engines, this nc.dma has none
// NONE: help: run nc-assign-engines first
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<128x64xbf16, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<64x64xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<128x64xbf16, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<64x64xf32, #nc.space<"hbm">>
    %a = nc.alloc : memref<128x64xbf16, #nc.space<"sbuf">>
    %p = nc.alloc : memref<64x512xf32, #nc.space<"psum">>
    %s = nc.alloc : memref<64x64xf32, #nc.space<"sbuf">>
    nc.dma (%a[0:128 | 64:1 | 0]) = (%x[0:128 * 64 | 64:1 | 0])
    nc.matmul (%p[0:64 | 64:1 | 0]) = (%a[0:128 | 64:1 | 0], %a[0:128 | 64:1 | 0]) {accumulate = 0}
    nc.tensor_copy (%s[0:64 | 64:1 | 0]) = (%p[0:64 | 64:1 | 0])
    nc.dma (%y[0:64 * 64 | 64:1 | 0]) = (%s[0:64 | 64:1 | 0])
    nc.return
  }
}
