// RUN: neuron-opt %s -p 'nc-verify-order,@nc-order,nc-verify-order,nc-spill,nc-assign-banks,nc-allocate,nc-split-transfers,nc-order-triggers,nc-synchronise,nc-verify-order,nc-verify-machine' | filecheck %s
// RUN: neuronx-cc compile %s --framework XLA --compile-from virtual --target trn1 --output %t.neff
// RUN: neuron-sim disasm %t.neff --engine pe,act | filecheck %s --check-prefix=BINARY
// RUN: neuron-sim run %t.neff --timing-only --loop-iterations 7 2>&1 | filecheck %s --check-prefix=ASSUMED
// RUN: python -c "import numpy as np; np.savez('%t.npz', arg0=np.full((128, 64), 1e4, 'f')); np.savez('%t.nan.npz', arg0=np.full((128, 64), np.inf, 'f'))"
// RUN: neuron-sim run %t.neff --inputs %t.npz --outputs %t.out.npz --check-races | filecheck %s --check-prefix=TIME
// RUN: python -c "import numpy as np; y = np.load('%t.out.npz')['out0']; print(y.min(), y.max())" | filecheck %s --check-prefix=VALUES
// RUN: status 1 neuron-sim run %t.neff --inputs %t.nan.npz --max-iterations 50 2>&1 | filecheck %s --check-prefix=ENDLESS
// RUN: status 2 neuron-sim run %t.neff --inputs %t.npz --max-iterations 0 2>&1 | filecheck %s --check-prefix=USAGE

// A loop that halves an array until its largest value is at most 1. All engines load the condition,
// between two barriers, before the loop and at the end of each iteration.
// CHECK: nc.barrier () = () on sp
// CHECK-NEXT: %first = nc.register_load
// CHECK-NEXT: nc.barrier () = () on sp{{$}}
// CHECK-NEXT: scf.while (%{{.*}} = %before, %{{.*}} = %first) : (index, index) -> (index, index) {
// CHECK: ^bb0(%i: index, %{{.*}}: index):
// CHECK-NEXT: nc.activation
// CHECK-SAME: update [<[[ACT:.*]], 1>]
// CHECK-NEXT: nc.tensor_reduce
// CHECK-SAME: wait [<[[ACT]], 1 + 1 * %i>]
// CHECK: nc.barrier () = () on sp
// CHECK-NEXT: %next = nc.register_load
// CHECK-NEXT: nc.barrier () = () on sp{{$}}
// CHECK-NEXT: scf.yield %i, %next : index, index
// CHECK-NEXT: } attributes {nc.rolled}

// PE has no work, but takes part.
// BINARY: engine pe
// BINARY-NEXT: barrier
// BINARY-NEXT: register_load {{.*}} register=0 low=0 high=1
// BINARY-NEXT: barrier
// BINARY-NEXT: loop i0 if r0, again if r1, counts n0 {
// BINARY-NEXT: barrier
// BINARY-NEXT: register_load {{.*}} register=1 low=0 high=1
// BINARY-NEXT: barrier
// BINARY-NEXT: }
// BINARY: engine act
// BINARY: loop i0 if r0, again if r1, counts n0 {
// BINARY-NEXT: activation

// ASSUMED: warning: the trip counts of 1 loops depend on data: 7 iterations are assumed (--loop-iterations)
// ASSUMED: trn1:

// TIME: trn1:
// 10000 / 2**14
// VALUES: 0.61035{{.*}} 0.61035
// ENDLESS: error: [NIR_SIM036] a loop has not ended after 50 iterations
// ENDLESS: help: its condition may never become false for these inputs; neuron-sim run has --max-iterations
// USAGE: --max-iterations: '0' is not a whole number from 1

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<128x64xf32, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<128x64xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<128x64xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x64xf32, #nc.space<"hbm">>
    %before = arith.constant -1 : index
    %one = arith.constant 1 : index
    %zero = arith.constant 0 : index
    %s = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    %m = nc.alloc : memref<128x1xf32, #nc.space<"sbuf">>
    %go = nc.alloc : memref<1x1xi32, #nc.space<"sbuf">>
    nc.dma (%s[0:128 | 64:1 | 0]) = (%x[0:128 * 64 | 64:1 | 0])
    nc.memset (%go[0:1 | 1:1 | 0]) = () {value = 1.0 : f32}
    %first = nc.register_load () = (%go[0:1 | 1:1 | 0]) {low = 0, high = 1} -> index
    %0:2 = scf.while (%last = %before, %r = %first) : (index, index) -> (index, index) {
      %number = arith.addi %last, %one : index
      %more = arith.cmpi ne, %r, %zero : index
      scf.condition(%more) %number, %r : index, index
    } do {
    ^bb0(%i: index, %q: index):
      nc.activation (%s[0:128 | 64:1 | 0], none) = (%s[0:128 | 64:1 | 0], none, none) {func = "copy", scale = 0.5 : f32}
      nc.tensor_reduce (%m[0:128 | 1:1 | 0]) = (%s[0:128 | 64:1 | 0]) {op = "max", axes = 1}
      nc.tensor_scalar (%go[0:1 | 1:1 | 0]) = (%m[0:1 | 1:1 | 0], none, none) {op0 = "is_gt", imm0 = 1.0 : f32}
      %next = nc.register_load () = (%go[0:1 | 1:1 | 0]) {low = 0, high = 1} -> index
      scf.yield %i, %next : index, index
    }
    nc.dma (%y[0:128 * 64 | 64:1 | 0]) = (%s[0:128 | 64:1 | 0])
    nc.return
  }
}
