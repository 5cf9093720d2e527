// neuron-opt -p nc-assign-banks
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "ordered"} {
  nc.variable "y" : "output" memref<128x64xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %y = nc.address_of @y : memref<128x64xf32, #nc.space<"hbm">>
    %x = nc.alloc : memref<128x128xbf16, #nc.space<"sbuf">>
    %p = nc.alloc : memref<128x64xf32, #nc.space<"psum">>
    %q = nc.alloc : memref<128x64xf32, #nc.space<"psum">>
    %s = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    nc.memset (%x[0:128 | 128:1 | 0]) = () {value = 1.0} on pool
    nc.matmul (%p[0:128 | 64:1 | 0]) = (%x[0:128 | 128:1 | 0], %x[0:128 | 64:1 | 0]) {accumulate = 0} on pe
    nc.matmul (%q[0:128 | 64:1 | 0]) = (%x[0:128 | 128:1 | 0], %x[0:128 | 64:1 | 64]) {accumulate = 0} on pe
    nc.tensor_copy (%s[0:128 | 64:1 | 0]) = (%p[0:128 | 64:1 | 0]) on dve
    nc.tensor_tensor (%s[0:128 | 64:1 | 0]) = (%s[0:128 | 64:1 | 0], %q[0:128 | 64:1 | 0]) {op = "add"} on dve
    nc.dma (%y[0:128 * 64 | 64:1 | 0]) = (%s[0:128 | 64:1 | 0]) on dma4
    nc.return
  }
}
