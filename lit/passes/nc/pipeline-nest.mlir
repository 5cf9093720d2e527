// RUN: neuron-opt %s -p 'nc-verify-order,nc-unroll{limit=0},nc-split-loads,nc-assign-engines,nc-rotate,nc-prefetch,nc-pipeline,nc-reload-weights,nc-schedule,nc-verify-order' --split-input-file | filecheck %s
// RUN: neuron-opt %s -p 'nc-verify-order,nc-unroll{limit=0},nc-split-loads,nc-assign-engines,nc-rotate,nc-prefetch,nc-pipeline,nc-reload-weights,nc-schedule,nc-verify-order,nc-assign-banks,nc-allocate,nc-synchronise,nc-verify-machine' --split-input-file | filecheck %s --check-prefix=WHOLE

// The pipeline of the inner loop stays filled across four iterations of the outer loop: the output
// of the last tile of an iteration is stored when tiles of the next one have been started. The
// weights of an iteration are loaded before the kernel of the previous one.
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<81920x64xbf16, #nc.space<"hbm">> index 0
  nc.variable "w" : "input" memref<1280x32xbf16, #nc.space<"hbm">> index 1
  nc.variable "y" : "output" memref<81920x64xbf16, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<81920x64xbf16, #nc.space<"hbm">>
    %w = nc.address_of @w : memref<1280x32xbf16, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<81920x64xbf16, #nc.space<"hbm">>
    %zero = arith.constant 0 : index
    %heads = arith.constant 40 : index
    %trips = arith.constant 64 : index
    %one = arith.constant 1 : index
    scf.for %h = %zero to %heads step %one {
      %c = nc.alloc : memref<32x32xbf16, #nc.space<"sbuf">>
      nc.dma (%c[0:32 | 32:1 | 0]) = (%w[0:32 * 32 | 32:1 | 0 + 1024 * %h])
      scf.for %i = %zero to %trips step %one {
        %a = nc.alloc : memref<32x64xbf16, #nc.space<"sbuf">>
        %p = nc.alloc : memref<32x64xf32, #nc.space<"psum">>
        %r = nc.alloc : memref<32x64xbf16, #nc.space<"sbuf">>
        nc.dma (%a[0:32 | 64:1 | 0]) = (%x[0:32 * 64 | 64:1 | 0 + 131072 * %h + 2048 * %i])
        nc.matmul (%p[0:32 | 64:1 | 0]) = (%c[0:32 | 32:1 | 0], %a[0:32 | 64:1 | 0]) {accumulate = 0}
        nc.activation (%r[0:32 | 64:1 | 0], none) = (%p[0:32 | 64:1 | 0], none, none) {func = "relu"}
        nc.dma (%y[0:32 * 64 | 64:1 | 0 + 131072 * %h + 2048 * %i]) = (%r[0:32 | 64:1 | 0])
      }
    }
    nc.return
  }
}
// CHECK-LABEL: nc.func "main"
// CHECK: scf.for %[[H:[a-z0-9_]+]]
// CHECK: nc.dma (%[[C0:c_?[0-9]*]][{{.*}}) = (%w[{{.*}} 0 + 4096 * %[[H]]])
// CHECK: nc.dma (%[[C1:c_?[0-9]*]][{{.*}}) = (%w[{{.*}} 1024 + 4096 * %[[H]]])
// CHECK: scf.for
// CHECK: (%[[C0]][
// CHECK: } {nc.pipelined}
// CHECK: nc.dma {{.*}} (%x[{{.*}} | 131072 + 524288 * %[[H]]])
// CHECK: nc.dma (%[[C0]][{{.*}}) = (%w[{{.*}} 2048 + 4096 * %[[H]]])
// CHECK: nc.dma (%y[{{.*}} | 129024 + 524288 * %[[H]]])
// CHECK: scf.for
// CHECK: (%[[C1]][
// CHECK: } {nc.pipelined}
// CHECK-COUNT-2: } {nc.pipelined}
// CHECK: nc.return

// WHOLE: neuronir.phase = "synchronised"

// -----

// Each iteration of the outer loop reads a value that the previous one wrote at the end of its
// inner loop, so the next one cannot start earlier: the pipeline drains.
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<2048x64xbf16, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<2048x64xbf16, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<2048x64xbf16, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<2048x64xbf16, #nc.space<"hbm">>
    %c = nc.alloc : memref<32x32xbf16, #nc.space<"sbuf">>
    nc.dma (%c[0:32 | 32:1 | 0]) = (%x[0:32 * 64 | 32:1 | 0])
    %zero = arith.constant 0 : index
    %heads = arith.constant 40 : index
    %trips = arith.constant 64 : index
    %one = arith.constant 1 : index
    scf.for %h = %zero to %heads step %one {
      scf.for %i = %zero to %trips step %one {
        %a = nc.alloc : memref<32x64xbf16, #nc.space<"sbuf">>
        %p = nc.alloc : memref<32x64xf32, #nc.space<"psum">>
        nc.dma (%a[0:32 | 64:1 | 0]) = (%x[0:32 * 64 | 64:1 | 0 + 2048 * %i])
        nc.matmul (%p[0:32 | 64:1 | 0]) = (%c[0:32 | 32:1 | 0], %a[0:32 | 64:1 | 0]) {accumulate = 0}
        nc.activation (%a[0:32 | 64:1 | 0], none) = (%p[0:32 | 64:1 | 0], none, none) {func = "relu"}
        nc.dma (%y[0:32 * 64 | 64:1 | 0 + 2048 * %i]) = (%a[0:32 | 64:1 | 0])
      }
      nc.dma (%c[0:32 | 32:1 | 0]) = (%y[0:32 * 64 | 32:1 | 129024])
    }
    nc.return
  }
}
// CHECK-LABEL: nc.func "main"
// CHECK: scf.for
// CHECK: scf.for
// CHECK: } {nc.pipelined}
// CHECK: nc.dma {{.*}} (%y[{{.*}} | 129024])
// CHECK-NOT: } {nc.pipelined}
