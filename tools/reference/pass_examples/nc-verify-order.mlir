// neuron-opt -p nc-verify-order,nc-assign-engines,nc-schedule,nc-allocate,nc-verify-order
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<128x64xf32, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<128x64xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<128x64xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x64xf32, #nc.space<"hbm">>
    %a = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    nc.dma (%a[0:128 | 64:1 | 0]) = (%x[0:128 * 64 | 64:1 | 0])
    nc.dma (%y[0:128 * 64 | 64:1 | 0]) = (%a[0:128 | 64:1 | 0])
    nc.return
  }
}
