// neuron-opt -p nc-order-triggers
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "allocated"} {
  nc.variable "x" : "input" memref<128x4096xf32, #nc.space<"hbm">> index 0 at 0
  nc.func "main" {
    %x = nc.address_of @x : memref<128x4096xf32, #nc.space<"hbm">>
    %a = nc.alloc at 0 : memref<128x512xf32, #nc.space<"sbuf">>
    %b = nc.alloc at 0 : memref<128x512xf32, #nc.space<"sbuf">>
    %c = nc.alloc at 2048 : memref<128x512xf32, #nc.space<"sbuf">>
    %r = nc.alloc at 4096 : memref<128x512xf32, #nc.space<"sbuf">>
    nc.dma (%a[0:128 | 512:1 | 0]) = (%x[0:128 * 4096 | 512:1 | 0]) on dma1
    nc.activation (%r[0:128 | 512:1 | 0], none) = (%a[0:128 | 512:1 | 0], none, none) {func = "exp"} on act
    nc.dma (%b[0:128 | 512:1 | 0]) = (%x[0:128 * 4096 | 512:1 | 512]) on dma1
    nc.dma (%c[0:128 | 512:1 | 0]) = (%x[0:128 * 4096 | 512:1 | 1024]) on dma2
    nc.activation (%r[0:128 | 512:1 | 0], none) = (%c[0:128 | 512:1 | 0], none, none) {func = "exp"} on act
    nc.activation (%r[0:128 | 512:1 | 0], none) = (%b[0:128 | 512:1 | 0], none, none) {func = "exp"} on act
    nc.return
  } {nc.scheduled}
}
