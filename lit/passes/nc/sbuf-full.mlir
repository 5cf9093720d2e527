// A buffer that is larger than SBUF is not a fault of the pass that creates it: nc-allocate reports the buffers that do not fit.
// RUN: status 1 neuron-opt %s -p @nc-order,nc-spill,nc-assign-banks,nc-allocate 2>&1 | filecheck %s

// CHECK-NOT: internal error
// CHECK: error: [NCC_EOOM002] SBUF is too small: 200000 bytes per partition are needed, 180224 are available (19776 too many)
// CHECK: written by nc.dma of 'x'
// One buffer alone is too large: a smaller batch need not make it smaller.
// CHECK: help: 'x' alone needs 200000 bytes on each of 128 partitions: split a dimension that lies within a partition, or use a narrower type

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<128x50000xf32, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<128x50000xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<128x50000xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x50000xf32, #nc.space<"hbm">>
    %a = nc.alloc : memref<128x50000xf32, #nc.space<"sbuf">>
    nc.dma (%a[0:128 | 50000:1 | 0]) = (%x[0:128 * 50000 | 50000:1 | 0]) loc("x")
    nc.tensor_scalar (%a[0:128 | 50000:1 | 0]) = (%a[0:128 | 50000:1 | 0], none, none) {op0 = "multiply", imm0 = 2.0} on dve loc("y")
    nc.dma (%y[0:128 * 50000 | 50000:1 | 0]) = (%a[0:128 | 50000:1 | 0]) loc("y")
    nc.return
  }
}
