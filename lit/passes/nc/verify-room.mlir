// RUN: neuron-opt %s -p 'nc-verify-room' | filecheck %s
// RUN: status 1 neuron-opt %s -p 'nc-verify-room{sbuf=5000}' 2>&1 | filecheck %s --check-prefix=FULL
// RUN: status 1 neuron-opt %s -p 'nc-verify-room{sbuf=4000}' 2>&1 | filecheck %s --check-prefix=ALONE

// %a is read in all iterations and %s is stored after them: both are live in the whole loop. %t is
// live in one iteration, and %b is read before the loop only.

// CHECK: scf.for
// FULL: error: [NCC_EOOM002] SBUF is too small: 8192 bytes per partition are needed, 5000 are available (3192 too many)
// FULL-NEXT: live at the peak, bytes per partition:
// FULL-NEXT:      4096 bytes  written by nc.tensor_copy
// ALONE: error: [NCC_EOOM002] SBUF is too small: 4096 bytes per partition are needed, 4000 are available (96 too many)
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<128x1024xf32, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<128x1024xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<128x1024xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x1024xf32, #nc.space<"hbm">>
    %a = nc.alloc : memref<128x1024xf32, #nc.space<"sbuf">>
    %b = nc.alloc : memref<128x1024xf32, #nc.space<"sbuf">>
    %s = nc.alloc : memref<128x1024xf32, #nc.space<"sbuf">>
    nc.dma (%b[0:128 | 1024:1 | 0]) = (%x[0:128 * 1024 | 1024:1 | 0])
    nc.tensor_copy (%a[0:128 | 512:1 | 0]) = (%b[0:128 | 512:1 | 0]) on dve
    nc.tensor_copy (%a[0:128 | 512:1 | 512]) = (%b[0:128 | 512:1 | 512]) on dve
    %low = arith.constant 0 : index
    %high = arith.constant 8 : index
    %step = arith.constant 1 : index
    scf.for %i = %low to %high step %step {
      %t = nc.alloc : memref<128x128xf32, #nc.space<"sbuf">>
      nc.tensor_copy (%t[0:128 | 128:1 | 0]) = (%a[0:128 | 128:1 | 0 + 128 * %i]) on dve
      nc.tensor_copy (%s[0:128 | 128:1 | 0 + 128 * %i]) = (%t[0:128 | 128:1 | 0]) on dve
    }
    nc.dma (%y[0:128 * 1024 | 1024:1 | 0]) = (%s[0:128 | 1024:1 | 0])
    nc.return
  }
}
