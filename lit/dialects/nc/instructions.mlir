// RUN: neuron-opt %s | neuron-opt | filecheck %s

builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %s = nc.alloc : memref<128x512xf32, #nc.space<"sbuf">>
    %b = nc.alloc "stream" : memref<128x512xbf16, #nc.space<"sbuf">>
    %i = nc.alloc "constant" : memref<128x8xi32, #nc.space<"sbuf">>
    %p = nc.alloc at 2048 : memref<128x512xf32, #nc.space<"psum">>
    // CHECK: %p = nc.alloc at 2048 : memref<128x512xf32, #nc.space<"psum">>
    nc.matmul (%p[0:128 | 512:1 | 0]) = (%b[0:128 | 128:1 | 0], %b[0:128 | 512:1 | 0]) {accumulate = 0} on pe
    // CHECK-NEXT: nc.matmul (%p[0:128 | 512:1 | 0]) = (%b[0:128 | 128:1 | 0], %b[0:128 | 512:1 | 0]) {accumulate = 0} on pe
    nc.transpose (%p[0:64 | 32:1 | 0]) = (%s[0:32 | 64:2 | 1]) on pe
    // CHECK-NEXT: nc.transpose (%p[0:64 | 32:1 | 0]) = (%s[0:32 | 64:2 | 1]) on pe
    nc.activation (%b[0:128 | 512:1 | 0], none) = (%p[0:128 | 512:1 | 0], none, %s[0:128 | 1:1 | 7]) {func = "gelu", scale = 5.000000e-01} on act
    // CHECK-NEXT: nc.activation (%b[0:128 | 512:1 | 0], none) = (%p[0:128 | 512:1 | 0], none, %s[0:128 | 1:1 | 7]) {func = "gelu", scale = 5.000000e-01} on act
    nc.tensor_tensor (%s[0:128 | 16:32, 32:1 | 0]) = (%s[0:128 | 32:1, 16:32 | 0], %s[0:128 | 1:0, 512:1 | 0]) {op = "multiply"} on dve
    // CHECK-NEXT: nc.tensor_tensor (%s[0:128 | 16:32, 32:1 | 0]) = (%s[0:128 | 32:1, 16:32 | 0], %s[0:128 | 1:0, 512:1 | 0]) {op = "multiply"} on dve
    nc.tensor_scalar (%s[0:128 | 512:1 | 0]) = (%s[0:128 | 512:1 | 0], none, none) {op0 = "add", imm0 = 1.000000e+00, op1 = "max", imm1 = 0.000000e+00} on pool
    // CHECK-NEXT: nc.tensor_scalar (%s[0:128 | 512:1 | 0]) = (%s[0:128 | 512:1 | 0], none, none) {op0 = "add", imm0 = 1.000000e+00, op1 = "max", imm1 = 0.000000e+00} on pool
    nc.tensor_copy (%i[0:128 | 8:1 | 0 as u32]) = (%s[0:128 | 8:1 | 0 as u32])
    // CHECK-NEXT: nc.tensor_copy (%i[0:128 | 8:1 | 0 as u32]) = (%s[0:128 | 8:1 | 0 as u32])
    nc.memset (%s[32:32 | 512:1 | 0]) = () {value = 2.500000e-01} on dve wait [<3, 1>, <4, 16>] update [<5, 1>]
    // CHECK-NEXT: nc.memset (%s[32:32 | 512:1 | 0]) = () {value = 2.500000e-01} on dve wait [<3, 1>, <4, 16>] update [<5, 1>]
    nc.iota (%i[0:128 | 8:1 | 0]) = () {base = 0, channel_multiplier = 8, step0 = 1} on pool
    // CHECK-NEXT: nc.iota (%i[0:128 | 8:1 | 0]) = () {base = 0, channel_multiplier = 8, step0 = 1} on pool
    nc.barrier () = () on sp
    // CHECK-NEXT: nc.barrier () = () on sp
    nc.return
  }
}
