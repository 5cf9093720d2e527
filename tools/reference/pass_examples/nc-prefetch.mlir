// neuron-opt -p nc-prefetch
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "w" : "input" memref<6x128x64xbf16, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<6x64x64xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %w = nc.address_of @w : memref<6x128x64xbf16, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<6x64x64xf32, #nc.space<"hbm">>
    %zero = arith.constant 0 : index
    %trips = arith.constant 6 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %trips step %one {
      %weights = nc.alloc "stream" : memref<128x64xbf16, #nc.space<"sbuf">>
      %p = nc.alloc : memref<64x64xf32, #nc.space<"psum">>
      %s = nc.alloc : memref<64x64xf32, #nc.space<"sbuf">>
      nc.dma (%weights[0:128 | 64:1 | 0]) = (%w[0:128 * 64 | 64:1 | 0 + 8192 * %i]) on dma0
      nc.matmul (%p[0:64 | 64:1 | 0]) = (%weights[0:128 | 64:1 | 0], %weights[0:128 | 64:1 | 0]) {accumulate = 0} on pe
      nc.tensor_copy (%s[0:64 | 64:1 | 0]) = (%p[0:64 | 64:1 | 0]) on dve
      nc.dma (%y[0:64 * 64 | 64:1 | 0 + 4096 * %i]) = (%s[0:64 | 64:1 | 0]) on dma4 by pool
    }
    nc.return
  }
}
