// Maxima and exponentials read the scores where the tensor engine left them; the copy that GpSimd reads stays.
// RUN: neuron-opt %s -p 'nc-forward-psum' | filecheck %s
// RUN: neuron-opt %s -p 'nc-forward-psum' --pass-statistics 2>&1 >%t | filecheck %s --check-prefix=STATISTICS
// RUN: neuron-opt %s -p 'nc-forward-psum{banks=1}' | filecheck %s --check-prefix=FEW
// RUN: neuron-opt %s -p 'nc-forward-psum,@nc-order,nc-assign-banks,nc-allocate,nc-synchronise,nc-verify-machine' >%t

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "q" : "input" memref<64x128xbf16, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<128x256xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %q = nc.address_of @q : memref<64x128xbf16, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x256xf32, #nc.space<"hbm">>
    %x = nc.alloc : memref<64x128xbf16, #nc.space<"sbuf">>
    nc.dma (%x[0:64 | 128:1 | 0]) = (%q[0:64 * 128 | 128:1 | 0])
    %s = nc.alloc : memref<128x256xf32, #nc.space<"sbuf">>
    %p = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    nc.matmul (%p[0:128 | 128:1 | 0]) = (%x[0:64 | 128:1 | 0], %x[0:64 | 128:1 | 0]) {accumulate = 0}
    nc.tensor_copy (%s[0:128 | 128:1 | 0]) = (%p[0:128 | 128:1 | 0]) on dve
    %r = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    nc.matmul (%r[0:128 | 128:1 | 0]) = (%x[0:64 | 128:1 | 0], %x[0:64 | 128:1 | 0]) {accumulate = 0}
    nc.activation (%s[0:128 | 128:1 | 128], none) = (%r[0:128 | 128:1 | 0], none, none) {func = "copy"} on act
    %m = nc.alloc : memref<128x1xf32, #nc.space<"sbuf">>
    %e = nc.alloc : memref<128x256xf32, #nc.space<"sbuf">>
    nc.tensor_reduce (%m[0:128 | 1:1 | 0]) = (%s[0:128 | 128:1 | 0]) {op = "max", axes = 1, negate = 1} on dve
    nc.activation (%e[0:128 | 128:1 | 0], none) = (%s[0:128 | 128:1 | 0], none, %m[0:128 | 1:1 | 0]) {func = "exp"} on act
    nc.tensor_scalar (%e[0:128 | 128:1 | 128]) = (%s[0:128 | 128:1 | 128], none, none) {op0 = "multiply", imm0 = 2.0} on pool
    nc.dma (%y[0:128 * 256 | 256:1 | 0]) = (%e[0:128 | 256:1 | 0])
    nc.return
  }
}

// CHECK:      nc.matmul ([[P:%[a-z0-9_]+]][
// CHECK-NOT:  nc.tensor_copy
// CHECK:      nc.matmul ([[R:%[a-z0-9_]+]][
// CHECK-NEXT: nc.activation ([[S:%[a-z0-9_]+]][0:128 | 128:1 | 128], none) = ([[R]][0:128 | 128:1 | 0], none, none) {func = "copy"} on act
// CHECK:      nc.tensor_reduce ({{.*}}) = ([[P]][0:128 | 128:1 | 0]) {op = "max", axes = 1, negate = 1} on dve
// CHECK-NEXT: nc.activation ({{.*}}) = ([[P]][0:128 | 128:1 | 0], none, %m[0:128 | 1:1 | 0]) {func = "exp"} on act
// CHECK-NEXT: nc.tensor_scalar ({{.*}}) = ([[S]][0:128 | 128:1 | 128]

// STATISTICS: 1 evictions removed
// STATISTICS: {{[1-9][0-9]+}} ns of their engines, one iteration of each loop

// FEW:        nc.tensor_copy
