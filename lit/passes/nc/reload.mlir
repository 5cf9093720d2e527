// RUN: neuron-opt %s -p 'nc-verify-order,nc-unroll,nc-split-loads,nc-assign-engines,nc-rotate{sbuf=1024},nc-prefetch{sbuf=1024},nc-pipeline{sbuf=1024},nc-reload-weights{sbuf=1024},nc-schedule{sbuf=1024},nc-verify-order' | filecheck %s

// With no room for a ring of weights, each use of a weight loads it again; an instruction that reads it twice does so
// once. (Two loads for one instruction were an internal error.)

// CHECK:      (%{{.*}}) = (%w[
// CHECK:      (%{{.*}}) = (%w[
// CHECK:      nc.return
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "w" : "constant" memref<128x4xf32, #nc.space<"hbm">>
  nc.variable "y" : "output" memref<128x512xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %w = nc.address_of @w : memref<128x4xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x512xf32, #nc.space<"hbm">>
    %a = nc.alloc "stream" : memref<128x4xf32, #nc.space<"sbuf">>
    %r = nc.alloc : memref<128x512xf32, #nc.space<"sbuf">>
    nc.dma (%a[0:128 | 4:1 | 0]) = (%w[0:128 * 4 | 4:1 | 0])
    nc.tensor_tensor (%r[0:128 | 512:1 | 0]) = (%a[0:128 | 512:0 | 0], %a[0:128 | 512:0 | 1]) {op = "multiply"}
    nc.tensor_tensor (%r[0:128 | 512:1 | 0]) = (%a[0:128 | 512:0 | 0], %a[0:128 | 512:0 | 1]) {op = "multiply"}
    nc.tensor_tensor (%r[0:128 | 512:1 | 0]) = (%a[0:128 | 512:0 | 0], %a[0:128 | 512:0 | 1]) {op = "multiply"}
    nc.tensor_tensor (%r[0:128 | 512:1 | 0]) = (%a[0:128 | 512:0 | 0], %a[0:128 | 512:0 | 1]) {op = "multiply"}
    nc.tensor_tensor (%r[0:128 | 512:1 | 0]) = (%a[0:128 | 512:0 | 0], %a[0:128 | 512:0 | 1]) {op = "multiply"}
    nc.tensor_tensor (%r[0:128 | 512:1 | 0]) = (%a[0:128 | 512:0 | 0], %a[0:128 | 512:0 | 1]) {op = "multiply"}
    nc.tensor_tensor (%r[0:128 | 512:1 | 0]) = (%a[0:128 | 512:0 | 0], %a[0:128 | 512:0 | 1]) {op = "multiply"}
    nc.tensor_tensor (%r[0:128 | 512:1 | 0]) = (%a[0:128 | 512:0 | 0], %a[0:128 | 512:0 | 1]) {op = "multiply"}
    nc.tensor_tensor (%r[0:128 | 512:1 | 0]) = (%a[0:128 | 512:0 | 0], %a[0:128 | 512:0 | 1]) {op = "multiply"}
    nc.tensor_tensor (%r[0:128 | 512:1 | 0]) = (%a[0:128 | 512:0 | 0], %a[0:128 | 512:0 | 1]) {op = "multiply"}
    nc.tensor_tensor (%r[0:128 | 512:1 | 0]) = (%a[0:128 | 512:0 | 0], %a[0:128 | 512:0 | 1]) {op = "multiply"}
    nc.tensor_tensor (%r[0:128 | 512:1 | 0]) = (%a[0:128 | 512:0 | 0], %a[0:128 | 512:0 | 1]) {op = "multiply"}
    nc.dma (%y[0:128 * 512 | 512:1 | 0]) = (%r[0:128 | 512:1 | 0])
    nc.return
  }
}
