// neuron-opt -p nc-schedule
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<2x128x64xf32, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<2x128x64xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<2x128x64xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<2x128x64xf32, #nc.space<"hbm">>
    %a = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    %b = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    nc.dma (%a[0:128 | 64:1 | 0]) = (%x[0:128 * 64 | 64:1 | 0]) on dma1
    nc.activation (%a[0:128 | 64:1 | 0], none) = (%a[0:128 | 64:1 | 0], none, none) {func = "exp"} on act
    nc.dma (%y[0:128 * 64 | 64:1 | 0]) = (%a[0:128 | 64:1 | 0]) on dma4 by pool
    nc.dma (%b[0:128 | 64:1 | 0]) = (%x[0:128 * 64 | 64:1 | 8192]) on dma1
    nc.activation (%b[0:128 | 64:1 | 0], none) = (%b[0:128 | 64:1 | 0], none, none) {func = "exp"} on act
    nc.dma (%y[0:128 * 64 | 64:1 | 8192]) = (%b[0:128 | 64:1 | 0]) on dma4 by pool
    nc.return
  }
}
