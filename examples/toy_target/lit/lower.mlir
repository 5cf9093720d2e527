// RUN: neuron-opt %s -p 'toy1-lower' | filecheck %s
// RUN: neuron-opt %s -p 'toy1-lower,@nc-order,nc-assign-banks,nc-allocate,nc-synchronise,nc-verify-machine' > %t

// The rows of the product lie in the free dimension, its columns on partitions, where the bias has a value each.
// CHECK: nc.variable "arg0" : "input" memref<32x96xf32
// CHECK: nc.dma ({{.*}}[0:64 | 32:1 | 0]) = ({{.*}}[0:64 * 1 | 32:96 | 0])
// CHECK: nc.dma ({{.*}}[0:32 | 32:1 | 0]) = ({{.*}}[0:32 * 1 | 32:96 | 64])
// CHECK: nc.matmul {{.*}}{accumulate = 0} on pe
// CHECK: nc.matmul {{.*}}{accumulate = 1} on pe
// CHECK: nc.tensor_scalar {{.*}}{op0 = "add"} on dve
// CHECK: nc.tensor_scalar {{.*}}{op0 = "max", imm0 = 0.000000e+00} on dve
// CHECK-NOT: on act
func.func @main(%x: tensor<32x96xf32>, %w: tensor<96x10xbf16>, %b: tensor<10xf32>) -> tensor<32x10xf32> {
  %h = hlo.convert %x : (tensor<32x96xf32>) -> tensor<32x96xbf16>
  %p = hlo.dot %h, %w lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<32x96xbf16>, tensor<96x10xbf16>) -> tensor<32x10xf32>
  %c = hlo.broadcast %b dimensions = [1] : (tensor<10xf32>) -> tensor<32x10xf32>
  %s = hlo.add %p, %c : tensor<32x10xf32>
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %z = hlo.broadcast %zero dimensions = [] : (tensor<f32>) -> tensor<32x10xf32>
  %r = hlo.maximum %s, %z : tensor<32x10xf32>
  func.return %r : tensor<32x10xf32>
}
