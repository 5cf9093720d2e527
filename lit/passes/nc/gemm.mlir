// The example of docs/nc-dialect.md.
// RUN: neuron-opt %s -p 'nc-unroll{limit=0},nc-split-loads,nc-assign-engines,nc-rotate,nc-prefetch,nc-pipeline,nc-reload-weights,nc-schedule,nc-assign-banks,nc-allocate,nc-synchronise,nc-verify-machine' | filecheck %s

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<128x8192xbf16, #nc.space<"hbm">> index 0
  nc.variable "w" : "input" memref<128x128xbf16, #nc.space<"hbm">> index 1
  nc.variable "y" : "output" memref<128x8192xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<128x8192xbf16, #nc.space<"hbm">>
    %w = nc.address_of @w : memref<128x128xbf16, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x8192xf32, #nc.space<"hbm">>
    %weights = nc.alloc "constant" : memref<128x128xbf16, #nc.space<"sbuf">>
    nc.dma (%weights[0:128 | 128:1 | 0]) = (%w[0:128 * 128 | 128:1 | 0])
    %zero = arith.constant 0 : index
    %trips = arith.constant 16 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %trips step %one {
      %tile = nc.alloc : memref<128x512xbf16, #nc.space<"sbuf">>
      %sum = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
      %out = nc.alloc : memref<128x512xf32, #nc.space<"sbuf">>
      nc.dma (%tile[0:128 | 512:1 | 0]) = (%x[0:128 * 8192 | 512:1 | 0 + 512 * %i])
      nc.matmul (%sum[0:128 | 512:1 | 0]) = (%weights[0:128 | 128:1 | 0], %tile[0:128 | 512:1 | 0]) {accumulate = 0}
      nc.activation (%out[0:128 | 512:1 | 0], none) = (%sum[0:128 | 512:1 | 0], none, none) {func = "copy"}
      nc.dma (%y[0:128 * 8192 | 512:1 | 0 + 512 * %i]) = (%out[0:128 | 512:1 | 0])
    }
    nc.return
  }
}

// CHECK: scf.for
// CHECK: nc.dma {{.*}} on dma2 wait [<0, -1 + 4 * %{{[a-z0-9_]+}}>] update
// CHECK: } {nc.pipelined}
