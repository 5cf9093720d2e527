// neuron-opt -p hlo-widen-products
func.func @main(%x: tensor<4x8xbf16>, %w: tensor<8x2xbf16>) -> tensor<4x2xbf16> {
  %y = hlo.dot %x, %w lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<4x8xbf16>, tensor<8x2xbf16>) -> tensor<4x2xbf16>
  %z = hlo.tanh %y : tensor<4x2xbf16>
  func.return %z : tensor<4x2xbf16>
}
