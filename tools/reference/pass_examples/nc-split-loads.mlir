// neuron-opt -p nc-split-loads
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "t" : "scratch" memref<128x2048xf32, #nc.space<"hbm">>
  nc.variable "y" : "output" memref<128x2048xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %t = nc.address_of @t : memref<128x2048xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x2048xf32, #nc.space<"hbm">>
    %z = nc.alloc : memref<128x2048xf32, #nc.space<"sbuf">>
    %a = nc.alloc : memref<128x2048xf32, #nc.space<"sbuf">>
    nc.memset (%z[0:128 | 2:1024, 1024:1 | 0]) = () {value = 0.0}
    nc.dma (%t[0:128 * 2048 | 2:1024, 1024:1 | 0]) = (%z[0:128 | 2:1024, 1024:1 | 0])
    nc.dma (%a[0:128 | 2:1024, 1024:1 | 0]) = (%t[0:128 * 2048 | 2:1024, 1024:1 | 0])
    nc.dma (%y[0:128 * 2048 | 2:1024, 1024:1 | 0]) = (%a[0:128 | 2:1024, 1024:1 | 0])
    nc.return
  }
}
