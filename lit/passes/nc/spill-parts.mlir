// RUN: neuron-opt %s -p "nc-spill{sbuf=8192}" | filecheck %s
// RUN: neuron-opt %s -p "nc-spill{sbuf=8192},nc-allocate{sbuf=8192},nc-synchronise,nc-verify-machine" --pass-statistics -o /dev/null 2>&1 | filecheck %s --check-prefix=STAT
// RUN: neuron-opt %s -p "nc-spill{sbuf=8192 parts=false},nc-allocate{sbuf=8192},nc-synchronise,nc-verify-machine" --pass-statistics -o /dev/null 2>&1 | filecheck %s --check-prefix=WHOLE

// %both is written as one and read in halves, the second of them by nobody after it was spilled. Only the
// first half is stored and comes back, in a buffer of its own; and it comes back without the other half.
// %late is loaded before there is room for it: it is loaded later instead, once.

// CHECK-NOT: nc.dma (%late
// CHECK:     nc.variable "[[V:spill[0-9]+]]" : "spill" memref<128x1024xf32, #nc.space<"hbm">>
// CHECK:     nc.dma (%both_spill[0:128 * 1024 | 512:1 | 0]) = (%both[0:128 | 512:1 | 0]) on dma{{[0-9]+}} attributes {nc.spill}
// CHECK:     nc.dma (%both_reload[0:128 | 512:1 | 0]) = (%both_spill[0:128 * 1024 | 512:1 | 0]) on dma{{[0-9]+}} attributes {nc.spill}
// CHECK:     nc.tensor_tensor (%d[0:128 | 512:1 | 0]) = (%d[0:128 | 512:1 | 0], %both_reload[0:128 | 512:1 | 0])

// STAT: 262144 bytes filled again
// STAT: 786432 bytes moved, of parts of buffers where that is less
// STAT: 1310720 bytes moved, of whole buffers
// STAT: 1 fills that come later instead
// STAT: 1 parts of buffers
// STAT: 262144 spill bytes loaded
// STAT: 262144 spill bytes stored

// WHOLE: 524288 spill bytes loaded
// WHOLE: 524288 spill bytes stored

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "ordered"} {
  nc.variable "x" : "input" memref<128x1024xf32, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<128x512xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<128x1024xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x512xf32, #nc.space<"hbm">>
    %in = nc.alloc : memref<128x512xf32, #nc.space<"sbuf">>
    %both = nc.alloc : memref<128x1024xf32, #nc.space<"sbuf">>
    %late = nc.alloc : memref<128x512xf32, #nc.space<"sbuf">>
    %a = nc.alloc : memref<128x512xf32, #nc.space<"sbuf">>
    %b = nc.alloc : memref<128x512xf32, #nc.space<"sbuf">>
    %c = nc.alloc : memref<128x512xf32, #nc.space<"sbuf">>
    %d = nc.alloc : memref<128x512xf32, #nc.space<"sbuf">>
    nc.dma (%in[0:128 | 512:1 | 0]) = (%x[0:128 * 1024 | 512:1 | 0]) on dma1
    nc.tensor_tensor (%both[0:128 | 2:512, 512:1 | 0]) = (%in[0:128 | 2:0, 512:1 | 0], %in[0:128 | 2:0, 512:1 | 0]) {op = "add"} on dve
    nc.dma (%late[0:128 | 512:1 | 0]) = (%x[0:128 * 1024 | 512:1 | 512]) on dma1
    nc.activation (%a[0:128 | 512:1 | 0], none) = (%both[0:128 | 512:1 | 512], none, none) {func = "exp"} on act
    nc.activation (%b[0:128 | 512:1 | 0], none) = (%a[0:128 | 512:1 | 0], none, none) {func = "exp"} on act
    nc.tensor_tensor (%c[0:128 | 512:1 | 0]) = (%a[0:128 | 512:1 | 0], %b[0:128 | 512:1 | 0]) {op = "add"} on dve
    nc.tensor_tensor (%d[0:128 | 512:1 | 0]) = (%c[0:128 | 512:1 | 0], %b[0:128 | 512:1 | 0]) {op = "add"} on dve
    nc.tensor_tensor (%d[0:128 | 512:1 | 0]) = (%d[0:128 | 512:1 | 0], %a[0:128 | 512:1 | 0]) {op = "add"} on dve
    nc.tensor_tensor (%d[0:128 | 512:1 | 0]) = (%d[0:128 | 512:1 | 0], %both[0:128 | 512:1 | 0]) {op = "add"} on dve
    nc.tensor_tensor (%d[0:128 | 512:1 | 0]) = (%d[0:128 | 512:1 | 0], %late[0:128 | 512:1 | 0]) {op = "add"} on dve
    nc.dma (%y[0:128 * 512 | 512:1 | 0]) = (%d[0:128 | 512:1 | 0]) on dma4
    nc.return
  }
}
