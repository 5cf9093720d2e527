// neuron-opt -p nc-rotate
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<128x1024xf32, #nc.space<"hbm">> index 0
  nc.variable "w" : "input" memref<6x128x128xbf16, #nc.space<"hbm">> index 1
  nc.variable "y" : "output" memref<128x1024xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<128x1024xf32, #nc.space<"hbm">>
    %w = nc.address_of @w : memref<6x128x128xbf16, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x1024xf32, #nc.space<"hbm">>
    %sum = nc.alloc : memref<128x1024xf32, #nc.space<"sbuf">>
    nc.dma (%sum[0:128 | 1024:1 | 0]) = (%x[0:128 * 1024 | 1024:1 | 0]) on dma1
    %zero = arith.constant 0 : index
    %trips = arith.constant 6 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %trips step %one {
      %weights = nc.alloc "stream" : memref<128x128xbf16, #nc.space<"sbuf">>
      %half = nc.alloc : memref<128x1024xbf16, #nc.space<"sbuf">>
      %a = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
      %b = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
      nc.dma (%weights[0:128 | 128:1 | 0]) = (%w[0:128 * 128 | 128:1 | 0 + 16384 * %i]) on dma0
      nc.tensor_scalar (%half[0:128 | 512:1 | 0]) = (%sum[0:128 | 512:1 | 0], none, none) {op0 = "multiply", imm0 = 0.25} on dve
      nc.tensor_scalar (%half[0:128 | 512:1 | 512]) = (%sum[0:128 | 512:1 | 512], none, none) {op0 = "multiply", imm0 = 0.25} on dve
      nc.matmul (%a[0:128 | 512:1 | 0]) = (%weights[0:128 | 128:1 | 0], %half[0:128 | 512:1 | 0]) {accumulate = 0} on pe
      nc.matmul (%b[0:128 | 512:1 | 0]) = (%weights[0:128 | 128:1 | 0], %half[0:128 | 512:1 | 512]) {accumulate = 0} on pe
      nc.tensor_tensor (%sum[0:128 | 512:1 | 0]) = (%sum[0:128 | 512:1 | 0], %a[0:128 | 512:1 | 0]) {op = "add"} on dve
      nc.tensor_tensor (%sum[0:128 | 512:1 | 512]) = (%sum[0:128 | 512:1 | 512], %b[0:128 | 512:1 | 0]) {op = "add"} on dve
    }
    nc.dma (%y[0:128 * 1024 | 1024:1 | 0]) = (%sum[0:128 | 1024:1 | 0]) on dma4 by pool
    nc.return
  }
}
