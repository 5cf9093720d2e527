// neuron-opt -p nc-pipeline
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<40x128x512xf32, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<40x128x512xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<40x128x512xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<40x128x512xf32, #nc.space<"hbm">>
    %zero = arith.constant 0 : index
    %trips = arith.constant 40 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %trips step %one {
      %a = nc.alloc : memref<128x512xf32, #nc.space<"sbuf">>
      nc.dma (%a[0:128 | 512:1 | 0]) = (%x[0:128 * 512 | 512:1 | 0 + 65536 * %i]) on dma1
      nc.activation (%a[0:128 | 512:1 | 0], none) = (%a[0:128 | 512:1 | 0], none, none) {func = "exp"} on act
      nc.dma (%y[0:128 * 512 | 512:1 | 0 + 65536 * %i]) = (%a[0:128 | 512:1 | 0]) on dma4 by pool
    }
    nc.return
  }
}
