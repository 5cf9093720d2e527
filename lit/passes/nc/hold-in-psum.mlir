// DVE multiplies two operands from SBUF at half its rate, and reads %t and %u from PSUM at its full one. %v stays in
// SBUF, because only one operand may be in PSUM; so do %x, which a transfer writes, and %h, which is bf16.
// RUN: neuron-opt %s -p 'nc-hold-in-psum' | filecheck %s
// RUN: neuron-opt %s -p 'nc-hold-in-psum' --pass-statistics 2>&1 >%t | filecheck %s --check-prefix=STATISTICS
// RUN: neuron-opt %s -p 'nc-hold-in-psum{banks=1}' | filecheck %s --check-prefix=FEW
// RUN: neuron-opt %s -p 'nc-hold-in-psum,@nc-order,nc-assign-banks,nc-allocate,nc-synchronise,nc-verify-machine' >%t

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<128x1024xf32, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<128x1024xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %xs = nc.address_of @x : memref<128x1024xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x1024xf32, #nc.space<"hbm">>
    %x = nc.alloc : memref<128x1024xf32, #nc.space<"sbuf">>
    %t = nc.alloc : memref<128x1024xf32, #nc.space<"sbuf">>
    %u = nc.alloc : memref<128x1024xf32, #nc.space<"sbuf">>
    %v = nc.alloc : memref<128x1024xf32, #nc.space<"sbuf">>
    %h = nc.alloc : memref<128x1024xbf16, #nc.space<"sbuf">>
    %z = nc.alloc : memref<128x1024xf32, #nc.space<"sbuf">>
    nc.dma (%x[0:128 | 1024:1 | 0]) = (%xs[0:128 * 1024 | 1024:1 | 0])
    nc.activation (%t[0:128 | 1024:1 | 0], none) = (%x[0:128 | 1024:1 | 0], none, none) {func = "tanh"} on act
    nc.tensor_tensor (%u[0:128 | 1024:1 | 0]) = (%x[0:128 | 1024:1 | 0], %t[0:128 | 1024:1 | 0]) {op = "multiply"} on dve
    nc.tensor_tensor (%v[0:128 | 1024:1 | 0]) = (%u[0:128 | 1024:1 | 0], %x[0:128 | 1024:1 | 0]) {op = "multiply"} on dve
    nc.tensor_tensor (%h[0:128 | 1024:1 | 0]) = (%u[0:128 | 1024:1 | 0], %v[0:128 | 1024:1 | 0]) {op = "add"} on dve
    nc.tensor_tensor (%z[0:128 | 1024:1 | 0]) = (%h[0:128 | 1024:1 | 0], %x[0:128 | 1024:1 | 0]) {op = "add"} on dve
    nc.dma (%y[0:128 * 1024 | 1024:1 | 0]) = (%z[0:128 | 1024:1 | 0])
    nc.return
  }
}

// CHECK-DAG: %x = nc.alloc : memref<128x1024xf32, #nc.space<"sbuf">>
// CHECK-DAG: %t = nc.alloc : memref<128x1024xf32, #nc.space<"psum">>
// CHECK-DAG: %u = nc.alloc : memref<128x1024xf32, #nc.space<"psum">>
// CHECK-DAG: %v = nc.alloc : memref<128x1024xf32, #nc.space<"sbuf">>
// CHECK-DAG: %h = nc.alloc : memref<128x1024xbf16, #nc.space<"sbuf">>
// CHECK-DAG: %z = nc.alloc : memref<128x1024xf32, #nc.space<"sbuf">>

// STATISTICS: {{[1-9][0-9]+}} ns of DVE saved, one iteration of each loop
// STATISTICS: 2 values held in PSUM

// FEW-NOT:   "psum"
