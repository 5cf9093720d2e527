// neuron-opt -p tile-pad-axes{target=trn1}
func.func @main(%x: tensor<197x64xf32>, %y: tensor<197x64xf32>) -> tensor<64x64xf32> {
  %d = hlo.dot %x, %y lhs_contracting_dims = [0], rhs_contracting_dims = [0] : (tensor<197x64xf32>, tensor<197x64xf32>) -> tensor<64x64xf32>
  func.return %d : tensor<64x64xf32>
}
