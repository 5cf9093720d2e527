// Work without an output is removed: the copy of a copy, the loop around it, its buffers and its scratch memory.
// RUN: neuron-opt %s -p nc-dce | filecheck %s
// RUN: neuron-opt %s -p nc-dce --pass-statistics 2>&1 >%t | filecheck %s --check-prefix=STATISTICS
// RUN: neuron-opt %s -p nc-dce,nc-dce --pass-statistics 2>&1 >%t | filecheck %s --check-prefix=STATISTICS

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<128x64xf32, #nc.space<"hbm">> index 0
  nc.variable "part" : "scratch" memref<128x64xf32, #nc.space<"hbm">>
  nc.variable "whole" : "scratch" memref<1x128x64xf32, #nc.space<"hbm">> of [@part]
  nc.variable "left" : "scratch" memref<128x64xf32, #nc.space<"hbm">>
  nc.variable "y" : "output" memref<128x64xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<128x64xf32, #nc.space<"hbm">>
    %part = nc.address_of @part : memref<128x64xf32, #nc.space<"hbm">>
    %whole = nc.address_of @whole : memref<1x128x64xf32, #nc.space<"hbm">>
    %left = nc.address_of @left : memref<128x64xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x64xf32, #nc.space<"hbm">>
    %a = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    %b = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    %c = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    %d = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %four = arith.constant 4 : index
    nc.dma (%a[0:128 | 64:1 | 0]) = (%x[0:128 * 64 | 64:1 | 0])
    nc.tensor_copy (%b[0:128 | 64:1 | 0]) = (%a[0:128 | 64:1 | 0])
    scf.for %i = %zero to %four step %one {
      nc.tensor_copy (%c[0:128 | 16:1 | 0 + 16 * %i]) = (%b[0:128 | 16:1 | 0 + 16 * %i])
    }
    nc.dma (%left[0:128 * 64 | 64:1 | 0]) = (%c[0:128 | 64:1 | 0])
    nc.dma (%part[0:128 * 64 | 64:1 | 0]) = (%a[0:128 | 64:1 | 0])
    nc.dma (%d[0:128 | 64:1 | 0]) = (%whole[0:128 * 64 | 64:1 | 0])
    nc.dma (%y[0:128 * 64 | 64:1 | 0]) = (%d[0:128 | 64:1 | 0])
    nc.return
  }
}

// CHECK-NOT:  "left"
// CHECK:      nc.func "main"
// CHECK-NOT:  @left
// CHECK-NOT:  arith.constant
// CHECK:      nc.dma ([[A:%[a-z0-9_]+]][0:128 | 64:1 | 0]) = (%x
// CHECK-NEXT: nc.dma (%part[{{.*}}) = ([[A]][
// CHECK-NEXT: nc.dma ([[D:%[a-z0-9_]+]][0:128 | 64:1 | 0]) = (%whole
// CHECK-NEXT: nc.dma (%y[{{.*}}) = ([[D]][
// CHECK-NEXT: nc.return

// STATISTICS: 3 dead instructions
