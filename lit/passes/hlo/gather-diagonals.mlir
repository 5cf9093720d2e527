// RUN: neuron-opt %s -p 'hlo-gather-diagonals' | filecheck %s

// The bias of 24 queries and 40 keys by their difference: 63 rows, then a window of 40 a query.
// CHECK-LABEL: func.func @bias
// CHECK:         %[[L:.*]] = hlo.gather %x, %{{.*}} offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, slice_sizes = [1, 8] : (tensor<63x8xf32>, tensor<63x1xi32>) -> tensor<63x8xf32>
// CHECK-NEXT:    %[[T:.*]] = hlo.transpose %[[L]] permutation = [1, 0] : (tensor<63x8xf32>) -> tensor<8x63xf32>
// CHECK-NEXT:    %[[W:.*]] = hlo.gather %[[T]], %{{.*}} offset_dims = [1, 2], collapsed_slice_dims = [], start_index_map = [1], index_vector_dim = 1, slice_sizes = [8, 40] : (tensor<8x63xf32>, tensor<24x1xi32>) -> tensor<24x8x40xf32>
// CHECK-NEXT:    %{{.*}} = hlo.transpose %[[W]] permutation = [0, 2, 1] : (tensor<24x8x40xf32>) -> tensor<24x40x8xf32>
func.func @bias(%x: tensor<63x8xf32>) -> tensor<24x40x8xf32> {
  %q = hlo.iota iota_dimension = 0 : tensor<24x40x1xi32>
  %k = hlo.iota iota_dimension = 1 : tensor<24x40x1xi32>
  %d = hlo.subtract %k, %q : tensor<24x40x1xi32>
  %r = hlo.gather %x, %d offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2, slice_sizes = [1, 8] : (tensor<63x8xf32>, tensor<24x40x1xi32>) -> tensor<24x40x8xf32>
  func.return %r : tensor<24x40x8xf32>
}

// A sum is constant along the other diagonals; what an argument moves is not known.
// CHECK-LABEL: func.func @stay
// CHECK-NOT:     hlo.transpose
// CHECK:         func.return
func.func @stay(%x: tensor<63x8xf32>, %i: tensor<24x40x1xi32>) -> (tensor<24x40x8xf32>, tensor<24x40x8xf32>) {
  %q = hlo.iota iota_dimension = 0 : tensor<24x40x1xi32>
  %k = hlo.iota iota_dimension = 1 : tensor<24x40x1xi32>
  %s = hlo.add %k, %q : tensor<24x40x1xi32>
  %d = hlo.subtract %k, %i : tensor<24x40x1xi32>
  %0 = hlo.gather %x, %s offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2, slice_sizes = [1, 8] : (tensor<63x8xf32>, tensor<24x40x1xi32>) -> tensor<24x40x8xf32>
  %1 = hlo.gather %x, %d offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2, slice_sizes = [1, 8] : (tensor<63x8xf32>, tensor<24x40x1xi32>) -> tensor<24x40x8xf32>
  func.return %0, %1 : tensor<24x40x8xf32>, tensor<24x40x8xf32>
}
