// RUN: neuron-opt %s -p 'hlo-gather-to-dot{target="trn1"}' | filecheck %s

// Many indices into a few narrow rows: a dot for the numbers and one for the codes of special values, in f32.

// CHECK-LABEL: func.func @narrow
// CHECK:         %[[E:.*]] = hlo.compare {{.*}} -> tensor<4096x32xi1>
// CHECK:         hlo.dot {{.*}} : (tensor<4096x32xf16>, tensor<32x6xf16>) -> tensor<4096x6xf32>
// CHECK:         hlo.dot {{.*}} : (tensor<4096x32xbf16>, tensor<32x6xbf16>) -> tensor<4096x6xf32>
// CHECK-NOT:     hlo.gather
// CHECK:         func.return
func.func @narrow(%t: tensor<32x6xf16>, %i: tensor<4096x1xi32>) -> tensor<4096x6xf16> {
  %0 = hlo.gather %t, %i offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, slice_sizes = [1, 6] : (tensor<32x6xf16>, tensor<4096x1xi32>) -> tensor<4096x6xf16>
  func.return %0 : tensor<4096x6xf16>
}

// An fp32 table is not split into digits.
// CHECK-LABEL: func.func @single
// CHECK:         hlo.dot {{.*}} : (tensor<4096x32xf32>, tensor<32x6xf32>) -> tensor<4096x6xf32>
// CHECK-NOT:     hlo.gather
// CHECK:         func.return
func.func @single(%t: tensor<32x6xf32>, %i: tensor<4096x1xi32>) -> tensor<4096x6xf32> {
  %0 = hlo.gather %t, %i offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, slice_sizes = [1, 6] : (tensor<32x6xf32>, tensor<4096x1xi32>) -> tensor<4096x6xf32>
  func.return %0 : tensor<4096x6xf32>
}

// Few indices, wide rows, more rows than partitions, single elements and integers stay.
// CHECK-LABEL: func.func @stay
// CHECK-COUNT-5: hlo.gather
// CHECK-NOT:     hlo.dot
// CHECK:         func.return
func.func @stay(%t: tensor<32x6xf32>, %i: tensor<128x1xi32>, %w: tensor<32x512xf32>, %j: tensor<4096x1xi32>, %m: tensor<129x6xf32>, %e: tensor<32x1xf32>, %n: tensor<32x6xi32>) -> (tensor<128x6xf32>, tensor<4096x512xf32>, tensor<4096x6xf32>, tensor<4096x1xf32>, tensor<4096x6xi32>) {
  %0 = hlo.gather %t, %i offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, slice_sizes = [1, 6] : (tensor<32x6xf32>, tensor<128x1xi32>) -> tensor<128x6xf32>
  %1 = hlo.gather %w, %j offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, slice_sizes = [1, 512] : (tensor<32x512xf32>, tensor<4096x1xi32>) -> tensor<4096x512xf32>
  %2 = hlo.gather %m, %j offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, slice_sizes = [1, 6] : (tensor<129x6xf32>, tensor<4096x1xi32>) -> tensor<4096x6xf32>
  %3 = hlo.gather %e, %j offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, slice_sizes = [1, 1] : (tensor<32x1xf32>, tensor<4096x1xi32>) -> tensor<4096x1xf32>
  %4 = hlo.gather %n, %j offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, slice_sizes = [1, 6] : (tensor<32x6xi32>, tensor<4096x1xi32>) -> tensor<4096x6xi32>
  func.return %0, %1, %2, %3, %4 : tensor<128x6xf32>, tensor<4096x512xf32>, tensor<4096x6xf32>, tensor<4096x1xf32>, tensor<4096x6xi32>
}
