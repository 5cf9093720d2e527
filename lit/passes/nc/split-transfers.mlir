// RUN: neuron-opt %s --split-input-file -p "@nc-order,nc-assign-banks,nc-allocate,nc-split-transfers" | filecheck %s
// RUN: neuron-opt %s --split-input-file -p "@nc-order,nc-assign-banks,nc-allocate,nc-split-transfers{piece=0}" | filecheck %s --check-prefix=WHOLE
// RUN: neuron-opt %s --split-input-file -p "@nc-order,nc-assign-banks,nc-allocate,nc-split-transfers" --pass-statistics -o /dev/null 2>&1 | filecheck %s --check-prefix=STATISTICS

// Two rows of 4 KiB a partition, 1 MiB: two pieces to load, one for each row, and two to store. The
// stream stays whole, and so do the 1,024 elements of a partition that lie side by side.

// CHECK: nc.dma (%w[0:128 | 2:1024, 1024:1 | 0])
// CHECK: nc.dma (%a[0:128 | 1024:1 | 0]) = (%x[0:128 * 2048 | 1024:1 | 0])
// CHECK: nc.dma (%a[0:128 | 1024:1 | 1024]) = (%x[0:128 * 2048 | 1024:1 | 1024])
// CHECK: nc.dma (%y[0:128 * 2048 | 1024:1 | 0])
// CHECK: nc.dma (%y[0:128 * 2048 | 1024:1 | 1024])
// WHOLE: nc.dma (%a[0:128 | 2:1024, 1024:1 | 0])
// WHOLE: nc.dma (%y[0:128 * 2048 | 2:1024, 1024:1 | 0])
// STATISTICS: nc-split-transfers
// STATISTICS: pieces
// STATISTICS: transfers in pieces

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<128x2048xf32, #nc.space<"hbm">> index 0
  nc.variable "v" : "input" memref<128x2048xf32, #nc.space<"hbm">> index 1
  nc.variable "y" : "output" memref<128x2048xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<128x2048xf32, #nc.space<"hbm">>
    %v = nc.address_of @v : memref<128x2048xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x2048xf32, #nc.space<"hbm">>
    %a = nc.alloc : memref<128x2048xf32, #nc.space<"sbuf">>
    %w = nc.alloc "stream" : memref<128x2048xf32, #nc.space<"sbuf">>
    %b = nc.alloc : memref<128x2048xf32, #nc.space<"sbuf">>
    nc.dma (%a[0:128 | 2:1024, 1024:1 | 0]) = (%x[0:128 * 2048 | 2:1024, 1024:1 | 0])
    nc.dma (%w[0:128 | 2:1024, 1024:1 | 0]) = (%v[0:128 * 2048 | 2:1024, 1024:1 | 0])
    nc.tensor_tensor (%b[0:128 | 2048:1 | 0]) = (%a[0:128 | 2048:1 | 0], %w[0:128 | 2048:1 | 0]) {op = "add"} on dve
    nc.dma (%y[0:128 * 2048 | 2:1024, 1024:1 | 0]) = (%b[0:128 | 2:1024, 1024:1 | 0])
    nc.return
  }
}

// -----

// Rows of 4 KiB are not shortened, and in loops only stores are split.

// CHECK: nc.dma (%line[0:128 | 1024:1 | 0])
// CHECK: scf.for
// CHECK: nc.dma (%tile[0:128 | 2:1024, 1024:1 | 0])
// CHECK: nc.dma (%y[0:128 * 2048 | 1024:1 | 0
// CHECK: nc.dma (%y[0:128 * 2048 | 1024:1 | 1024

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "l" : "input" memref<128x1024xf32, #nc.space<"hbm">> index 0
  nc.variable "x" : "input" memref<8192x2048xf32, #nc.space<"hbm">> index 1
  nc.variable "y" : "output" memref<8192x2048xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %l = nc.address_of @l : memref<128x1024xf32, #nc.space<"hbm">>
    %x = nc.address_of @x : memref<8192x2048xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<8192x2048xf32, #nc.space<"hbm">>
    %line = nc.alloc : memref<128x1024xf32, #nc.space<"sbuf">>
    nc.dma (%line[0:128 | 1024:1 | 0]) = (%l[0:128 * 1024 | 1024:1 | 0])
    %zero = arith.constant 0 : index
    %trips = arith.constant 64 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %trips step %one {
      %tile = nc.alloc : memref<128x2048xf32, #nc.space<"sbuf">>
      nc.dma (%tile[0:128 | 2:1024, 1024:1 | 0]) = (%x[0:128 * 2048 | 2:1024, 1024:1 | 0 + 262144 * %i])
      nc.tensor_tensor (%tile[0:128 | 2:1024, 1024:1 | 0]) = (%tile[0:128 | 2:1024, 1024:1 | 0], %line[0:128 | 2:0, 1024:1 | 0]) {op = "add"} on dve
      nc.dma (%y[0:128 * 2048 | 2:1024, 1024:1 | 0 + 262144 * %i]) = (%tile[0:128 | 2:1024, 1024:1 | 0])
    } {nc.rolled}
    nc.return
  }
}

// -----

// Rows of 8 KiB a partition, 1 MiB each, are cut themselves.

// CHECK: nc.dma (%wide[0:128 | 1024:1 | 0]) = (%x[0:128 * 4096 | 1024:1 | 0])
// CHECK: nc.dma (%wide[0:128 | 1024:1 | 1024]) = (%x[0:128 * 4096 | 1024:1 | 1024])
// CHECK: nc.dma (%wide[0:128 | 1024:1 | 2048]) = (%x[0:128 * 4096 | 1024:1 | 2048])
// CHECK: nc.dma (%wide[0:128 | 1024:1 | 3072]) = (%x[0:128 * 4096 | 1024:1 | 3072])

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<128x4096xf32, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<128x1xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<128x4096xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x1xf32, #nc.space<"hbm">>
    %wide = nc.alloc : memref<128x4096xf32, #nc.space<"sbuf">>
    %sum = nc.alloc : memref<128x1xf32, #nc.space<"sbuf">>
    nc.dma (%wide[0:128 | 2:2048, 2048:1 | 0]) = (%x[0:128 * 4096 | 2:2048, 2048:1 | 0])
    nc.tensor_reduce (%sum[0:128 | 1:1 | 0]) = (%wide[0:128 | 4096:1 | 0]) {op = "add", axes = 1} on dve
    nc.dma (%y[0:128 * 1 | 1:1 | 0]) = (%sum[0:128 | 1:1 | 0])
    nc.return
  }
}

// -----

// Not split: a load whose ends distribute the elements differently over partitions, so that their
// rows are not the same elements; a store whose rows share one element, which accumulates; and a
// store to overlapping partitions, of which the last one counts.

// CHECK: nc.dma (%other[0:128 | 128:16, 16:1 | 0]) = (%x[0:1 * 262144 | 128:2048, 2048:1 | 0])
// CHECK: nc.dma (%added[0:128 * 4096 | 2:1023, 1024:1 | 0])
// CHECK: nc.dma (%last[0:128 * 1024 | 2:1024, 1024:1 | 0])

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<128x2048xf32, #nc.space<"hbm">> index 0
  nc.variable "added" : "output" memref<128x4096xf32, #nc.space<"hbm">> index 0
  nc.variable "last" : "output" memref<129x1024xf32, #nc.space<"hbm">> index 1
  nc.func "main" {
    %x = nc.address_of @x : memref<128x2048xf32, #nc.space<"hbm">>
    %added = nc.address_of @added : memref<128x4096xf32, #nc.space<"hbm">>
    %last = nc.address_of @last : memref<129x1024xf32, #nc.space<"hbm">>
    %other = nc.alloc : memref<128x2048xf32, #nc.space<"sbuf">>
    nc.dma (%other[0:128 | 128:16, 16:1 | 0]) = (%x[0:1 * 262144 | 128:2048, 2048:1 | 0])
    nc.dma (%added[0:128 * 4096 | 2:1023, 1024:1 | 0]) = (%other[0:128 | 2:1024, 1024:1 | 0]) {accumulate = "add"}
    nc.dma (%last[0:128 * 1024 | 2:1024, 1024:1 | 0]) = (%other[0:128 | 2:1024, 1024:1 | 0])
    nc.return
  }
}

// -----

// A conversion on the way: the rows of 4 KiB in fp32 are the finer ones, not those of 2 KiB in bf16.

// CHECK: nc.dma (%a[0:128 | 1024:1 | 0]) = (%x[0:128 * 2048 | 1024:1 | 0])
// CHECK: nc.dma (%a[0:128 | 1024:1 | 1024]) = (%x[0:128 * 2048 | 1024:1 | 1024])

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<128x2048xf32, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<128x2048xbf16, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<128x2048xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x2048xbf16, #nc.space<"hbm">>
    %a = nc.alloc : memref<128x2048xbf16, #nc.space<"sbuf">>
    %b = nc.alloc : memref<128x2048xbf16, #nc.space<"sbuf">>
    nc.dma (%a[0:128 | 2:1024, 1024:1 | 0]) = (%x[0:128 * 2048 | 2:1024, 1024:1 | 0])
    nc.tensor_tensor (%b[0:128 | 2048:1 | 0]) = (%a[0:128 | 2048:1 | 0], %a[0:128 | 2048:1 | 0]) {op = "add"} on dve
    nc.dma (%y[0:128 * 2048 | 2048:1 | 0]) = (%b[0:128 | 2048:1 | 0])
    nc.return
  }
}
