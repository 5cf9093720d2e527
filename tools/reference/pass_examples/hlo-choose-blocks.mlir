// neuron-opt -p hlo-choose-blocks{target=trn1}
func.func @main(%x: tensor<2048x2048xbf16>, %y: tensor<2048x2048xbf16>) -> tensor<2048x2048xbf16> {
  %d = hlo.dot %x, %y lhs_contracting_dims = [1], rhs_contracting_dims = [0] : tensor<2048x2048xbf16>
  func.return %d : tensor<2048x2048xbf16>
}
