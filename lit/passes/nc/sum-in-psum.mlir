// PE puts the input's part of the gates into PSUM before the state's part; two gates are one matmul.
// RUN: neuron-opt %s -p 'nc-sum-in-psum' | filecheck %s
// RUN: neuron-opt %s -p 'nc-sum-in-psum' --pass-statistics 2>&1 >%t | filecheck %s --check-prefix=STATISTICS
// RUN: neuron-opt %s -p 'nc-sum-in-psum,@nc-order,nc-assign-banks,nc-allocate,nc-synchronise,nc-verify-machine' >%t

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<64x640xf32, #nc.space<"hbm">> index 0
  nc.variable "w" : "input" memref<64x128xbf16, #nc.space<"hbm">> index 1
  nc.variable "y" : "output" memref<64x16xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<64x640xf32, #nc.space<"hbm">>
    %w = nc.address_of @w : memref<64x128xbf16, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<64x16xf32, #nc.space<"hbm">>
    %a = nc.alloc : memref<64x640xf32, #nc.space<"sbuf">>
    nc.dma (%a[0:64 | 640:1 | 0]) = (%x[0:64 * 640 | 640:1 | 0])
    %u = nc.alloc : memref<64x128xbf16, #nc.space<"sbuf">>
    nc.dma (%u[0:64 | 128:1 | 0]) = (%w[0:64 * 128 | 128:1 | 0])
    %h = nc.alloc : memref<64x16xbf16, #nc.space<"sbuf">>
    nc.memset (%h[0:64 | 16:1 | 0]) = () {value = 0.0} on pool
    %p = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    %q = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %many = arith.constant 20 : index
    scf.for %i = %zero to %many step %one {
      %s = nc.alloc : memref<64x16xf32, #nc.space<"sbuf">>
      nc.matmul (%p[0:64 | 16:1 | 0]) = (%u[0:64 | 64:1 | 0], %h[0:64 | 16:1 | 0]) {accumulate = 0} on pe
      nc.tensor_tensor (%s[0:64 | 16:1 | 0]) = (%a[0:64 | 16:1 | 0 + 16 * %i], %p[0:64 | 16:1 | 0]) {op = "add"} on dve attributes {nc.finite}
      %t = nc.alloc : memref<64x16xf32, #nc.space<"sbuf">>
      nc.matmul (%q[0:64 | 16:1 | 0]) = (%u[0:64 | 64:1 | 64], %h[0:64 | 16:1 | 0]) {accumulate = 0} on pe
      nc.tensor_tensor (%t[0:64 | 16:1 | 0]) = (%q[0:64 | 16:1 | 0], %a[0:64 | 16:1 | 320 + 16 * %i]) {op = "add"} on dve attributes {nc.finite}
      %g = nc.alloc : memref<64x16xf32, #nc.space<"sbuf">>
      %c = nc.alloc : memref<64x16xf32, #nc.space<"sbuf">>
      nc.activation (%g[0:64 | 16:1 | 0], none) = (%s[0:64 | 16:1 | 0], none, none) {func = "sigmoid"} on act
      nc.activation (%c[0:64 | 16:1 | 0], none) = (%t[0:64 | 16:1 | 0], none, none) {func = "tanh"} on act
      nc.tensor_tensor (%h[0:64 | 16:1 | 0]) = (%g[0:64 | 16:1 | 0], %c[0:64 | 16:1 | 0]) {op = "multiply"} on dve
    }
    %o = nc.alloc : memref<64x16xf32, #nc.space<"sbuf">>
    nc.tensor_copy (%o[0:64 | 16:1 | 0]) = (%h[0:64 | 16:1 | 0]) on dve
    nc.dma (%y[0:64 * 16 | 16:1 | 0]) = (%o[0:64 | 16:1 | 0])
    nc.return
  }
}

// CHECK:      nc.variable "identity.sums.0" : "constant" memref<128x128xf32
// CHECK:      [[EYE:%[a-z0-9_]+]] = nc.alloc "constant"
// CHECK:      scf.for %i =
// CHECK:      [[BANK:%[a-z0-9_]+]] = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
// CHECK-NEXT: nc.matmul ([[BANK]][0:64 | 32:1 | 0]) = ([[EYE]][0:64 | 64:1 | 0], %a[0:64 | 2:320, 16:1 | 0 + 16 * %i]) {accumulate = 0} on pe attributes {nc.early}
// CHECK-NOT:  nc.tensor_tensor {{.*}}"add"
// CHECK:      nc.matmul ([[BANK]][0:64 | 16:1 | 0]) = (%u[0:64 | 64:1 | 0], {{.*}}) {accumulate = 1} on pe
// CHECK-NOT:  nc.tensor_tensor {{.*}}"add"
// CHECK:      nc.matmul ([[BANK]][0:64 | 16:1 | 16]) = (%u[0:64 | 64:1 | 64], {{.*}}) {accumulate = 1} on pe
// CHECK:      nc.activation ({{.*}}) = ([[BANK]][0:64 | 16:1 | 0], none, none) {func = "sigmoid"} on act
// CHECK-NEXT: nc.activation ({{.*}}) = ([[BANK]][0:64 | 16:1 | 16], none, none) {func = "tanh"} on act

// STATISTICS: 2 sums in PSUM
