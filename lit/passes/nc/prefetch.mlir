// RUN: neuron-opt %s -p nc-prefetch | filecheck %s
// RUN: neuron-opt %s -p 'nc-prefetch{sbuf=256}' | filecheck %s --check-prefix=FULL
// RUN: neuron-opt %s -p 'nc-verify-order,nc-prefetch,nc-verify-order' -o /dev/null
// RUN: neuron-opt %s -p 'nc-prefetch{sbuf=256}' --pass-statistics -o /dev/null 2>&1 | filecheck %s --check-prefix=STATISTICS

// CHECK:      [[W:%[a-z0-9_]+]] = nc.alloc "stream" {{.*}} {nc.ring = 0 : i64}
// CHECK:      nc.dma ([[W]]{{.*}} = (%w[0:128 * 64 | 64:1 | 0])
// CHECK-NEXT: scf.for %i = %zero to %c5
// CHECK:        nc.matmul
// CHECK-NEXT:   nc.dma ([[W]]{{.*}} = (%w[0:128 * 64 | 64:1 | 8192 + 8192 * %i])
// CHECK:      } {nc.prefetched}
// CHECK-NEXT: nc.matmul
// CHECK-NOT:  (%w[
// FULL:       scf.for %i = %zero to %trips
// FULL-NOT:   nc.prefetched
// STATISTICS: nc-prefetch
// STATISTICS: 1 loops that do not load ahead
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "w" : "input" memref<6x128x64xbf16, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<6x64x64xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %w = nc.address_of @w : memref<6x128x64xbf16, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<6x64x64xf32, #nc.space<"hbm">>
    %zero = arith.constant 0 : index
    %trips = arith.constant 6 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %trips step %one {
      %weights = nc.alloc "stream" : memref<128x64xbf16, #nc.space<"sbuf">>
      %p = nc.alloc : memref<64x64xf32, #nc.space<"psum">>
      %s = nc.alloc : memref<64x64xf32, #nc.space<"sbuf">>
      nc.dma (%weights[0:128 | 64:1 | 0]) = (%w[0:128 * 64 | 64:1 | 0 + 8192 * %i]) on dma0
      nc.matmul (%p[0:64 | 64:1 | 0]) = (%weights[0:128 | 64:1 | 0], %weights[0:128 | 64:1 | 0]) {accumulate = 0} on pe
      nc.tensor_copy (%s[0:64 | 64:1 | 0]) = (%p[0:64 | 64:1 | 0]) on dve
      nc.dma (%y[0:64 * 64 | 64:1 | 0 + 4096 * %i]) = (%s[0:64 | 64:1 | 0]) on dma4 by pool
    }
    nc.return
  }
}
