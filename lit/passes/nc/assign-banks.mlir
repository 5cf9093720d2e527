// PSUM buffers take the eight banks in rotation, or each the first empty one; nc-allocate does the latter for buffers
// without a bank. Outer buffers that a loop uses keep their banks for the whole loop. Buffers with an address keep it.
// RUN: neuron-opt %s -p 'nc-assign-banks' | filecheck %s --check-prefixes=CHECK,TURN
// RUN: neuron-opt %s -p 'nc-assign-banks,nc-allocate' | filecheck %s --check-prefix=TURN
// RUN: neuron-opt %s -p 'nc-assign-banks{rotate=false}' | filecheck %s --check-prefixes=CHECK,FIRST
// RUN: neuron-opt %s -p 'nc-allocate' | filecheck %s --check-prefix=FIRST
// RUN: neuron-opt %s -p 'nc-assign-banks' --pass-statistics 2>&1 >%t | filecheck %s --check-prefix=STATISTICS

// SBUF and variables have no place yet.
// CHECK: neuronir.phase = "ordered"
// CHECK: nc.variable "x"
// CHECK-NOT: at {{[0-9]}}
// CHECK: %in = nc.alloc : memref

// TURN: %sum = nc.alloc at 0
// TURN: %p = nc.alloc at 2048
// TURN: %q = nc.alloc at 4096
// TURN: %wide = nc.alloc at 6144
// TURN: %last = nc.alloc at 10240
// TURN: %unused = nc.alloc at 0

// FIRST: %sum = nc.alloc at 0
// FIRST: %p = nc.alloc at 2048
// FIRST: %q = nc.alloc at 4096
// FIRST: %wide = nc.alloc at 0
// FIRST: %last = nc.alloc at 0
// FIRST: %unused = nc.alloc at 0

// STATISTICS: nc-assign-banks
// STATISTICS: {{ }}6 banks
// STATISTICS: estimated ns with bank rotation
// STATISTICS: estimated ns with the first empty bank

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "ordered"} {
  nc.variable "x" : "input" memref<128x512xbf16, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<128x512xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<128x512xbf16, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x512xf32, #nc.space<"hbm">>
    %in = nc.alloc : memref<128x512xbf16, #nc.space<"sbuf">>
    %out = nc.alloc : memref<128x512xf32, #nc.space<"sbuf">>
    %sum = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    %p = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    %q = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    %wide = nc.alloc : memref<128x1024xf32, #nc.space<"psum">>
    %last = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    %unused = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    nc.dma (%in[0:128 | 512:1 | 0]) = (%x[0:128 * 512 | 512:1 | 0]) on dma1
    nc.matmul (%sum[0:128 | 512:1 | 0]) = (%in[0:128 | 128:1 | 0], %in[0:128 | 512:1 | 0]) {accumulate = 0} on pe
    %zero = arith.constant 0 : index
    %trips = arith.constant 16 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %trips step %one {
      nc.matmul (%p[0:128 | 512:1 | 0]) = (%in[0:128 | 128:1 | 0], %in[0:128 | 512:1 | 0]) {accumulate = 0} on pe
      nc.activation (%out[0:128 | 512:1 | 0], none) = (%p[0:128 | 512:1 | 0], none, none) {func = "gelu"} on act
      nc.matmul (%sum[0:128 | 512:1 | 0]) = (%in[0:128 | 128:1 | 0], %in[0:128 | 512:1 | 0]) {accumulate = 1} on pe
      nc.matmul (%q[0:128 | 512:1 | 0]) = (%in[0:128 | 128:1 | 0], %in[0:128 | 512:1 | 0]) {accumulate = 0} on pe
      nc.activation (%out[0:128 | 512:1 | 0], none) = (%q[0:128 | 512:1 | 0], none, none) {func = "gelu"} on act
    }
    nc.activation (%out[0:128 | 512:1 | 0], none) = (%sum[0:128 | 512:1 | 0], none, none) {func = "gelu"} on act
    nc.matmul (%wide[0:128 | 512:1 | 0]) = (%in[0:128 | 128:1 | 0], %in[0:128 | 512:1 | 0]) {accumulate = 0} on pe
    nc.activation (%out[0:128 | 512:1 | 0], none) = (%wide[0:128 | 512:1 | 0], none, none) {func = "gelu"} on act
    nc.matmul (%last[0:128 | 512:1 | 0]) = (%in[0:128 | 128:1 | 0], %in[0:128 | 512:1 | 0]) {accumulate = 0} on pe
    nc.activation (%out[0:128 | 512:1 | 0], none) = (%last[0:128 | 512:1 | 0], none, none) {func = "gelu"} on act
    nc.dma (%y[0:128 * 512 | 512:1 | 0]) = (%out[0:128 | 512:1 | 0]) on dma4
    nc.return
  }
}
