// neuron-opt -p nc-balance-evictions
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.func "main" {
    %p = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    %s = nc.alloc : memref<128x512xf32, #nc.space<"sbuf">>
    %e = nc.alloc : memref<128x512xf32, #nc.space<"sbuf">>
    nc.activation (%e[0:128 | 512:1 | 0], none) = (%p[0:128 | 512:1 | 0], none, none) {func = "exp"} on act
    nc.activation (%s[0:128 | 512:1 | 0], none) = (%p[0:128 | 512:1 | 0], none, none) {func = "copy"} on act
    nc.return
  }
}
