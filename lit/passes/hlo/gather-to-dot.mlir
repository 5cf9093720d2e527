// RUN: neuron-opt %s -p hlo-gather-to-dot | filecheck %s

// Whole rows of a float32 table: three products with rows of 0 and 1. A few windows of several rows are selected from the table in steps.

// CHECK-LABEL: func.func @main
// CHECK:         hlo.maximum
// CHECK:         hlo.minimum
// CHECK:         %[[I:.*]] = hlo.iota
// CHECK:         %[[E:.*]] = hlo.compare
// CHECK:         %[[O:.*]] = hlo.convert %[[E]] : (tensor<3x10xi1>) -> tensor<3x10xbf16>
// CHECK-COUNT-3: hlo.dot %[[O]], {{.*}} -> tensor<3x4xbf16>
// CHECK:         hlo.slice %t start_indices = [0, 0], limit_indices = [6, 4]
// CHECK:         hlo.slice %t start_indices = [4, 0], limit_indices = [10, 4]
// CHECK:         hlo.select
// CHECK:         hlo.concatenate {{.*}} -> tensor<3x2x4xf32>
// CHECK-NOT:     hlo.gather
func.func @main(%t: tensor<10x4xf32>, %i: tensor<3x1xi32>) -> (tensor<3x4xf32>, tensor<3x2x4xf32>) {
  %0 = hlo.gather %t, %i offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, slice_sizes = [1, 4] : (tensor<10x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  %1 = hlo.gather %t, %i offset_dims = [1, 2], collapsed_slice_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = [2, 4] : (tensor<10x4xf32>, tensor<3x1xi32>) -> tensor<3x2x4xf32>
  func.return %0, %1 : tensor<3x4xf32>, tensor<3x2x4xf32>
}

// The parts of a constant table are constants: it is not split for each request.
// CHECK-LABEL: func.func @constant
// CHECK-NOT:     bitcast_convert
// CHECK:         hlo.constant dense<{{.*}}1.000000e+00{{.*}}> : tensor<2x2xbf16>
// CHECK-COUNT-3: hlo.dot {{.*}}, {{.*}} -> tensor<3x2xbf16>
// CHECK-NOT:     bitcast_convert
// CHECK:         func.return
func.func @constant(%i: tensor<3x1xi32>) -> tensor<3x2xf32> {
  %t = hlo.constant dense<[[1.00390625, 2.0], [3.0, -0.3333333]]> : tensor<2x2xf32>
  %0 = hlo.gather %t, %i offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, slice_sizes = [1, 2] : (tensor<2x2xf32>, tensor<3x1xi32>) -> tensor<3x2xf32>
  func.return %0 : tensor<3x2xf32>
}
