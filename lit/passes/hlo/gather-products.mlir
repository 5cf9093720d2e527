// RUN: neuron-opt %s -p hlo-gather-products,hlo-dce | filecheck %s

// The logits of a loss are reduced, and one of each row is read: the gather needs a row of the table.
// CHECK-LABEL: func.func @loss
// CHECK:         %[[D:.*]] = hlo.dot %x, %table
// CHECK:         hlo.reduce %[[D]]
// CHECK:         %[[ROWS:.*]] = hlo.gather %table, %word {{.*}} slice_sizes = [1, 3] : {{.*}} -> tensor<4x3xf32>
// CHECK:         %[[P:.*]] = hlo.multiply %[[ROWS]], %x
// CHECK:         hlo.reduce %[[P]], {{.*}} dimensions = [1]
func.func @loss(%x: tensor<4x3xf32>, %table: tensor<64x3xf32>, %word: tensor<4x1xi32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %d = hlo.dot %x, %table lhs_contracting_dims = [1], rhs_contracting_dims = [1] : (tensor<4x3xf32>, tensor<64x3xf32>) -> tensor<4x64xf32>
  %low = hlo.constant dense<0xFF800000> : tensor<f32>
  %m = hlo.reduce %d, %low dimensions = [1] ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = hlo.maximum %a, %b : tensor<f32>
    hlo.return %c : tensor<f32>
  }) : (tensor<4x64xf32>, tensor<f32>) -> tensor<4xf32>
  %y = hlo.gather %d, %word operand_batching_dims = [0], start_indices_batching_dims = [0], offset_dims = [], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1, slice_sizes = [1, 1] : (tensor<4x64xf32>, tensor<4x1xi32>) -> tensor<4xf32>
  func.return %m, %y : tensor<4xf32>, tensor<4xf32>
}

// Logits that are results are stored in any case.
// CHECK-LABEL: func.func @logits
// CHECK:         %[[D:.*]] = hlo.dot %x, %table
// CHECK:         hlo.gather %[[D]], %word
func.func @logits(%x: tensor<4x3xf32>, %table: tensor<64x3xf32>, %word: tensor<4x1xi32>) -> (tensor<4x64xf32>, tensor<4xf32>) {
  %d = hlo.dot %x, %table lhs_contracting_dims = [1], rhs_contracting_dims = [1] : (tensor<4x3xf32>, tensor<64x3xf32>) -> tensor<4x64xf32>
  %y = hlo.gather %d, %word operand_batching_dims = [0], start_indices_batching_dims = [0], offset_dims = [], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1, slice_sizes = [1, 1] : (tensor<4x64xf32>, tensor<4x1xi32>) -> tensor<4xf32>
  func.return %d, %y : tensor<4x64xf32>, tensor<4xf32>
}
