// RUN: neuron-opt %s --verify-diagnostics --split-input-file

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{operand dimension 0 of size 2 cannot become result dimension 0 of size 3}}
  %r = hlo.broadcast %x dimensions = [0] : (tensor<2xf32>) -> tensor<3x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{dimensions [2] must be distinct dimensions below the rank 2}}
  %r = hlo.broadcast %x dimensions = [2] : (tensor<2xf32>) -> tensor<3x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{tensor<2x3xf32> has 6 elements, tensor<7xf32> has 7}}
  %r = hlo.reshape %x : (tensor<2x3xf32>) -> tensor<7xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{permutation [0, 0] must permute the dimensions of tensor<2x3xf32>}}
  %r = hlo.transpose %x permutation = [0, 0] : tensor<2x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{range [1:5] must lie within dimension 0 of size 4}}
  %r = hlo.slice %x start_indices = [1], limit_indices = [5], strides = [1] : tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{stride 0 of dimension 0 must be positive}}
  %r = hlo.slice %x start_indices = [0], limit_indices = [4], strides = [0] : tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error@+1 {{result type must be tensor<6xf32>, is tensor<5xf32>}}
  %r = hlo.pad %x, %s edge_padding_low = [1], edge_padding_high = [1], interior_padding = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error@+1 {{interior_padding [-1] must not be negative}}
  %r = hlo.pad %x, %s edge_padding_low = [1], edge_padding_high = [1], interior_padding = [-1] : (tensor<4xf32>, tensor<f32>) -> tensor<5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error@+1 {{input 1 of type tensor<2x4xf32> must agree with tensor<2x3xf32> but in 0}}
  %r = hlo.concatenate %x, %y dimension = 0 : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %i: tensor<i32>) {
  // expected-error@+1 {{there must be 2 start indices, one a dimension}}
  %r = hlo.dynamic_slice %x, %i slice_sizes = [1, 1] : (tensor<2x3xf32>, tensor<i32>) -> tensor<1x1xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2xf32>, %u: tensor<3xf32>, %i: tensor<i32>) {
  // expected-error@+1 {{update size 3 of dimension 0 must be within 2}}
  %r = hlo.dynamic_update_slice %x, %u, %i : (tensor<2xf32>, tensor<3xf32>, tensor<i32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @f(%t: tensor<10x4xf32>, %at: tensor<3x1xi32>) {
  // expected-error@+1 {{slice size of collapsed dimension 0 must be 1, is 2}}
  %r = hlo.gather %t, %at offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, slice_sizes = [2, 4] : (tensor<10x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{dimensions [1] must be distinct dimensions below the rank 1}}
  %r = hlo.reverse %x dimensions = [1] : tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{dimension 1 must be below the rank 1}}
  %r = hlo.get_dimension_size %x dimension = 1 : (tensor<4xf32>) -> tensor<i32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{padding_value must be tensor<f32>, is tensor<4xf32>}}
  %r = hlo.pad %x, %x edge_padding_low = [0], edge_padding_high = [0], interior_padding = [0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{padding leaves dimension 0 with -1 elements}}
  %r = hlo.pad %x, %z edge_padding_low = [-5], edge_padding_high = [0], interior_padding = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{a start index must be an integer scalar, is tensor<f32>}}
  %r = hlo.dynamic_slice %x, %i slice_sizes = [2] : (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %i: tensor<i32>) {
  // expected-error@+1 {{slice size 5 of dimension 0 must be within 4}}
  %r = hlo.dynamic_slice %x, %i slice_sizes = [5] : (tensor<4xf32>, tensor<i32>) -> tensor<5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %u: tensor<5xf32>, %i: tensor<i32>) {
  // expected-error@+1 {{update size 5 of dimension 0 must be within 4}}
  %r = hlo.dynamic_update_slice %x, %u, %i : (tensor<4xf32>, tensor<5xf32>, tensor<i32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %i: tensor<2x1xf32>) {
  // expected-error@+1 {{start_indices must be integers, are tensor<2x1xf32>}}
  %r = hlo.gather %x, %i offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, slice_sizes = [1] : (tensor<4xf32>, tensor<2x1xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %i: tensor<2x1xi32>, %u: tensor<3xf32>) {
  // expected-error@+1 {{update tensor<3xf32> must have the dimensions [2] of indices}}
  %r = hlo.scatter %x, %i, %u update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1 ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : (tensor<4xf32>, tensor<2x1xi32>, tensor<3xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{element types of tensor<2xf32> and tensor<3x2xf64> must agree}}
  %r = hlo.broadcast %x dimensions = [1] : (tensor<2xf32>) -> tensor<3x2xf64>
  func.return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{dimensions [0, 1] must have 1 entries}}
  %r = hlo.broadcast %x dimensions = [0, 1] : (tensor<2xf32>) -> tensor<2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{tensor<2xf32> has 8 bytes, tensor<3xi32> has 12}}
  %r = hlo.bitcast %x : (tensor<2xf32>) -> tensor<3xi32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{limit_indices [4, 4] must have 1 entries}}
  %r = hlo.slice %x start_indices = [0], limit_indices = [4, 4], strides = [1] : tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{edge_padding_low [] must have 1 entries}}
  %r = hlo.pad %x, %z edge_padding_low = [], edge_padding_high = [0], interior_padding = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f() {
  // expected-error@+1 {{there must be at least one input}}
  %r = hlo.concatenate dimension = 0 : () -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %i: tensor<i32>) {
  // expected-error@+1 {{slice_sizes [2, 2] must have 1 entries}}
  %r = hlo.dynamic_slice %x, %i slice_sizes = [2, 2] : (tensor<4xf32>, tensor<i32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %u: tensor<2x2xf32>, %i: tensor<i32>) {
  // expected-error@+1 {{update dimensions [2, 2] must have 1 entries}}
  %r = hlo.dynamic_update_slice %x, %u, %i : (tensor<4xf32>, tensor<2x2xf32>, tensor<i32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %u: tensor<2xf64>, %i: tensor<i32>) {
  // expected-error@+1 {{element types of tensor<4xf32> and tensor<2xf64> must agree}}
  %r = hlo.dynamic_update_slice %x, %u, %i : (tensor<4xf32>, tensor<2xf64>, tensor<i32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%t: tensor<10x4xf32>, %at: tensor<3x1xi32>) {
  // expected-error@+1 {{index_vector_dim 3 must be at most 2}}
  %r = hlo.gather %t, %at offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3, slice_sizes = [1, 4] : (tensor<10x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  func.return
}

// -----

func.func @f(%t: tensor<10x4xf32>, %at: tensor<3x1xi32>) {
  // expected-error@+1 {{collapsed_slice_dims and operand_batching_dims [0, 0] must be distinct dimensions below the rank 2}}
  %r = hlo.gather %t, %at offset_dims = [1], collapsed_slice_dims = [0, 0], start_index_map = [0], index_vector_dim = 1, slice_sizes = [1, 4] : (tensor<10x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  func.return
}

// -----

func.func @f(%t: tensor<10x4xf32>, %at: tensor<3x1xi32>) {
  // expected-error@+1 {{start_index_map [2] must be distinct dimensions below the rank 2}}
  %r = hlo.gather %t, %at offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [2], index_vector_dim = 1, slice_sizes = [1, 4] : (tensor<10x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  func.return
}

// -----

func.func @f(%t: tensor<10x4xf32>, %at: tensor<3x1xi32>) {
  // expected-error@+1 {{start_index_map [0, 1] must have 1 entries, one an index}}
  %r = hlo.gather %t, %at offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1, slice_sizes = [1, 4] : (tensor<10x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  func.return
}

// -----

func.func @f(%t: tensor<3x10x4xf32>, %at: tensor<3x1xi32>) {
  // expected-error@+1 {{start_indices_batching_dims [] must have 1 entries}}
  %r = hlo.gather %t, %at offset_dims = [1], collapsed_slice_dims = [1], start_index_map = [1], operand_batching_dims = [0], start_indices_batching_dims = [], index_vector_dim = 1, slice_sizes = [1, 1, 4] : (tensor<3x10x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  func.return
}

// -----

func.func @f(%t: tensor<10x4xf32>, %at: tensor<3x1xi32>) {
  // expected-error@+1 {{offset_dims [0, 1] must have 1 entries}}
  %r = hlo.gather %t, %at offset_dims = [0, 1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, slice_sizes = [1, 4] : (tensor<10x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  func.return
}

// -----

func.func @f(%t: tensor<10x4xf32>, %at: tensor<3x1xi32>) {
  // expected-error@+1 {{offset_dims [2] must be distinct dimensions below the rank 2}}
  %r = hlo.gather %t, %at offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, slice_sizes = [1, 4] : (tensor<10x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  func.return
}
