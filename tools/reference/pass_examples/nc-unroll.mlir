// neuron-opt -p nc-unroll
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<2x128x64xf32, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<2x128x64xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<2x128x64xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<2x128x64xf32, #nc.space<"hbm">>
    %zero = arith.constant 0 : index
    %trips = arith.constant 2 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %trips step %one {
      %a = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
      nc.dma (%a[0:128 | 64:1 | 0]) = (%x[0:128 * 64 | 64:1 | 0 + 8192 * %i])
      nc.dma (%y[0:128 * 64 | 64:1 | 0 + 8192 * %i]) = (%a[0:128 | 64:1 | 0])
    }
    nc.return
  }
}
