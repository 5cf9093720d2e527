// neuron-opt -p hlo-gather-to-dot
func.func @main(%i: tensor<3x1xi32>) -> tensor<3x2xbf16> {
  %t = hlo.constant dense<[[1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]> : tensor<2x2xbf16>
  %y = hlo.gather %t, %i offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, slice_sizes = [1, 2] : (tensor<2x2xbf16>, tensor<3x1xi32>) -> tensor<3x2xbf16>
  func.return %y : tensor<3x2xbf16>
}
