// The scaling of the sum moves to the end of the previous iteration. The peeled last iteration does none for a next one.
// RUN: neuron-opt %s -p nc-rotate | filecheck %s
// RUN: neuron-opt %s -p 'nc-rotate{sbuf=256}' | filecheck %s --check-prefix=FULL
// RUN: neuron-opt %s -p 'nc-verify-order,nc-rotate,nc-verify-order,nc-prefetch,nc-verify-order,nc-schedule,nc-verify-order' | filecheck %s --check-prefix=AHEAD
// RUN: neuron-opt %s -p 'nc-verify-order,nc-rotate,nc-schedule,nc-verify-order' -o /dev/null
// RUN: neuron-opt %s -p nc-rotate,nc-prefetch,nc-schedule > %t.at-once
// RUN: neuron-opt %s -p nc-rotate | neuron-opt -p nc-prefetch | neuron-opt -p nc-schedule | diff - %t.at-once

// CHECK:      nc.tensor_scalar ([[H:%[a-z0-9_]+]][0:128 | 512:1 | 0]) = (%sum
// CHECK:      %c5 = arith.constant 5
// CHECK-NEXT: scf.for %i = %zero to %c5 step %one
// CHECK:        nc.matmul {{.*}}[[H]][0:128 | 512:1 | 0]
// CHECK:        nc.tensor_tensor (%sum[0:128 | 512:1 | 0])
// CHECK:        nc.tensor_scalar ([[H]][0:128 | 512:1 | 0]) = (%sum{{.*}} attributes {nc.ahead}
// CHECK:      } {nc.ordered}
// CHECK:      nc.dma {{.*}} | 81920]) on dma0 attributes {nc.tail}
// CHECK-NOT:  nc.tensor_scalar
// CHECK:      nc.return
// FULL:       scf.for
// FULL:         nc.tensor_scalar
// FULL:       }{{$}}
// AHEAD-NOT:  nc.tail
// AHEAD-NOT:  nc.ahead
// AHEAD:      } {nc.prefetched}
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<128x1024xf32, #nc.space<"hbm">> index 0
  nc.variable "w" : "input" memref<6x128x128xbf16, #nc.space<"hbm">> index 1
  nc.variable "y" : "output" memref<128x1024xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<128x1024xf32, #nc.space<"hbm">>
    %w = nc.address_of @w : memref<6x128x128xbf16, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x1024xf32, #nc.space<"hbm">>
    %sum = nc.alloc : memref<128x1024xf32, #nc.space<"sbuf">>
    nc.dma (%sum[0:128 | 1024:1 | 0]) = (%x[0:128 * 1024 | 1024:1 | 0]) on dma1
    %zero = arith.constant 0 : index
    %trips = arith.constant 6 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %trips step %one {
      %weights = nc.alloc "stream" : memref<128x128xbf16, #nc.space<"sbuf">>
      %half = nc.alloc : memref<128x1024xbf16, #nc.space<"sbuf">>
      %a = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
      %b = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
      nc.dma (%weights[0:128 | 128:1 | 0]) = (%w[0:128 * 128 | 128:1 | 0 + 16384 * %i]) on dma0
      nc.tensor_scalar (%half[0:128 | 512:1 | 0]) = (%sum[0:128 | 512:1 | 0], none, none) {op0 = "multiply", imm0 = 0.25} on dve
      nc.tensor_scalar (%half[0:128 | 512:1 | 512]) = (%sum[0:128 | 512:1 | 512], none, none) {op0 = "multiply", imm0 = 0.25} on dve
      nc.matmul (%a[0:128 | 512:1 | 0]) = (%weights[0:128 | 128:1 | 0], %half[0:128 | 512:1 | 0]) {accumulate = 0} on pe
      nc.matmul (%b[0:128 | 512:1 | 0]) = (%weights[0:128 | 128:1 | 0], %half[0:128 | 512:1 | 512]) {accumulate = 0} on pe
      nc.tensor_tensor (%sum[0:128 | 512:1 | 0]) = (%sum[0:128 | 512:1 | 0], %a[0:128 | 512:1 | 0]) {op = "add"} on dve
      nc.tensor_tensor (%sum[0:128 | 512:1 | 512]) = (%sum[0:128 | 512:1 | 512], %b[0:128 | 512:1 | 0]) {op = "add"} on dve
    }
    nc.dma (%y[0:128 * 1024 | 1024:1 | 0]) = (%sum[0:128 | 1024:1 | 0]) on dma4 by pool
    nc.return
  }
}
