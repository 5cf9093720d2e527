// neuron-opt -p nc-sum-in-psum
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<64x320xf32, #nc.space<"hbm">> index 0
  nc.variable "w" : "input" memref<64x64xbf16, #nc.space<"hbm">> index 1
  nc.func "main" {
    %x = nc.address_of @x : memref<64x320xf32, #nc.space<"hbm">>
    %w = nc.address_of @w : memref<64x64xbf16, #nc.space<"hbm">>
    %a = nc.alloc : memref<64x320xf32, #nc.space<"sbuf">>
    nc.dma (%a[0:64 | 320:1 | 0]) = (%x[0:64 * 320 | 320:1 | 0])
    %u = nc.alloc : memref<64x64xbf16, #nc.space<"sbuf">>
    nc.dma (%u[0:64 | 64:1 | 0]) = (%w[0:64 * 64 | 64:1 | 0])
    %h = nc.alloc : memref<64x16xbf16, #nc.space<"sbuf">>
    nc.memset (%h[0:64 | 16:1 | 0]) = () {value = 0.0} on pool
    %p = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %many = arith.constant 20 : index
    scf.for %i = %zero to %many step %one {
      %s = nc.alloc : memref<64x16xf32, #nc.space<"sbuf">>
      nc.matmul (%p[0:64 | 16:1 | 0]) = (%u[0:64 | 64:1 | 0], %h[0:64 | 16:1 | 0]) {accumulate = 0} on pe
      nc.tensor_tensor (%s[0:64 | 16:1 | 0]) = (%a[0:64 | 16:1 | 0 + 16 * %i], %p[0:64 | 16:1 | 0]) {op = "add"} on dve attributes {nc.finite}
      nc.activation (%h[0:64 | 16:1 | 0], none) = (%s[0:64 | 16:1 | 0], none, none) {func = "tanh"} on act
    }
    nc.return
  }
}
