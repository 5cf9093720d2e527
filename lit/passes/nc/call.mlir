// A call is inlined, in a loop too; functions without callers are erased.
// RUN: neuron-opt %s -p 'nc-unroll{limit=0 keep=0},nc-split-loads,nc-assign-engines,nc-rotate,nc-prefetch,nc-reload-weights,nc-schedule' | filecheck %s

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<4x32x64xf32, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<4x32x64xf32, #nc.space<"hbm">> index 0
  nc.func "double" {
  ^entry(%base : index):
    %x = nc.address_of @x : memref<4x32x64xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<4x32x64xf32, #nc.space<"hbm">>
    %a = nc.alloc : memref<32x64xf32, #nc.space<"sbuf">>
    nc.dma (%a[0:32 | 64:1 | 0]) = (%x[0:32 * 64 | 64:1 | 0 + 2048 * %base])
    nc.tensor_tensor (%a[0:32 | 64:1 | 0]) = (%a[0:32 | 64:1 | 0], %a[0:32 | 64:1 | 0]) {op = "add"}
    nc.dma (%y[0:32 * 64 | 64:1 | 0 + 2048 * %base]) = (%a[0:32 | 64:1 | 0])
    nc.return
  }
  nc.func "main" {
    %zero = arith.constant 0 : index
    %three = arith.constant 3 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %three step %one {
      nc.call @double(%i)
    }
    nc.call @double(%three)
    nc.return
  }
}

// CHECK-NOT: nc.func "double"
// CHECK: nc.func "main"
// CHECK: scf.for %[[I:[a-z0-9]+]]
// CHECK: nc.dma {{.*}}64:1 | 0 + 2048 * %[[I]]
// CHECK: }
// CHECK: nc.dma {{.*}}64:1 | 6144]
// CHECK-NOT: nc.call
