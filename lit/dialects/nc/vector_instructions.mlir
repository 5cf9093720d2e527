// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s -p nc-verify-machine -o /dev/null

// Instructions of DVE and POOL, and a scatter, that instructions.mlir does not cover.

builtin.module attributes {nc.machine = "trn1"} {
  nc.variable "y" : "output" memref<1024x512xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %s = nc.alloc : memref<128x512xf32, #nc.space<"sbuf">>
    %t = nc.alloc : memref<128x512xf32, #nc.space<"sbuf">>
    %r = nc.alloc : memref<128x1xf32, #nc.space<"sbuf">>
    %e = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    %f = nc.alloc : memref<128x8xui32, #nc.space<"sbuf">>
    %i = nc.alloc : memref<128x512xi32, #nc.space<"sbuf">>
    %u = nc.alloc : memref<128x512xui32, #nc.space<"sbuf">>
    %d = nc.alloc : memref<128x6xf32, #nc.space<"sbuf">>
    %v = nc.alloc : memref<128x2xf32, #nc.space<"sbuf">>
    // CHECK: nc.scalar_tensor_tensor (%t[0:128 | 512:1 | 0]) = (%s[0:128 | 512:1 | 0], %r[0:128 | 1:1 | 0], %s[0:128 | 512:1 | 0]) {op0 = "multiply", op1 = "add"} on dve
    nc.scalar_tensor_tensor (%t[0:128 | 512:1 | 0]) = (%s[0:128 | 512:1 | 0], %r[0:128 | 1:1 | 0], %s[0:128 | 512:1 | 0]) {op0 = "multiply", op1 = "add"} on dve
    // CHECK: nc.tensor_reduce (%r[0:128 | 1:1 | 0]) = (%s[0:128 | 512:1 | 0]) {op = "max", axes = 1} on dve
    nc.tensor_reduce (%r[0:128 | 1:1 | 0]) = (%s[0:128 | 512:1 | 0]) {op = "max", axes = 1} on dve
    // CHECK: nc.tensor_tensor_scan (%t[0:128 | 512:1 | 0]) = (%s[0:128 | 512:1 | 0], %s[0:128 | 512:1 | 0], none) {op0 = "multiply", op1 = "add", initial = 0.000000e+00} on dve
    nc.tensor_tensor_scan (%t[0:128 | 512:1 | 0]) = (%s[0:128 | 512:1 | 0], %s[0:128 | 512:1 | 0], none) {op0 = "multiply", op1 = "add", initial = 0.000000e+00} on dve
    // CHECK: nc.copy_predicated (%t[0:128 | 512:1 | 0]) = (%u[0:128 | 512:1 | 0], %s[0:128 | 512:1 | 0]) on dve
    nc.copy_predicated (%t[0:128 | 512:1 | 0]) = (%u[0:128 | 512:1 | 0], %s[0:128 | 512:1 | 0]) on dve
    // CHECK: nc.reciprocal (%t[0:128 | 512:1 | 0]) = (%s[0:128 | 512:1 | 0]) on dve
    nc.reciprocal (%t[0:128 | 512:1 | 0]) = (%s[0:128 | 512:1 | 0]) on dve
    // CHECK: nc.bn_stats (%d[0:128 | 6:1 | 0]) = (%s[0:128 | 512:1 | 0]) on dve
    nc.bn_stats (%d[0:128 | 6:1 | 0]) = (%s[0:128 | 512:1 | 0]) on dve
    // CHECK: nc.bn_aggr (%v[0:128 | 2:1 | 0]) = (%d[0:128 | 6:1 | 0]) on dve
    nc.bn_aggr (%v[0:128 | 2:1 | 0]) = (%d[0:128 | 6:1 | 0]) on dve
    // CHECK: nc.transpose_dve (%t[0:32 | 32:1 | 0]) = (%s[0:32 | 32:1 | 0]) on dve
    nc.transpose_dve (%t[0:32 | 32:1 | 0]) = (%s[0:32 | 32:1 | 0]) on dve
    // CHECK: nc.max8 (%e[0:128 | 8:1 | 0]) = (%s[0:128 | 512:1 | 0]) on dve
    nc.max8 (%e[0:128 | 8:1 | 0]) = (%s[0:128 | 512:1 | 0]) on dve
    // CHECK: nc.find_index8 (%f[0:128 | 8:1 | 0]) = (%s[0:128 | 512:1 | 0], %e[0:128 | 8:1 | 0]) on dve
    nc.find_index8 (%f[0:128 | 8:1 | 0]) = (%s[0:128 | 512:1 | 0], %e[0:128 | 8:1 | 0]) on dve
    // CHECK: nc.match_replace8 (%t[0:128 | 512:1 | 0]) = (%s[0:128 | 512:1 | 0], %e[0:128 | 8:1 | 0]) {value = -1.000000e+00} on dve
    nc.match_replace8 (%t[0:128 | 512:1 | 0]) = (%s[0:128 | 512:1 | 0], %e[0:128 | 8:1 | 0]) {value = -1.000000e+00} on dve
    // CHECK: nc.rng (%u[0:128 | 512:1 | 0]) = () {seed = 7} on dve
    nc.rng (%u[0:128 | 512:1 | 0]) = () {seed = 7} on dve
    // CHECK: nc.affine_select (%t[0:128 | 512:1 | 0]) = (%s[0:128 | 512:1 | 0]) {op = "is_ge", base = 0, channel_multiplier = 1, step0 = -1, fill = 0.000000e+00} on pool
    nc.affine_select (%t[0:128 | 512:1 | 0]) = (%s[0:128 | 512:1 | 0]) {op = "is_ge", base = 0, channel_multiplier = 1, step0 = -1, fill = 0.000000e+00} on pool
    // CHECK: nc.partition_all_reduce (%t[0:128 | 512:1 | 0]) = (%s[0:128 | 512:1 | 0]) {op = "add"} on pool
    nc.partition_all_reduce (%t[0:128 | 512:1 | 0]) = (%s[0:128 | 512:1 | 0]) {op = "add"} on pool
    // CHECK: nc.n_gather (%t[0:128 | 512:1 | 0]) = (%s[0:128 | 512:1 | 0], %i[0:128 | 512:1 | 0]) on pool
    nc.n_gather (%t[0:128 | 512:1 | 0]) = (%s[0:128 | 512:1 | 0], %i[0:128 | 512:1 | 0]) on pool
    %y = nc.address_of @y : memref<1024x512xf32, #nc.space<"hbm">>
    %k = nc.alloc : memref<128x1xi32, #nc.space<"sbuf">>
    // CHECK: nc.dma_scatter (%y[0:1 | 512:1 | 0]) = (%s[0:128 | 512:1 | 0], %k[0:128 | 1:1 | 0]) {row_stride = 2048, rows = 1024} on dma14
    nc.dma_scatter (%y[0:1 | 512:1 | 0]) = (%s[0:128 | 512:1 | 0], %k[0:128 | 1:1 | 0]) {row_stride = 2048, rows = 1024} on dma14
    nc.return
  }
}
