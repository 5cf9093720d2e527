// neuron-opt -p hlo-scale-results,hlo-dce
func.func @main(%x: tensor<2x8xf32>, %q: tensor<8x4xi8>, %s: tensor<4xf32>) -> tensor<2x4xf32> {
  %f = hlo.convert %q : (tensor<8x4xi8>) -> tensor<8x4xf32>
  %sb = hlo.broadcast %s dimensions = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
  %w = hlo.multiply %f, %sb : tensor<8x4xf32>
  %r = hlo.dot %x, %w lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  func.return %r : tensor<2x4xf32>
}
