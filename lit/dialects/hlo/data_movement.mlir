// RUN: neuron-opt %s | neuron-opt | filecheck %s

func.func @move(%x: tensor<4x6xf32>, %s: tensor<f32>, %i: tensor<i32>, %u: tensor<2x2xf32>) -> tensor<6x4xf32> {
  // CHECK: hlo.broadcast %x dimensions = [1, 2] : (tensor<4x6xf32>) -> tensor<5x4x6xf32>
  %0 = hlo.broadcast %x dimensions = [1, 2] : (tensor<4x6xf32>) -> tensor<5x4x6xf32>
  // CHECK: hlo.broadcast %s dimensions = [] : (tensor<f32>) -> tensor<3xf32>
  %1 = hlo.broadcast %s dimensions = [] : (tensor<f32>) -> tensor<3xf32>
  // CHECK: hlo.reshape %x : (tensor<4x6xf32>) -> tensor<24xf32>
  %2 = hlo.reshape %x : (tensor<4x6xf32>) -> tensor<24xf32>
  // CHECK: hlo.transpose %x permutation = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %3 = hlo.transpose %x permutation = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  // CHECK: hlo.slice %x start_indices = [0, 1], limit_indices = [4, 6], strides = [1, 2]
  %4 = hlo.slice %x start_indices = [0, 1], limit_indices = [4, 6], strides = [1, 2] : (tensor<4x6xf32>) -> tensor<4x3xf32>
  // CHECK: hlo.pad %x, %s edge_padding_low = [1, 0], edge_padding_high = [0, -2], interior_padding = [1, 0]
  %5 = hlo.pad %x, %s edge_padding_low = [1, 0], edge_padding_high = [0, -2], interior_padding = [1, 0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<8x4xf32>
  // CHECK: hlo.concatenate %x, %x dimension = 0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %6 = hlo.concatenate %x, %x dimension = 0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  // CHECK: hlo.reverse %x dimensions = [0, 1] : tensor<4x6xf32>
  %7 = hlo.reverse %x dimensions = [0, 1] : tensor<4x6xf32>
  // CHECK: hlo.dynamic_slice %x, %i, %i slice_sizes = [2, 3]
  %8 = hlo.dynamic_slice %x, %i, %i slice_sizes = [2, 3] : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  // CHECK: hlo.dynamic_update_slice %x, %u, %i, %i :
  %9 = hlo.dynamic_update_slice %x, %u, %i, %i : (tensor<4x6xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
  // CHECK: hlo.bitcast %x : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %10 = hlo.bitcast %x : (tensor<4x6xf32>) -> tensor<6x4xf32>
  // CHECK: hlo.get_dimension_size %x dimension = 1 : (tensor<4x6xf32>) -> tensor<i32>
  %11 = hlo.get_dimension_size %x dimension = 1 : (tensor<4x6xf32>) -> tensor<i32>
  func.return %3 : tensor<6x4xf32>
}

func.func @indexed(%table: tensor<10x4xf32>, %at: tensor<3x1xi32>, %rows: tensor<3x4xf32>) -> tensor<10x4xf32> {
  // Defaults (no batching dimensions, indices in any order) are not printed.
  // CHECK: hlo.gather %table, %at offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, slice_sizes = [1, 4] :
  %0 = hlo.gather %table, %at offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, slice_sizes = [1, 4] : (tensor<10x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  // CHECK: hlo.scatter %table, %at, %rows update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = true ({
  // CHECK-NEXT: ^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = hlo.scatter %table, %at, %rows update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = true ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : (tensor<10x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<10x4xf32>
  func.return %1 : tensor<10x4xf32>
}
