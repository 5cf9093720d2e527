// RUN: neuron-opt %s --load %S/Inputs/exchange.py -p 'nc-verify-order,@nc-order,nc-verify-order,nc-spill,nc-assign-banks,nc-allocate,nc-split-transfers,nc-verify-order,nc-synchronise,nc-verify-order' | filecheck %s --check-prefix=RIGHT
// RUN: neuron-opt %s --load %S/Inputs/exchange.py -p 'nc-verify-order,test-exchange{a=2 b=3},nc-verify-order' | filecheck %s --check-prefix=HARMLESS
// RUN: status 1 neuron-opt %s --load %S/Inputs/exchange.py -p 'nc-verify-order,test-exchange{a=5 b=6},nc-verify-order' 2>&1 | filecheck %s --check-prefix=EVICTION
// RUN: status 1 neuron-opt %s --load %S/Inputs/exchange.py -p 'nc-verify-order,test-exchange{a=7 b=8},nc-verify-order' 2>&1 | filecheck %s --check-prefix=OUTPUT
// RUN: status 1 neuron-opt %s --load %S/Inputs/exchange.py -p 'nc-verify-order,test-exchange{a=8 b=8},nc-verify-order' 2>&1 | filecheck %s --check-prefix=OUTPUT

// The machine can do all of these programs; only one of them adds up all three products.

// RIGHT: neuronir.phase = "synchronised"
// HARMLESS: nc.dma (%a
// EVICTION: error: [NIR_NC011] nc.activation reads other values than in the order before
// OUTPUT: error: [NIR_NC011] output @y does not end with the values of the order before

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<128x384xbf16, #nc.space<"hbm">> index 0
  nc.variable "v" : "input" memref<128x384xbf16, #nc.space<"hbm">> index 1
  nc.variable "y" : "output" memref<128x128xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<128x384xbf16, #nc.space<"hbm">>
    %v = nc.address_of @v : memref<128x384xbf16, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x128xf32, #nc.space<"hbm">>
    %a = nc.alloc : memref<128x384xbf16, #nc.space<"sbuf">>
    %b = nc.alloc : memref<128x384xbf16, #nc.space<"sbuf">>
    %sum = nc.alloc : memref<128x128xf32, #nc.space<"psum">>
    %out = nc.alloc : memref<128x128xf32, #nc.space<"sbuf">>
    %zero = nc.alloc : memref<128x128xf32, #nc.space<"sbuf">>
    nc.dma (%a[0:128 | 384:1 | 0]) = (%x[0:128 * 384 | 384:1 | 0])
    nc.dma (%b[0:128 | 384:1 | 0]) = (%v[0:128 * 384 | 384:1 | 0])
    nc.memset (%zero[0:128 | 128:1 | 0]) = () {value = 0.0}
    nc.matmul (%sum[0:128 | 128:1 | 0]) = (%a[0:128 | 128:1 | 0], %b[0:128 | 128:1 | 0]) {accumulate = 0}
    nc.matmul (%sum[0:128 | 128:1 | 0]) = (%a[0:128 | 128:1 | 128], %b[0:128 | 128:1 | 128]) {accumulate = 1}
    nc.matmul (%sum[0:128 | 128:1 | 0]) = (%a[0:128 | 128:1 | 256], %b[0:128 | 128:1 | 256]) {accumulate = 1}
    nc.activation (%out[0:128 | 128:1 | 0], none) = (%sum[0:128 | 128:1 | 0], none, none) {func = "copy"}
    nc.dma (%y[0:128 * 128 | 128:1 | 0]) = (%zero[0:128 | 128:1 | 0])
    nc.dma (%y[0:128 * 128 | 128:1 | 0]) = (%out[0:128 | 128:1 | 0])
    nc.return
  }
}
