// neuron-opt -p nc-reload-weights{sbuf=4352}
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "v" : "constant" memref<32x64xf32, #nc.space<"hbm">>
  nc.variable "w" : "constant" memref<32x64xf32, #nc.space<"hbm">>
  nc.variable "y" : "output" memref<64x64xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %v = nc.address_of @v : memref<32x64xf32, #nc.space<"hbm">>
    %w = nc.address_of @w : memref<32x64xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<64x64xf32, #nc.space<"hbm">>
    %x = nc.alloc : memref<32x1024xf32, #nc.space<"sbuf">>
    %p = nc.alloc : memref<64x512xf32, #nc.space<"psum">>
    %s = nc.alloc : memref<64x64xf32, #nc.space<"sbuf">>
    %a = nc.alloc "stream" : memref<32x64xf32, #nc.space<"sbuf">>
    %b = nc.alloc "stream" : memref<32x64xf32, #nc.space<"sbuf">>
    nc.memset (%x[0:32 | 1024:1 | 0]) = () {value = 1.0} on dve
    nc.dma (%a[0:32 | 64:1 | 0]) = (%v[0:32 * 64 | 64:1 | 0]) on dma0
    nc.matmul (%p[0:64 | 512:1 | 0]) = (%a[0:32 | 64:1 | 0], %x[0:32 | 512:1 | 0]) {accumulate = 0} on pe
    nc.dma (%b[0:32 | 64:1 | 0]) = (%w[0:32 * 64 | 64:1 | 0]) on dma0
    nc.matmul (%p[0:64 | 512:1 | 0]) = (%b[0:32 | 64:1 | 0], %x[0:32 | 512:1 | 0]) {accumulate = 1} on pe
    nc.matmul (%p[0:64 | 512:1 | 0]) = (%a[0:32 | 64:1 | 0], %x[0:32 | 512:1 | 512]) {accumulate = 1} on pe
    nc.tensor_copy (%s[0:64 | 64:1 | 0]) = (%p[0:64 | 64:1 | 0]) on dve
    nc.dma (%y[0:64 * 64 | 64:1 | 0]) = (%s[0:64 | 64:1 | 0]) on dma4 by pool
    nc.return
  }
}
