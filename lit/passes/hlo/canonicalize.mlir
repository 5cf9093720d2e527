// RUN: neuron-opt %s -p hlo-canonicalize | filecheck %s

// The way flax spreads a bias: reshape, broadcast, reshape, broadcast.
// CHECK-LABEL: func.func @bias
// CHECK-NEXT:    %{{.*}} = hlo.broadcast %b dimensions = [2] : (tensor<8xf32>) -> tensor<1x4x8xf32>
// CHECK-NEXT:    func.return
func.func @bias(%b: tensor<8xf32>) -> tensor<1x4x8xf32> {
  %0 = hlo.reshape %b : (tensor<8xf32>) -> tensor<1x1x8xf32>
  %1 = hlo.broadcast %0 dimensions = [0, 1, 2] : tensor<1x1x8xf32>
  %2 = hlo.reshape %1 : (tensor<1x1x8xf32>) -> tensor<1x8xf32>
  %3 = hlo.broadcast %2 dimensions = [0, 2] : (tensor<1x8xf32>) -> tensor<1x4x8xf32>
  func.return %3 : tensor<1x4x8xf32>
}

// Reshapes of ones sink below elementwise ops.
// CHECK-LABEL: func.func @sink
// CHECK:         hlo.rsqrt %v : tensor<8xf32>
// CHECK-NEXT:    %{{.*}} = hlo.broadcast %{{.*}} dimensions = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
func.func @sink(%v: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = hlo.reshape %v : (tensor<8xf32>) -> tensor<1x8xf32>
  %1 = hlo.rsqrt %0 : tensor<1x8xf32>
  %2 = hlo.reshape %1 : (tensor<1x8xf32>) -> tensor<8xf32>
  %3 = hlo.broadcast %2 dimensions = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  func.return %3 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @neutral
// CHECK-NEXT:    func.return %x : tensor<4xf32>
func.func @neutral(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = hlo.constant dense<1.0> : tensor<4xf32>
  %zero = hlo.constant dense<0.0> : tensor<4xf32>
  %low = hlo.constant dense<0xFF800000> : tensor<4xf32>
  %0 = hlo.multiply %x, %one : tensor<4xf32>
  %1 = hlo.add %zero, %0 : tensor<4xf32>
  %2 = hlo.maximum %1, %low : tensor<4xf32>
  %3 = hlo.divide %2, %one : tensor<4xf32>
  func.return %3 : tensor<4xf32>
}

// Only a power of two may be divided by in the other way.
// CHECK-LABEL: func.func @divide
// CHECK:         hlo.constant dense<1.250000e-01>
// CHECK:         hlo.multiply
// CHECK:         hlo.divide
func.func @divide(%x: tensor<4xf32>) -> tensor<4xf32> {
  %eight = hlo.constant dense<8.0> : tensor<4xf32>
  %ten = hlo.constant dense<10.0> : tensor<4xf32>
  %0 = hlo.divide %x, %eight : tensor<4xf32>
  %1 = hlo.divide %0, %ten : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @converts
// CHECK-NEXT:    %[[C:.*]] = hlo.convert %y : (tensor<4xf32>) -> tensor<4xbf16>
// CHECK-NEXT:    hlo.add %x, %[[C]]
func.func @converts(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> tensor<4xbf16> {
  %0 = hlo.convert %x : (tensor<4xbf16>) -> tensor<4xf32>
  %1 = hlo.convert %0 : (tensor<4xf32>) -> tensor<4xbf16>
  %2 = hlo.convert %y : (tensor<4xf32>) -> tensor<4xbf16>
  %3 = hlo.add %1, %2 : tensor<4xbf16>
  func.return %3 : tensor<4xbf16>
}

// Rows at known, evenly spaced places are a slice.
// CHECK-LABEL: func.func @rows
// CHECK-NEXT:    %{{.*}} = hlo.slice %t start_indices = [2, 0], limit_indices = [7, 8], strides = [2, 1]
// CHECK-NEXT:    func.return
func.func @rows(%t: tensor<16x8xf32>) -> tensor<3x8xf32> {
  %i = hlo.constant dense<[[2], [4], [6]]> : tensor<3x1xi32>
  %0 = hlo.gather %t, %i offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, slice_sizes = [1, 8] : (tensor<16x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
  func.return %0 : tensor<3x8xf32>
}

// Positions, the same for each sequence of a batch, are the first rows of their table.
// CHECK-LABEL: func.func @positions
// CHECK-NEXT:    [[ROWS:%.*]] = hlo.slice %t start_indices = [0, 0], limit_indices = [4, 8], strides = [1, 1]
// CHECK-NEXT:    %{{.*}} = hlo.broadcast [[ROWS]] dimensions = [1, 2] : (tensor<4x8xf32>) -> tensor<2x4x8xf32>
// CHECK-NEXT:    func.return
func.func @positions(%t: tensor<16x8xf32>) -> tensor<2x4x8xf32> {
  %line = hlo.iota iota_dimension = 0 : tensor<4xi32>
  %i = hlo.broadcast %line dimensions = [1] : (tensor<4xi32>) -> tensor<2x4x1xi32>
  %0 = hlo.gather %t, %i offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2, slice_sizes = [1, 8] : (tensor<16x8xf32>, tensor<2x4x1xi32>) -> tensor<2x4x8xf32>
  func.return %0 : tensor<2x4x8xf32>
}

// Rows at indices that repeat are looked up once.
// CHECK-LABEL: func.func @repeated
// CHECK:         [[ROWS:%.*]] = hlo.gather %t, %{{.*}} offset_dims = [1], {{.*}} index_vector_dim = 1, {{.*}} -> tensor<4x8xf32>
// CHECK-NEXT:    %{{.*}} = hlo.broadcast [[ROWS]] dimensions = [1, 2] : (tensor<4x8xf32>) -> tensor<2x4x8xf32>
// CHECK-NEXT:    func.return
func.func @repeated(%t: tensor<16x8xf32>, %j: tensor<4xi32>) -> tensor<2x4x8xf32> {
  %i = hlo.broadcast %j dimensions = [1] : (tensor<4xi32>) -> tensor<2x4x1xi32>
  %0 = hlo.gather %t, %i offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2, slice_sizes = [1, 8] : (tensor<16x8xf32>, tensor<2x4x1xi32>) -> tensor<2x4x8xf32>
  func.return %0 : tensor<2x4x8xf32>
}

// A reduction over ones is a reshape.
// CHECK-LABEL: func.func @ones
// CHECK-NEXT:    %{{.*}} = hlo.reshape %p : (tensor<4x1xi1>) -> tensor<4xi1>
// CHECK-NEXT:    func.return
func.func @ones(%p: tensor<4x1xi1>) -> tensor<4xi1> {
  %true = hlo.constant dense<true> : tensor<i1>
  %0 = hlo.reduce %p, %true dimensions = [1] ({
  ^bb0(%l: tensor<i1>, %r: tensor<i1>):
    %s = hlo.and %l, %r : tensor<i1>
    hlo.return %s : tensor<i1>
  }) : (tensor<4x1xi1>, tensor<i1>) -> tensor<4xi1>
  func.return %0 : tensor<4xi1>
}

// Zeros around an image are the convolution's own padding, and -inf that of a maximum; zeros are
// not, as a maximum with them is another.
// CHECK-LABEL: func.func @windows
// CHECK:         %0 = hlo.convolution %x, %k window_strides = [2, 1], padding = [1, 3, 0, 0]
// CHECK:         hlo.reduce_window %0, %inf {{.*}} padding = [0, 0, 1, 2, 0, 0, 0, 0]
// CHECK:         %2 = hlo.pad %0, %zero
// CHECK:         hlo.reduce_window %2, %inf {{.*}} padding = [0, 0, 0, 1, 0, 0, 0, 0]
func.func @windows(%x: tensor<1x8x8x4xf32>, %k: tensor<3x1x4x6xf32>) -> tensor<1x5x8x6xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %inf = hlo.constant dense<0xFF800000> : tensor<f32>
  %0 = hlo.pad %x, %zero edge_padding_low = [0, 1, 0, 0], edge_padding_high = [0, 2, 0, 0], interior_padding = [0, 0, 0, 0] : (tensor<1x8x8x4xf32>, tensor<f32>) -> tensor<1x11x8x4xf32>
  %1 = hlo.convolution %0, %k window_strides = [2, 1], padding = [0, 1, 0, 0], lhs_dilation = [1, 1], rhs_dilation = [1, 1], window_reversal = [0, 0], input_batch_dim = 0, input_feature_dim = 3, input_spatial_dims = [1, 2], kernel_input_feature_dim = 2, kernel_output_feature_dim = 3, kernel_spatial_dims = [0, 1], output_batch_dim = 0, output_feature_dim = 3, output_spatial_dims = [1, 2] : (tensor<1x11x8x4xf32>, tensor<3x1x4x6xf32>) -> tensor<1x5x8x6xf32>
  %2 = hlo.pad %1, %inf edge_padding_low = [0, 1, 0, 0], edge_padding_high = [0, 1, 0, 0], interior_padding = [0, 0, 0, 0] : (tensor<1x5x8x6xf32>, tensor<f32>) -> tensor<1x7x8x6xf32>
  %3 = hlo.reduce_window %2, %inf window_dimensions = [1, 4, 1, 1], window_strides = [1, 1, 1, 1], base_dilations = [1, 1, 1, 1], window_dilations = [1, 1, 1, 1], padding = [0, 0, 0, 1, 0, 0, 0, 0] ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %m = hlo.maximum %l, %r : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<1x7x8x6xf32>, tensor<f32>) -> tensor<1x5x8x6xf32>
  %4 = hlo.pad %1, %zero edge_padding_low = [0, 1, 0, 0], edge_padding_high = [0, 1, 0, 0], interior_padding = [0, 0, 0, 0] : (tensor<1x5x8x6xf32>, tensor<f32>) -> tensor<1x7x8x6xf32>
  %5 = hlo.reduce_window %4, %inf window_dimensions = [1, 4, 1, 1], window_strides = [1, 1, 1, 1], base_dilations = [1, 1, 1, 1], window_dilations = [1, 1, 1, 1], padding = [0, 0, 0, 1, 0, 0, 0, 0] ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %m = hlo.maximum %l, %r : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<1x7x8x6xf32>, tensor<f32>) -> tensor<1x5x8x6xf32>
  %6 = hlo.add %3, %5 : tensor<1x5x8x6xf32>
  func.return %6 : tensor<1x5x8x6xf32>
}

// Rows that were looked up out of range become NaN: the predicate is one value per row, and adding
// -0.0 changes nothing.
// CHECK-LABEL: func.func @missing_rows
// CHECK:         %[[Z:.*]] = hlo.constant dense<-0.000000e+00> : tensor<f32>
// CHECK:         %[[ZS:.*]] = hlo.broadcast %[[Z]] dimensions = [] : (tensor<f32>) -> tensor<4xf32>
// CHECK:         %[[N:.*]] = hlo.constant dense<{{.*}}C07F"> : tensor<f32>
// CHECK:         %[[NS:.*]] = hlo.broadcast %[[N]] dimensions = [] : (tensor<f32>) -> tensor<4xf32>
// CHECK:         %[[S:.*]] = hlo.select %p, %[[ZS]], %[[NS]]
// CHECK:         %[[B:.*]] = hlo.broadcast %[[S]] dimensions = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
// CHECK:         %[[R:.*]] = hlo.add %x, %[[B]]
// CHECK:         func.return %[[R]]
func.func @missing_rows(%p: tensor<4xi1>, %x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %n = hlo.constant dense<0x7FC00000> : tensor<f32>
  %ns = hlo.broadcast %n dimensions = [] : (tensor<f32>) -> tensor<4x8xf32>
  %ps = hlo.broadcast %p dimensions = [0] : (tensor<4xi1>) -> tensor<4x8xi1>
  %0 = hlo.select %ps, %x, %ns : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %0 : tensor<4x8xf32>
}

// A loss reads one element of each row, so the rest of the rows is not computed.
// CHECK-LABEL: func.func @one_of_a_row
// CHECK:         %[[G:.*]] = hlo.gather %x, %i {{.*}} -> tensor<4x1xf32>
// CHECK:         %[[S:.*]] = hlo.reshape %s : (tensor<4xf32>) -> tensor<4x1xf32>
// CHECK:         %[[R:.*]] = hlo.subtract %[[G]], %[[S]]
// CHECK:         func.return %[[R]]
func.func @one_of_a_row(%x: tensor<4x9xf32>, %s: tensor<4xf32>, %i: tensor<4x1x1xi32>) -> tensor<4x1xf32> {
  %b = hlo.broadcast %s dimensions = [0] : (tensor<4xf32>) -> tensor<4x9xf32>
  %d = hlo.subtract %x, %b : tensor<4x9xf32>
  %0 = hlo.gather %d, %i operand_batching_dims = [0], start_indices_batching_dims = [0], offset_dims = [], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 2, slice_sizes = [1, 1] : (tensor<4x9xf32>, tensor<4x1x1xi32>) -> tensor<4x1xf32>
  func.return %0 : tensor<4x1xf32>
}
