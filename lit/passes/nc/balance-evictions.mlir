// Work that both ACT and DVE can do goes to the engine that completes it first; other work is not moved.
// RUN: neuron-opt %s -p 'nc-balance-evictions' | filecheck %s
// RUN: neuron-opt %s -p 'nc-balance-evictions{window=0}' | filecheck %s --check-prefix=FAR
// RUN: neuron-opt %s -p 'nc-balance-evictions' --pass-statistics 2>&1 >%t | filecheck %s --check-prefix=STATISTICS
// RUN: neuron-opt %s -p 'nc-balance-evictions,nc-balance-evictions' | filecheck %s
// RUN: neuron-opt %s -p 'nc-balance-evictions,@nc-order,nc-assign-banks,nc-allocate,nc-synchronise,nc-verify-machine' >%t
// RUN: not neuron-opt %s -p '@nc-order,nc-balance-evictions' 2>&1 | filecheck %s --check-prefix=PHASE

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "q" : "input" memref<64x128xbf16, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<128x1024xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %four = arith.constant 4 : index
    %q = nc.address_of @q : memref<64x128xbf16, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x1024xf32, #nc.space<"hbm">>
    %x = nc.alloc : memref<64x128xbf16, #nc.space<"sbuf">>
    nc.dma (%x[0:64 | 128:1 | 0]) = (%q[0:64 * 128 | 128:1 | 0])
    %p = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    %s = nc.alloc : memref<128x1024xf32, #nc.space<"sbuf">>
    %w = nc.alloc : memref<128x4096xf32, #nc.space<"sbuf">>
    %i = nc.alloc : memref<128x128xi32, #nc.space<"sbuf">>
    nc.memset (%s[0:128 | 1024:1 | 0]) = () {value = 0.0} on pool
    nc.memset (%w[0:128 | 4096:1 | 0]) = () {value = 0.5} on pool
    nc.matmul (%p[0:128 | 128:1 | 0]) = (%x[0:64 | 128:1 | 0], %x[0:64 | 128:1 | 0]) {accumulate = 0}
    nc.tensor_reduce (%s[0:128 | 1:1 | 1023]) = (%p[0:128 | 128:1 | 0]) {op = "add", axes = 1} on dve
    nc.tensor_scalar (%s[0:128 | 128:1 | 0]) = (%p[0:128 | 128:1 | 0], none, %s[0:128 | 1:1 | 1023]) {op0 = "multiply", imm0 = 2.0, op1 = "add"} on dve
    nc.activation (%s[0:128 | 128:1 | 128], none) = (%p[0:128 | 128:1 | 0], none, none) {func = "relu", bias = 1.0} on act
    nc.activation (%s[0:128 | 128:1 | 256], %s[0:128 | 1:1 | 1022]) = (%p[0:128 | 128:1 | 0], none, none) {func = "copy"} on act
    nc.tensor_copy (%i[0:128 | 128:1 | 0]) = (%p[0:128 | 128:1 | 0]) on dve
    nc.activation (%w[0:128 | 4096:1 | 0], none) = (%w[0:128 | 4096:1 | 0], none, none) {func = "exp"} on act
    nc.activation (%s[0:128 | 512:1 | 384], none) = (%w[0:128 | 512:1 | 0], none, none) {func = "copy"} on act
    nc.activation (%s[0:128 | 512:1 | 384], none) = (%w[0:128 | 512:1 | 0], none, none) {func = "copy"} on act
    nc.activation (%s[0:128 | 512:1 | 384], none) = (%w[0:128 | 512:1 | 0], none, none) {func = "copy"} on act
    nc.activation (%s[0:128 | 512:1 | 384], none) = (%w[0:128 | 512:1 | 0], none, none) {func = "copy"} on act
    nc.activation (%s[0:128 | 512:1 | 384], none) = (%w[0:128 | 512:1 | 0], none, none) {func = "copy"} on act
    scf.for %r = %zero to %four step %one {
      nc.tensor_copy (%w[0:128 | 512:1 | 0]) = (%w[0:128 | 512:1 | 512]) on dve
      nc.tensor_copy (%w[0:128 | 512:1 | 1024]) = (%w[0:128 | 512:1 | 1536]) on dve
    }
    nc.dma (%y[0:128 * 1024 | 1024:1 | 0]) = (%s[0:128 | 1024:1 | 0])
    nc.return
  }
}

// DVE scales, because it has the factor already. Only ACT adds up the copied values, and only DVE
// writes integers. While ACT computes 4096 exponentials, DVE copies, but for at most 2 us. Each
// engine gets half of each iteration of the loop.

// CHECK:      nc.tensor_reduce
// CHECK-NEXT: nc.tensor_scalar (%s[0:128 | 128:1 | 0]) {{.*}} on dve
// CHECK-NEXT: nc.activation (%s[0:128 | 128:1 | 128], none) {{.*}} {func = "relu"
// CHECK-NEXT: nc.activation (%s[0:128 | 128:1 | 256], %s[0:128 | 1:1 | 1022])
// CHECK-NEXT: nc.tensor_copy (%i
// CHECK-NEXT: nc.activation {{.*}} {func = "exp"}
// CHECK-NEXT: nc.tensor_copy (%s
// CHECK-NEXT: nc.tensor_copy (%s
// CHECK-NEXT: nc.tensor_copy (%s
// CHECK-NEXT: nc.tensor_copy (%s
// CHECK-NEXT: nc.activation (%s
// CHECK-NEXT: scf.for
// CHECK-NEXT: nc.activation (%w[0:128 | 512:1 | 0], none) {{.*}} {func = "copy"} on act
// CHECK-NEXT: nc.tensor_copy (%w

// FAR:         {func = "exp"}
// FAR-COUNT-5: nc.tensor_copy (%s
// FAR-NEXT:    scf.for

// STATISTICS: 5 instructions moved
// STATISTICS: 6 instructions that both can do, on ACT
// STATISTICS: 9 instructions that both can do, on DVE
// STATISTICS: 5326 ns of the busier of ACT and DVE
// STATISTICS: 8729 ns of the busier with all of them on ACT
// STATISTICS: 7311 ns of the busier with all of them on DVE

// PHASE: [NIR_NC002] nc-balance-evictions takes a module in phase virtual, this one is 'ordered'
