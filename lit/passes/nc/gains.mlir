// RUN: neuron-opt %s -p '@nc-order,nc-assign-banks,nc-allocate' --pass-statistics 2>&1 >%t | filecheck %s
// RUN: neuron-opt %s -p 'nc-unroll,nc-split-loads,nc-assign-engines,nc-rotate{window=1},nc-prefetch{window=1},nc-pipeline,nc-reload-weights,nc-schedule{window=1},nc-assign-banks,nc-allocate{ring=512}' --pass-statistics 2>&1 >%t | filecheck %s --check-prefix=OFF

// A large array, whose first activation comes first, and four products with weights of their own. List
// scheduling moves the evictions of the products to the front, rotating banks let PE run ahead of them,
// and weights are loaded before they are used. Each technique reports its gain and can be disabled.

// CHECK: {{ }}3 prefetch: depth
// CHECK: {{ 5...}} prefetch: estimated ns with loads ahead
// CHECK: {{ 12...}} prefetch: estimated ns with loads where they are used
// CHECK: {{ }}4 prefetch: loads
// CHECK: {{ }}9216 sbuf bytes per partition without sharing
// CHECK: {{ }}4 banks
// CHECK: {{ 113..}} estimated ns with bank rotation
// CHECK: {{ 113..}} estimated ns with the first empty bank
// CHECK: {{ 121..}} list scheduling: estimated ns in program order
// CHECK: {{ 113..}} list scheduling: estimated ns in the order chosen

// OFF: {{ }}2 prefetch: depth
// OFF: {{ 121..}} list scheduling: estimated ns in program order
// OFF: {{ 121..}} list scheduling: estimated ns in the order chosen

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<128x512xbf16, #nc.space<"hbm">> index 0
  nc.variable "z" : "input" memref<128x1024xf32, #nc.space<"hbm">> index 2
  nc.variable "w" : "input" memref<128x512xbf16, #nc.space<"hbm">> index 1
  nc.variable "y" : "output" memref<128x2048xbf16, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<128x512xbf16, #nc.space<"hbm">>
    %w = nc.address_of @w : memref<128x512xbf16, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x2048xbf16, #nc.space<"hbm">>
    %z = nc.address_of @z : memref<128x1024xf32, #nc.space<"hbm">>
    %in = nc.alloc : memref<128x512xbf16, #nc.space<"sbuf">>
    %out = nc.alloc : memref<128x2048xbf16, #nc.space<"sbuf">>
    nc.dma (%in[0:128 | 512:1 | 0]) = (%x[0:128 * 512 | 512:1 | 0])
    %late = nc.alloc : memref<128x1024xf32, #nc.space<"sbuf">>
    nc.dma (%late[0:128 | 1024:1 | 0]) = (%z[0:128 * 1024 | 1024:1 | 0])
    nc.activation (%late[0:128 | 1024:1 | 0], none) = (%late[0:128 | 1024:1 | 0], none, none) {func = "gelu"} on act
    nc.tensor_tensor (%out[0:128 | 512:1 | 0]) = (%late[0:128 | 512:1 | 0], %late[0:128 | 512:1 | 512]) {op = "add"} on pool
    %w0 = nc.alloc "stream" : memref<128x128xbf16, #nc.space<"sbuf">>
    nc.dma (%w0[0:128 | 128:1 | 0]) = (%w[0:128 * 512 | 128:1 | 0])
    %p0 = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    nc.matmul (%p0[0:128 | 512:1 | 0]) = (%w0[0:128 | 128:1 | 0], %in[0:128 | 512:1 | 0]) {accumulate = 0}
    nc.activation (%out[0:128 | 512:1 | 0], none) = (%p0[0:128 | 512:1 | 0], none, none) {func = "gelu"} on act
    %w1 = nc.alloc "stream" : memref<128x128xbf16, #nc.space<"sbuf">>
    nc.dma (%w1[0:128 | 128:1 | 0]) = (%w[0:128 * 512 | 128:1 | 128])
    %p1 = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    nc.matmul (%p1[0:128 | 512:1 | 0]) = (%w1[0:128 | 128:1 | 0], %in[0:128 | 512:1 | 0]) {accumulate = 0}
    nc.activation (%out[0:128 | 512:1 | 512], none) = (%p1[0:128 | 512:1 | 0], none, none) {func = "gelu"} on act
    %w2 = nc.alloc "stream" : memref<128x128xbf16, #nc.space<"sbuf">>
    nc.dma (%w2[0:128 | 128:1 | 0]) = (%w[0:128 * 512 | 128:1 | 256])
    %p2 = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    nc.matmul (%p2[0:128 | 512:1 | 0]) = (%w2[0:128 | 128:1 | 0], %in[0:128 | 512:1 | 0]) {accumulate = 0}
    nc.activation (%out[0:128 | 512:1 | 1024], none) = (%p2[0:128 | 512:1 | 0], none, none) {func = "gelu"} on act
    %w3 = nc.alloc "stream" : memref<128x128xbf16, #nc.space<"sbuf">>
    nc.dma (%w3[0:128 | 128:1 | 0]) = (%w[0:128 * 512 | 128:1 | 384])
    %p3 = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    nc.matmul (%p3[0:128 | 512:1 | 0]) = (%w3[0:128 | 128:1 | 0], %in[0:128 | 512:1 | 0]) {accumulate = 0}
    nc.activation (%out[0:128 | 512:1 | 1536], none) = (%p3[0:128 | 512:1 | 0], none, none) {func = "gelu"} on act
    nc.dma (%y[0:128 * 2048 | 2048:1 | 0]) = (%out[0:128 | 2048:1 | 0])
    nc.return
  }
}
