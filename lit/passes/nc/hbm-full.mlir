// A program whose variables do not fit in the memory of a core is refused: a chip of inf1 has 8 GiB for four cores.
// nc-verify-room reports it before the program is ordered, nc-allocate with the spilled values.
// RUN: status 1 neuron-opt %s -p nc-verify-room 2>&1 | filecheck %s
// RUN: status 1 neuron-opt %s -p nc-assign-engines,nc-schedule,nc-spill,nc-assign-banks,nc-allocate 2>&1 | filecheck %s

// CHECK-NOT: internal error
// CHECK: error: [NCC_EOOM002] device memory is too small: the variables take 3221225472 bytes, inf1 has 2147483648 (1073741824 too many)
// CHECK: the largest:
// CHECK: 1610612736 bytes input @x
// CHECK: help: use a smaller batch or a narrower type, or split the model

builtin.module attributes {nc.machine = "inf1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<128x3145728xf32, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<128x3145728xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<128x3145728xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x3145728xf32, #nc.space<"hbm">>
    %a = nc.alloc : memref<128x1000xf32, #nc.space<"sbuf">>
    nc.dma (%a[0:128 | 1000:1 | 0]) = (%x[0:128 * 3145728 | 1000:1 | 0]) loc("x")
    nc.dma (%y[0:128 * 3145728 | 1000:1 | 0]) = (%a[0:128 | 1000:1 | 0]) loc("y")
    nc.return
  }
}
