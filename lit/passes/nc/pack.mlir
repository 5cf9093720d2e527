// RUN: neuron-opt %s -p "nc-allocate{sbuf=2568}" --pass-statistics -o /dev/null 2>&1 | filecheck %s
// RUN: not neuron-opt %s -p "nc-allocate{sbuf=2568 search=0}" -o /dev/null 2>&1 | filecheck %s --check-prefix=GREEDY

// Twelve buffers that fill SBUF without a gap. Putting them down one by one leaves gaps, in every
// order that is tried; a search finds the packing.

// CHECK: 2568 sbuf bytes per partition
// CHECK: 2568 sbuf bytes per partition that are live at once
// CHECK: 64 sbuf bytes per partition that the search saves
// GREEDY: error: [NCC_EOOM002]

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "ordered"} {
  nc.variable "y" : "output" memref<128x1xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %y = nc.address_of @y : memref<128x1xf32, #nc.space<"hbm">>
    %sum = nc.alloc : memref<128x1xf32, #nc.space<"sbuf">>
    %b0 = nc.alloc : memref<128x240xf32, #nc.space<"sbuf">>
    %b1 = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    %b2 = nc.alloc : memref<128x80xf32, #nc.space<"sbuf">>
    %b3 = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    %b4 = nc.alloc : memref<128x96xf32, #nc.space<"sbuf">>
    %b5 = nc.alloc : memref<128x128xf32, #nc.space<"sbuf">>
    %b6 = nc.alloc : memref<128x16xf32, #nc.space<"sbuf">>
    %b7 = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    %b8 = nc.alloc : memref<128x304xf32, #nc.space<"sbuf">>
    %b9 = nc.alloc : memref<128x192xf32, #nc.space<"sbuf">>
    %b10 = nc.alloc : memref<128x48xf32, #nc.space<"sbuf">>
    %b11 = nc.alloc : memref<128x288xf32, #nc.space<"sbuf">>
    nc.memset (%sum[0:128 | 1:1 | 0]) = () {value = 0.0} on dve
    nc.memset (%b1[0:128 | 64:1 | 0]) = () {value = 1.0} on dve
    nc.memset (%b6[0:128 | 16:1 | 0]) = () {value = 6.0} on dve
    nc.memset (%b7[0:128 | 64:1 | 0]) = () {value = 7.0} on dve
    nc.memset (%b8[0:128 | 304:1 | 0]) = () {value = 8.0} on dve
    nc.memset (%b9[0:128 | 192:1 | 0]) = () {value = 9.0} on dve
    nc.tensor_tensor (%sum[0:128 | 1:1 | 0]) = (%sum[0:128 | 1:1 | 0], %b8[0:128 | 1:1 | 303]) {op = "add"} on dve
    nc.memset (%b0[0:128 | 240:1 | 0]) = () {value = 0.0} on dve
    nc.memset (%b3[0:128 | 64:1 | 0]) = () {value = 3.0} on dve
    nc.tensor_tensor (%sum[0:128 | 1:1 | 0]) = (%sum[0:128 | 1:1 | 0], %b1[0:128 | 1:1 | 63]) {op = "add"} on dve
    nc.tensor_tensor (%sum[0:128 | 1:1 | 0]) = (%sum[0:128 | 1:1 | 0], %b6[0:128 | 1:1 | 15]) {op = "add"} on dve
    nc.tensor_tensor (%sum[0:128 | 1:1 | 0]) = (%sum[0:128 | 1:1 | 0], %b9[0:128 | 1:1 | 191]) {op = "add"} on dve
    nc.memset (%b4[0:128 | 96:1 | 0]) = () {value = 4.0} on dve
    nc.memset (%b5[0:128 | 128:1 | 0]) = () {value = 5.0} on dve
    nc.memset (%b10[0:128 | 48:1 | 0]) = () {value = 10.0} on dve
    nc.tensor_tensor (%sum[0:128 | 1:1 | 0]) = (%sum[0:128 | 1:1 | 0], %b0[0:128 | 1:1 | 239]) {op = "add"} on dve
    nc.tensor_tensor (%sum[0:128 | 1:1 | 0]) = (%sum[0:128 | 1:1 | 0], %b3[0:128 | 1:1 | 63]) {op = "add"} on dve
    nc.tensor_tensor (%sum[0:128 | 1:1 | 0]) = (%sum[0:128 | 1:1 | 0], %b7[0:128 | 1:1 | 63]) {op = "add"} on dve
    nc.memset (%b2[0:128 | 80:1 | 0]) = () {value = 2.0} on dve
    nc.memset (%b11[0:128 | 288:1 | 0]) = () {value = 11.0} on dve
    nc.tensor_tensor (%sum[0:128 | 1:1 | 0]) = (%sum[0:128 | 1:1 | 0], %b2[0:128 | 1:1 | 79]) {op = "add"} on dve
    nc.tensor_tensor (%sum[0:128 | 1:1 | 0]) = (%sum[0:128 | 1:1 | 0], %b4[0:128 | 1:1 | 95]) {op = "add"} on dve
    nc.tensor_tensor (%sum[0:128 | 1:1 | 0]) = (%sum[0:128 | 1:1 | 0], %b5[0:128 | 1:1 | 127]) {op = "add"} on dve
    nc.tensor_tensor (%sum[0:128 | 1:1 | 0]) = (%sum[0:128 | 1:1 | 0], %b10[0:128 | 1:1 | 47]) {op = "add"} on dve
    nc.tensor_tensor (%sum[0:128 | 1:1 | 0]) = (%sum[0:128 | 1:1 | 0], %b11[0:128 | 1:1 | 287]) {op = "add"} on dve
    nc.dma (%y[0:128 * 1 | 1:1 | 0]) = (%sum[0:128 | 1:1 | 0]) on dma4
    nc.return
  }
}
