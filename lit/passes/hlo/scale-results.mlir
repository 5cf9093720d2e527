// RUN: neuron-opt %s -p hlo-scale-results,hlo-dce | filecheck %s

// The zero point stays with the weights, whose differences from it are exact in bf16.

// CHECK:      %f = hlo.convert %q
// CHECK-NEXT: %zb = hlo.broadcast %z dimensions = [1]
// CHECK-NEXT: %d = hlo.subtract %f, %zb
// CHECK-NEXT: %[[D:.*]] = hlo.dot %x, %d
// CHECK-NEXT: %[[S:.*]] = hlo.broadcast %s dimensions = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %[[R:.*]] = hlo.multiply %[[D]], %[[S]]
// CHECK-NEXT: func.return %[[R]]
func.func @main(%x: tensor<2x8xf32>, %q: tensor<8x4xi8>, %z: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<2x4xf32> {
  %f = hlo.convert %q : (tensor<8x4xi8>) -> tensor<8x4xf32>
  %zb = hlo.broadcast %z dimensions = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
  %d = hlo.subtract %f, %zb : tensor<8x4xf32>
  %sb = hlo.broadcast %s dimensions = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
  %w = hlo.multiply %d, %sb : tensor<8x4xf32>
  %r = hlo.dot %x, %w lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  func.return %r : tensor<2x4xf32>
}
