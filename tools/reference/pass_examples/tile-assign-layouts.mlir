// neuron-opt -p tile-assign-layouts{target=trn1}
func.func @main(%x: tensor<256x64xf32>, %w: tensor<64x512xf32>) -> tensor<256x512xf32> {
  %y = hlo.dot %x, %w lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<256x64xf32>, tensor<64x512xf32>) -> tensor<256x512xf32>
  func.return %y : tensor<256x512xf32>
}
