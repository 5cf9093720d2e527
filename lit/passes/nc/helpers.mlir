// RUN: neuron-opt %s -p @nc-order --split-input-file | filecheck %s
// RUN: neuron-opt %s -p @nc-order --split-input-file --pass-statistics -o /dev/null 2>&1 | filecheck %s --check-prefix=STAT

// SP would only start two loads per iteration, which takes longer than all other work: PE starts
// one of them. If moving the bytes takes longer, SP starts both.

// CHECK: scf.for
// CHECK: nc.dma (%a{{.*}}) = (%x[{{.*}}) on dma15 by pe
// CHECK: nc.dma (%b{{.*}}) = (%w[{{.*}}) on dma2{{$}}
// CHECK: scf.for
// CHECK: nc.dma (%a{{.*}}) = (%x[{{.*}}) on dma1{{$}}
// CHECK: nc.dma (%b{{.*}}) = (%w[{{.*}}) on dma2{{$}}

// STAT: loads that PE starts

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<6400x2xf32, #nc.space<"hbm">> index 0
  nc.variable "w" : "input" memref<6400x2xf32, #nc.space<"hbm">> index 1
  nc.variable "y" : "output" memref<6400x2xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<6400x2xf32, #nc.space<"hbm">>
    %w = nc.address_of @w : memref<6400x2xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<6400x2xf32, #nc.space<"hbm">>
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %trips = arith.constant 50 : index
    scf.for %i = %zero to %trips step %one {
      %a = nc.alloc : memref<128x2xf32, #nc.space<"sbuf">>
      %b = nc.alloc : memref<128x2xf32, #nc.space<"sbuf">>
      %c = nc.alloc : memref<128x2xf32, #nc.space<"sbuf">>
      nc.dma (%a[0:128 | 2:1 | 0]) = (%x[0:128 * 2 | 2:1 | 0 + 256 * %i])
      nc.dma (%b[0:128 | 2:1 | 0]) = (%w[0:128 * 2 | 2:1 | 0 + 256 * %i])
      nc.tensor_tensor (%c[0:128 | 2:1 | 0]) = (%a[0:128 | 2:1 | 0], %b[0:128 | 2:1 | 0]) {op = "add"}
      nc.dma (%y[0:128 * 2 | 2:1 | 0 + 256 * %i]) = (%c[0:128 | 2:1 | 0])
    }
    nc.return
  }
}

// -----

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<6400x1024xf32, #nc.space<"hbm">> index 0
  nc.variable "w" : "input" memref<6400x1024xf32, #nc.space<"hbm">> index 1
  nc.variable "y" : "output" memref<6400x1024xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<6400x1024xf32, #nc.space<"hbm">>
    %w = nc.address_of @w : memref<6400x1024xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<6400x1024xf32, #nc.space<"hbm">>
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %trips = arith.constant 50 : index
    scf.for %i = %zero to %trips step %one {
      %a = nc.alloc : memref<128x1024xf32, #nc.space<"sbuf">>
      %b = nc.alloc : memref<128x1024xf32, #nc.space<"sbuf">>
      %c = nc.alloc : memref<128x1024xf32, #nc.space<"sbuf">>
      nc.dma (%a[0:128 | 1024:1 | 0]) = (%x[0:128 * 1024 | 1024:1 | 0 + 131072 * %i])
      nc.dma (%b[0:128 | 1024:1 | 0]) = (%w[0:128 * 1024 | 1024:1 | 0 + 131072 * %i])
      nc.tensor_tensor (%c[0:128 | 1024:1 | 0]) = (%a[0:128 | 1024:1 | 0], %b[0:128 | 1024:1 | 0]) {op = "add"}
      nc.dma (%y[0:128 * 1024 | 1024:1 | 0 + 131072 * %i]) = (%c[0:128 | 1024:1 | 0])
    }
    nc.return
  }
}
