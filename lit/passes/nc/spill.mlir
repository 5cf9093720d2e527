// RUN: neuron-opt %s -p "nc-spill{sbuf=8192}" | filecheck %s
// RUN: neuron-opt %s -p "nc-spill{sbuf=8192},nc-allocate{sbuf=8192},nc-synchronise,nc-verify-machine" --pass-statistics -o /dev/null 2>&1 | filecheck %s --check-prefix=STAT
// RUN: neuron-opt %s -p "nc-spill{sbuf=8192 rematerialise=false}" --pass-statistics -o /dev/null 2>&1 | filecheck %s --check-prefix=STORED
// RUN: neuron-opt %s -p "nc-spill{sbuf=65536}" | filecheck %s --check-prefix=FITS
// RUN: not neuron-opt %s -p "nc-spill{sbuf=4096}" 2>&1 | filecheck %s --check-prefix=NEVER
// RUN: not neuron-opt %s -p "nc-allocate{sbuf=8192}" 2>&1 | filecheck %s --check-prefix=OFF

// Six buffers of 2 KiB are needed where four fit; those with the furthest next use are spilled. A
// buffer filled with a constant value is filled again, one loaded from an input is loaded again,
// and a computed one is stored and reloaded.

// CHECK: nc.variable "[[V:spill[0-9]+]]" : "spill" memref<128x512xf32, #nc.space<"hbm">>
// CHECK: nc.dma (%sum_spill[0:128 * 512 | 512:1 | 0]) = (%sum[0:128 | 512:1 | 0]) on dma12 attributes {nc.spill}
// CHECK: nc.memset (%zeros_reload[0:128 | 512:1 | 0]) = () {value = 0.000000e+00} on dve attributes {nc.spill}
// CHECK: nc.dma (%in_reload[0:128 | 512:1 | 0]) = (%x[0:128 * 512 | 512:1 | 0]) on dma1 attributes {nc.spill}
// CHECK: nc.dma (%sum_reload[0:128 | 512:1 | 0]) = (%sum_spill[0:128 * 512 | 512:1 | 0]) on dma8 attributes {nc.spill}
// CHECK: nc.tensor_tensor (%d[0:128 | 512:1 | 0]) = (%d[0:128 | 512:1 | 0], %sum_reload[0:128 | 512:1 | 0])
// CHECK: nc.tensor_tensor (%d[0:128 | 512:1 | 0]) = (%d[0:128 | 512:1 | 0], %in_reload[0:128 | 512:1 | 0])
// CHECK: nc.tensor_tensor (%d[0:128 | 512:1 | 0]) = (%d[0:128 | 512:1 | 0], %zeros_reload[0:128 | 512:1 | 0])

// STAT: 2 buffers filled again
// STAT: 524288 bytes filled again
// STAT: 1 iterations
// STAT: 262144 spill bytes loaded
// STAT: 262144 spill bytes stored
// STORED-NOT: filled again
// STORED: 786432 spill bytes loaded
// STORED: 786432 spill bytes stored

// Functions that fit are not changed. Buffers that one instruction needs at once cannot be spilled,
// and nc-allocate reports by how much a program is too large.

// FITS-NOT: nc.spill
// NEVER: error: [NCC_EOOM002] SBUF is too small
// OFF: error: [NCC_EOOM002] SBUF is too small: 14336 bytes per partition are needed, 8192 are available (6144 too many)

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "ordered"} {
  nc.variable "x" : "input" memref<128x512xf32, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<128x512xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<128x512xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x512xf32, #nc.space<"hbm">>
    %zeros = nc.alloc : memref<128x512xf32, #nc.space<"sbuf">>
    %in = nc.alloc : memref<128x512xf32, #nc.space<"sbuf">>
    %sum = nc.alloc : memref<128x512xf32, #nc.space<"sbuf">>
    %a = nc.alloc : memref<128x512xf32, #nc.space<"sbuf">>
    %b = nc.alloc : memref<128x512xf32, #nc.space<"sbuf">>
    %c = nc.alloc : memref<128x512xf32, #nc.space<"sbuf">>
    %d = nc.alloc : memref<128x512xf32, #nc.space<"sbuf">>
    nc.memset (%zeros[0:128 | 512:1 | 0]) = () {value = 0.0} on dve
    nc.dma (%in[0:128 | 512:1 | 0]) = (%x[0:128 * 512 | 512:1 | 0]) on dma1
    nc.tensor_tensor (%sum[0:128 | 512:1 | 0]) = (%zeros[0:128 | 512:1 | 0], %in[0:128 | 512:1 | 0]) {op = "add"} on dve
    nc.activation (%a[0:128 | 512:1 | 0], none) = (%sum[0:128 | 512:1 | 0], none, none) {func = "exp"} on act
    nc.activation (%b[0:128 | 512:1 | 0], none) = (%a[0:128 | 512:1 | 0], none, none) {func = "exp"} on act
    nc.tensor_tensor (%c[0:128 | 512:1 | 0]) = (%a[0:128 | 512:1 | 0], %b[0:128 | 512:1 | 0]) {op = "add"} on dve
    nc.tensor_tensor (%d[0:128 | 512:1 | 0]) = (%c[0:128 | 512:1 | 0], %b[0:128 | 512:1 | 0]) {op = "add"} on dve
    nc.tensor_tensor (%d[0:128 | 512:1 | 0]) = (%d[0:128 | 512:1 | 0], %a[0:128 | 512:1 | 0]) {op = "add"} on dve
    nc.tensor_tensor (%d[0:128 | 512:1 | 0]) = (%d[0:128 | 512:1 | 0], %sum[0:128 | 512:1 | 0]) {op = "add"} on dve
    nc.tensor_tensor (%d[0:128 | 512:1 | 0]) = (%d[0:128 | 512:1 | 0], %in[0:128 | 512:1 | 0]) {op = "add"} on dve
    nc.tensor_tensor (%d[0:128 | 512:1 | 0]) = (%d[0:128 | 512:1 | 0], %zeros[0:128 | 512:1 | 0]) {op = "add"} on dve
    nc.dma (%y[0:128 * 512 | 512:1 | 0]) = (%d[0:128 | 512:1 | 0]) on dma4
    nc.return
  }
}
