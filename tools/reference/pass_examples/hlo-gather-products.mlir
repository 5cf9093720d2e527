// neuron-opt -p hlo-gather-products,hlo-dce
func.func @main(%x: tensor<4x3xf32>, %table: tensor<64x3xf32>, %word: tensor<4x1xi32>) -> tensor<4xf32> {
  %d = hlo.dot %x, %table lhs_contracting_dims = [1], rhs_contracting_dims = [1] : (tensor<4x3xf32>, tensor<64x3xf32>) -> tensor<4x64xf32>
  %y = hlo.gather %d, %word operand_batching_dims = [0], start_indices_batching_dims = [0], offset_dims = [], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1, slice_sizes = [1, 1] : (tensor<4x64xf32>, tensor<4x1xi32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
