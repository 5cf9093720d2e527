// RUN: neuron-opt %s -p 'hlo-gather-rows{target="trn1"}' | filecheck %s

// Columns become rows: 512 elements are one descriptor.
// CHECK-LABEL: func.func @columns
// CHECK:         %[[T:.*]] = hlo.transpose %x permutation = [1, 0] : (tensor<512x1000xf32>) -> tensor<1000x512xf32>
// CHECK:         %[[G:.*]] = hlo.gather %[[T]], %i offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, slice_sizes = [1, 512] : {{.*}} -> tensor<300x512xf32>
// CHECK:         hlo.transpose %[[G]] permutation = [1, 0] : (tensor<300x512xf32>) -> tensor<512x300xf32>
func.func @columns(%x: tensor<512x1000xf32>, %i: tensor<300x1xi32>) -> tensor<512x300xf32> {
  %r = hlo.gather %x, %i offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1, slice_sizes = [512, 1] : (tensor<512x1000xf32>, tensor<300x1xi32>) -> tensor<512x300xf32>
  func.return %r : tensor<512x300xf32>
}

// Two indices, in the other order, choose in dimensions 1 and 2; one of them stays.
// CHECK-LABEL: func.func @two
// CHECK:         %[[T:.*]] = hlo.transpose %x permutation = [1, 2, 0] : (tensor<300x40x50xf32>) -> tensor<40x50x300xf32>
// CHECK:         %[[G:.*]] = hlo.gather %[[T]], %i offset_dims = [2, 3], collapsed_slice_dims = [1], start_index_map = [1, 0], index_vector_dim = 2, slice_sizes = [1, 1, 300] : {{.*}} -> tensor<30x20x1x300xf32>
// CHECK:         hlo.transpose %[[G]] permutation = [3, 0, 2, 1] : (tensor<30x20x1x300xf32>) -> tensor<300x30x1x20xf32>
func.func @two(%x: tensor<300x40x50xf32>, %i: tensor<30x20x2xi32>) -> tensor<300x30x1x20xf32> {
  %r = hlo.gather %x, %i offset_dims = [0, 2], collapsed_slice_dims = [2], start_index_map = [2, 1], index_vector_dim = 2, slice_sizes = [300, 1, 1] : (tensor<300x40x50xf32>, tensor<30x20x2xi32>) -> tensor<300x30x1x20xf32>
  func.return %r : tensor<300x30x1x20xf32>
}

// The outer dimension becomes part of the index: 4 x 30 rows of a matrix.
// CHECK-LABEL: func.func @indexed
// CHECK:         %[[M:.*]] = hlo.reshape %x : (tensor<4x100x1000xf32>) -> tensor<400x1000xf32>
// CHECK:         %[[N:.*]] = hlo.add {{.*}} : tensor<4x30xi32>
// CHECK:         %[[I:.*]] = hlo.reshape %[[N]] : (tensor<4x30xi32>) -> tensor<120x1xi32>
// CHECK:         %[[G:.*]] = hlo.gather %[[M]], %[[I]] offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, slice_sizes = [1, 1000] : {{.*}} -> tensor<120x1000xf32>
// CHECK:         hlo.reshape %[[G]] : (tensor<120x1000xf32>) -> tensor<4x30x1000xf32>
func.func @indexed(%x: tensor<4x100x1000xf32>, %i: tensor<30x1xi32>) -> tensor<4x30x1000xf32> {
  %r = hlo.gather %x, %i offset_dims = [0, 2], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1, slice_sizes = [4, 1, 1000] : (tensor<4x100x1000xf32>, tensor<30x1xi32>) -> tensor<4x30x1000xf32>
  func.return %r : tensor<4x30x1000xf32>
}

// So do the rows that a scatter sets; those out of bounds lie beyond the matrix.
// CHECK-LABEL: func.func @set
// CHECK:         %[[B:.*]] = hlo.constant dense<400> : tensor<i32>
// CHECK:         hlo.select {{.*}} : (tensor<30xi1>, tensor<30xi32>, tensor<30xi32>) -> tensor<30xi32>
// CHECK:         hlo.scatter {{.*}} update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1
// CHECK:         }) : (tensor<400x1000xf32>, tensor<120x1xi32>, tensor<120x1000xf32>) -> tensor<400x1000xf32>
func.func @set(%x: tensor<4x100x1000xf32>, %i: tensor<30x1xi32>, %u: tensor<4x30x1000xf32>) -> tensor<4x100x1000xf32> {
  %r = hlo.scatter %x, %i, %u update_window_dims = [0, 2], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1 ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    hlo.return %b : tensor<f32>
  }) : (tensor<4x100x1000xf32>, tensor<30x1xi32>, tensor<4x30x1000xf32>) -> tensor<4x100x1000xf32>
  func.return %r : tensor<4x100x1000xf32>
}

// Rows, few elements, and a batch stay.
// CHECK-LABEL: func.func @stay
// CHECK-NOT:     hlo.transpose
// CHECK:         func.return
func.func @stay(%x: tensor<512x1000xf32>, %i: tensor<300x1xi32>, %j: tensor<2x1xi32>, %k: tensor<512x7x1xi32>) -> (tensor<300x1000xf32>, tensor<512x2xf32>, tensor<512x7xf32>) {
  %0 = hlo.gather %x, %i offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, slice_sizes = [1, 1000] : (tensor<512x1000xf32>, tensor<300x1xi32>) -> tensor<300x1000xf32>
  %1 = hlo.gather %x, %j offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1, slice_sizes = [512, 1] : (tensor<512x1000xf32>, tensor<2x1xi32>) -> tensor<512x2xf32>
  %2 = hlo.gather %x, %k offset_dims = [], operand_batching_dims = [0], start_indices_batching_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 2, slice_sizes = [1, 1] : (tensor<512x1000xf32>, tensor<512x7x1xi32>) -> tensor<512x7xf32>
  func.return %0, %1, %2 : tensor<300x1000xf32>, tensor<512x2xf32>, tensor<512x7xf32>
}
