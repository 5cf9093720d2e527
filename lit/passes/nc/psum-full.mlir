// Nine products that are all read at the end: there are eight banks.
// RUN: not neuron-opt %s -p 'nc-assign-banks' 2>&1 | filecheck %s
// RUN: not neuron-opt %s -p 'nc-allocate' 2>&1 | filecheck %s

// CHECK: error: [NCC_EOOM002] PSUM is too small: 18432 bytes per partition are needed, 16384 are available (2048 too many)
// CHECK: live at the peak, bytes per partition
// CHECK: {{ }}2048 bytes  written by nc.matmul

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "ordered"} {
  nc.variable "x" : "input" memref<128x512xbf16, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<128x512xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<128x512xbf16, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x512xf32, #nc.space<"hbm">>
    %in = nc.alloc : memref<128x512xbf16, #nc.space<"sbuf">>
    %out = nc.alloc : memref<128x512xf32, #nc.space<"sbuf">>
    %p0 = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    %p1 = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    %p2 = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    %p3 = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    %p4 = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    %p5 = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    %p6 = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    %p7 = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    %p8 = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    nc.dma (%in[0:128 | 512:1 | 0]) = (%x[0:128 * 512 | 512:1 | 0]) on dma1
    nc.matmul (%p0[0:128 | 512:1 | 0]) = (%in[0:128 | 128:1 | 0], %in[0:128 | 512:1 | 0]) {accumulate = 0} on pe
    nc.matmul (%p1[0:128 | 512:1 | 0]) = (%in[0:128 | 128:1 | 0], %in[0:128 | 512:1 | 0]) {accumulate = 0} on pe
    nc.matmul (%p2[0:128 | 512:1 | 0]) = (%in[0:128 | 128:1 | 0], %in[0:128 | 512:1 | 0]) {accumulate = 0} on pe
    nc.matmul (%p3[0:128 | 512:1 | 0]) = (%in[0:128 | 128:1 | 0], %in[0:128 | 512:1 | 0]) {accumulate = 0} on pe
    nc.matmul (%p4[0:128 | 512:1 | 0]) = (%in[0:128 | 128:1 | 0], %in[0:128 | 512:1 | 0]) {accumulate = 0} on pe
    nc.matmul (%p5[0:128 | 512:1 | 0]) = (%in[0:128 | 128:1 | 0], %in[0:128 | 512:1 | 0]) {accumulate = 0} on pe
    nc.matmul (%p6[0:128 | 512:1 | 0]) = (%in[0:128 | 128:1 | 0], %in[0:128 | 512:1 | 0]) {accumulate = 0} on pe
    nc.matmul (%p7[0:128 | 512:1 | 0]) = (%in[0:128 | 128:1 | 0], %in[0:128 | 512:1 | 0]) {accumulate = 0} on pe
    nc.matmul (%p8[0:128 | 512:1 | 0]) = (%in[0:128 | 128:1 | 0], %in[0:128 | 512:1 | 0]) {accumulate = 0} on pe
    nc.activation (%out[0:128 | 512:1 | 0], none) = (%p0[0:128 | 512:1 | 0], none, none) {func = "gelu"} on act
    nc.activation (%out[0:128 | 512:1 | 0], none) = (%p1[0:128 | 512:1 | 0], none, none) {func = "gelu"} on act
    nc.activation (%out[0:128 | 512:1 | 0], none) = (%p2[0:128 | 512:1 | 0], none, none) {func = "gelu"} on act
    nc.activation (%out[0:128 | 512:1 | 0], none) = (%p3[0:128 | 512:1 | 0], none, none) {func = "gelu"} on act
    nc.activation (%out[0:128 | 512:1 | 0], none) = (%p4[0:128 | 512:1 | 0], none, none) {func = "gelu"} on act
    nc.activation (%out[0:128 | 512:1 | 0], none) = (%p5[0:128 | 512:1 | 0], none, none) {func = "gelu"} on act
    nc.activation (%out[0:128 | 512:1 | 0], none) = (%p6[0:128 | 512:1 | 0], none, none) {func = "gelu"} on act
    nc.activation (%out[0:128 | 512:1 | 0], none) = (%p7[0:128 | 512:1 | 0], none, none) {func = "gelu"} on act
    nc.activation (%out[0:128 | 512:1 | 0], none) = (%p8[0:128 | 512:1 | 0], none, none) {func = "gelu"} on act
    nc.dma (%y[0:128 * 512 | 512:1 | 0]) = (%out[0:128 | 512:1 | 0]) on dma4
    nc.return
  }
}
