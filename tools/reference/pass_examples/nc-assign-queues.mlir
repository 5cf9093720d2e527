// neuron-opt -p nc-assign-queues
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "allocated"} {
  nc.variable "x" : "input" memref<128x1024xf32, #nc.space<"hbm">> index 0 at 0
  nc.variable "y" : "input" memref<128x1024xf32, #nc.space<"hbm">> index 1 at 524288
  nc.func "main" {
    %x = nc.address_of @x : memref<128x1024xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x1024xf32, #nc.space<"hbm">>
    %a = nc.alloc at 0 : memref<128x1024xf32, #nc.space<"sbuf">>
    %b = nc.alloc at 4096 : memref<128x1024xf32, #nc.space<"sbuf">>
    %r = nc.alloc at 8192 : memref<128x1024xf32, #nc.space<"sbuf">>
    nc.dma (%a[0:128 | 1024:1 | 0]) = (%x[0:128 * 1024 | 1024:1 | 0]) on dma1
    nc.dma (%b[0:128 | 1024:1 | 0]) = (%y[0:128 * 1024 | 1024:1 | 0]) on dma2
    nc.activation (%a[0:128 | 1024:1 | 0], none) = (%a[0:128 | 1024:1 | 0], none, none) {func = "exp"} on act
    nc.tensor_tensor (%r[0:128 | 1024:1 | 0]) = (%a[0:128 | 1024:1 | 0], %b[0:128 | 1024:1 | 0]) {op = "add"} on dve
    nc.return
  } {nc.scheduled}
}
