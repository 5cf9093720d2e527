// neuron-opt -p nc-spill{sbuf=4096}
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "ordered"} {
  nc.variable "x" : "input" memref<128x512xf32, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<128x512xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<128x512xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x512xf32, #nc.space<"hbm">>
    %a = nc.alloc : memref<128x512xf32, #nc.space<"sbuf">>
    %b = nc.alloc : memref<128x512xf32, #nc.space<"sbuf">>
    %c = nc.alloc : memref<128x512xf32, #nc.space<"sbuf">>
    nc.dma (%a[0:128 | 512:1 | 0]) = (%x[0:128 * 512 | 512:1 | 0]) on dma1
    nc.activation (%b[0:128 | 512:1 | 0], none) = (%a[0:128 | 512:1 | 0], none, none) {func = "exp"} on act
    nc.activation (%c[0:128 | 512:1 | 0], none) = (%b[0:128 | 512:1 | 0], none, none) {func = "exp"} on act
    nc.tensor_tensor (%c[0:128 | 512:1 | 0]) = (%c[0:128 | 512:1 | 0], %a[0:128 | 512:1 | 0]) {op = "add"} on dve
    nc.dma (%y[0:128 * 512 | 512:1 | 0]) = (%c[0:128 | 512:1 | 0]) on dma4
    nc.return
  }
}
