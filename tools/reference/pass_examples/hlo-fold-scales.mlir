// neuron-opt -p hlo-fold-scales,hlo-dce
func.func @main(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %w = hlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %y = hlo.dot %x, %w lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %s = hlo.constant dense<[10.0, 100.0]> : tensor<2xf32>
  %b = hlo.broadcast %s dimensions = [1] : (tensor<2xf32>) -> tensor<4x2xf32>
  %z = hlo.multiply %y, %b : tensor<4x2xf32>
  func.return %z : tensor<4x2xf32>
}
