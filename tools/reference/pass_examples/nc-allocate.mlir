// neuron-opt -p nc-assign-banks,nc-allocate
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "ordered"} {
  nc.variable "x" : "input" memref<128x64xbf16, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<64x64xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<128x64xbf16, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<64x64xf32, #nc.space<"hbm">>
    %a = nc.alloc : memref<128x64xbf16, #nc.space<"sbuf">>
    %p = nc.alloc : memref<64x512xf32, #nc.space<"psum">>
    %s = nc.alloc : memref<64x64xf32, #nc.space<"sbuf">>
    %e = nc.alloc : memref<64x64xf32, #nc.space<"sbuf">>
    nc.dma (%a[0:128 | 64:1 | 0]) = (%x[0:128 * 64 | 64:1 | 0]) on dma1
    nc.matmul (%p[0:64 | 64:1 | 0]) = (%a[0:128 | 64:1 | 0], %a[0:128 | 64:1 | 0]) {accumulate = 0} on pe
    nc.tensor_copy (%s[0:64 | 64:1 | 0]) = (%p[0:64 | 64:1 | 0]) on dve
    nc.activation (%e[0:64 | 64:1 | 0], none) = (%s[0:64 | 64:1 | 0], none, none) {func = "exp"} on act
    nc.dma (%y[0:64 * 64 | 64:1 | 0]) = (%e[0:64 | 64:1 | 0]) on dma4 by pool
    nc.return
  } {nc.scheduled}
}
