// neuron-opt -p hlo-split-batch{target=trn1 strands=2}
func.func @main(%x: tensor<8x128x256xf32>, %w: tensor<256x512xf32>) -> tensor<8x128x512xf32> {
  %d = hlo.dot %x, %w lhs_contracting_dims = [2], rhs_contracting_dims = [0] : (tensor<8x128x256xf32>, tensor<256x512xf32>) -> tensor<8x128x512xf32>
  %e = hlo.exponential %d : tensor<8x128x512xf32>
  func.return %e : tensor<8x128x512xf32>
}
