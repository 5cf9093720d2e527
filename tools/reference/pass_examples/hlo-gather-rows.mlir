// neuron-opt -p hlo-gather-rows{target=trn1}
func.func @main(%x: tensor<512x1000xf32>, %i: tensor<300x1xi32>) -> tensor<512x300xf32> {
  %r = hlo.gather %x, %i offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1, slice_sizes = [512, 1] : (tensor<512x1000xf32>, tensor<300x1xi32>) -> tensor<512x300xf32>
  func.return %r : tensor<512x300xf32>
}
