// RUN: neuron-opt %s -p 'nc-verify-order,@nc-order,nc-verify-order,nc-assign-banks,nc-allocate,nc-synchronise,nc-verify-order,nc-verify-machine' | filecheck %s
// RUN: neuronx-cc compile %s --framework XLA --compile-from virtual --target trn1 --output %t.neff
// RUN: neuron-sim disasm %t.neff --engine pe,act | filecheck %s --check-prefix=BINARY
// RUN: neuron-sim run %t.neff --timing-only --loop-iterations 7 2>&1 | filecheck %s --check-prefix=ASSUMED

// A loop with a runtime count in another loop. Barriers surround the load of the count, precede the
// loop and end each iteration; the semaphores of the loop (1 and 3) are not used outside it.
// CHECK: nc.dma (%s
// CHECK-SAME: update [<2, 16>]
// CHECK-NEXT: nc.barrier () = () on sp wait [<2, 16>]
// CHECK-NEXT: %count = nc.register_load
// CHECK-NEXT: nc.barrier () = () on sp{{$}}
// CHECK-NEXT: scf.for %j
// CHECK-NEXT: nc.barrier () = () on sp{{$}}
// CHECK-NEXT: scf.for %i = %zero to %count
// CHECK: nc.dma (%w
// CHECK-SAME: update [<3, 16>]
// CHECK-NEXT: nc.tensor_tensor
// CHECK-SAME: wait [<3, 16 + 16 * %i>] update [<1, 1>]
// CHECK-NEXT: nc.activation
// CHECK-SAME: wait [<1, 1 + 1 * %i>]
// CHECK-NEXT: nc.barrier () = () on sp wait [<3, 16 + 16 * %i>]
// CHECK-NEXT: } {nc.rolled}
// CHECK: nc.dma (%y
// CHECK-SAME: wait [<0, 3>]

// PE has no work, but takes part.
// BINARY: engine pe
// BINARY-NEXT: barrier
// BINARY-NEXT: register_load {{.*}} register=0 low=0 high=1000
// BINARY-NEXT: barrier
// BINARY-NEXT: loop i0 in 0..3 {
// BINARY-NEXT: barrier
// BINARY-NEXT: loop i1 in 0..r0 counts n0 {
// BINARY-NEXT: barrier
// BINARY-NEXT: }
// BINARY-NEXT: }
// BINARY: engine act
// BINARY: loop i1 in 0..r0 counts n0 {
// BINARY-NEXT: activation {{.*}}wait(s1 >= 1 + 1*n0)

// ASSUMED: warning: the trip counts of 1 loops depend on data: 7 iterations are assumed (--loop-iterations)
// ASSUMED: trn1:

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "n" : "input" memref<1xi32, #nc.space<"hbm">> index 0
  nc.variable "x" : "input" memref<128x64xf32, #nc.space<"hbm">> index 1
  nc.variable "y" : "output" memref<128x64xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %n = nc.address_of @n : memref<1xi32, #nc.space<"hbm">>
    %x = nc.address_of @x : memref<128x64xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x64xf32, #nc.space<"hbm">>
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %two = arith.constant 3 : index
    %s = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    nc.dma (%s[0:128 | 64:1 | 0]) = (%x[0:128 * 64 | 64:1 | 0])
    %count = nc.register_load () = (%n[0:1 | 1:1 | 0]) {low = 0, high = 1000} -> index
    scf.for %j = %zero to %two step %one {
    scf.for %i = %zero to %count step %one {
      %w = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
      %t = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
      nc.dma (%w[0:128 | 64:1 | 0]) = (%x[0:128 * 64 | 64:1 | 0])
      nc.tensor_tensor (%t[0:128 | 64:1 | 0]) = (%s[0:128 | 64:1 | 0], %w[0:128 | 64:1 | 0]) {op = "add"}
      nc.activation (%s[0:128 | 64:1 | 0], none) = (%t[0:128 | 64:1 | 0], none, none) {func = "tanh", scale = 0.5 : f32}
    }
    nc.activation (%s[0:128 | 64:1 | 0], none) = (%s[0:128 | 64:1 | 0], none, none) {func = "tanh", scale = 0.5 : f32}
    }
    nc.dma (%y[0:128 * 64 | 64:1 | 0]) = (%s[0:128 | 64:1 | 0])
    nc.return
  }
}
