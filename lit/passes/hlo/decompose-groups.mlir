// RUN: neuron-opt %s -p hlo-decompose | filecheck %s

// Small groups become one filter with zeros between them; a part of the batch for each group of
// outputs becomes features first.

// CHECK-LABEL: func.func @features
// CHECK:         %[[W:.*]] = hlo.constant dense<{{.*}}[2.000000e+00, 0.000000e+00], [0.000000e+00, 3.000000e+00]{{.*}}> : tensor<1x1x2x2xf32>
// CHECK:         hlo.convolution %x, %[[W]] {{.*}} : (tensor<1x4x4x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x4x4x2xf32>
// CHECK-NOT:     feature_group_count
func.func @features(%x: tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32> {
  %w = hlo.constant dense<[[[[2.0, 3.0]]]]> : tensor<1x1x1x2xf32>
  %c = hlo.convolution %x, %w window_strides = [1, 1], padding = [0, 0, 0, 0], lhs_dilation = [1, 1], rhs_dilation = [1, 1], window_reversal = [0, 0], input_batch_dim = 0, input_feature_dim = 3, input_spatial_dims = [1, 2], kernel_input_feature_dim = 2, kernel_output_feature_dim = 3, kernel_spatial_dims = [0, 1], output_batch_dim = 0, output_feature_dim = 3, output_spatial_dims = [1, 2], feature_group_count = 2 : (tensor<1x4x4x2xf32>, tensor<1x1x1x2xf32>) -> tensor<1x4x4x2xf32>
  func.return %c : tensor<1x4x4x2xf32>
}

// CHECK-LABEL: func.func @batch
// CHECK:         %[[X:.*]] = hlo.reshape {{.*}} -> tensor<1x4x4x6xf32>
// CHECK:         hlo.select
// CHECK:         hlo.convolution %[[X]], {{.*}} : (tensor<1x4x4x6xf32>, tensor<1x1x6x4xf32>) -> tensor<1x4x4x4xf32>
func.func @batch(%x: tensor<2x4x4x3xf32>, %w: tensor<1x1x3x4xf32>) -> tensor<1x4x4x4xf32> {
  %c = hlo.convolution %x, %w window_strides = [1, 1], padding = [0, 0, 0, 0], lhs_dilation = [1, 1], rhs_dilation = [1, 1], window_reversal = [0, 0], input_batch_dim = 0, input_feature_dim = 3, input_spatial_dims = [1, 2], kernel_input_feature_dim = 2, kernel_output_feature_dim = 3, kernel_spatial_dims = [0, 1], output_batch_dim = 0, output_feature_dim = 3, output_spatial_dims = [1, 2], batch_group_count = 2 : (tensor<2x4x4x3xf32>, tensor<1x1x3x4xf32>) -> tensor<1x4x4x4xf32>
  func.return %c : tensor<1x4x4x4xf32>
}

// The gradient of a depthwise convolution with respect to its kernel is that of every pair of
// features, of which those of a feature with itself are kept.

// CHECK-LABEL: func.func @gradient
// CHECK:         %[[PAIRS:.*]] = hlo.convolution %x, %g {{.*}} {hlo.flops = 1728 : i64} : {{.*}} -> tensor<3x3x3x3xf32>
// CHECK-NOT:     batch_group_count = 3
// CHECK:         %[[OWN:.*]] = hlo.select %{{.*}}, %[[PAIRS]]
// CHECK:         hlo.reduce %[[OWN]], %{{.*}} dimensions = [2]
// CHECK:         hlo.reshape {{.*}} -> tensor<3x3x1x3xf32>
func.func @gradient(%x: tensor<2x4x4x3xf32>, %g: tensor<2x4x4x3xf32>) -> tensor<3x3x1x3xf32> {
  %c = hlo.convolution %x, %g window_strides = [1, 1], padding = [1, 1, 1, 1], lhs_dilation = [1, 1], rhs_dilation = [1, 1], window_reversal = [0, 0], input_batch_dim = 3, input_feature_dim = 0, input_spatial_dims = [1, 2], kernel_input_feature_dim = 0, kernel_output_feature_dim = 3, kernel_spatial_dims = [1, 2], output_batch_dim = 2, output_feature_dim = 3, output_spatial_dims = [0, 1], batch_group_count = 3 : (tensor<2x4x4x3xf32>, tensor<2x4x4x3xf32>) -> tensor<3x3x1x3xf32>
  func.return %c : tensor<3x3x1x3xf32>
}

// A filter that is computed has a value for each row, in the column of its own group.

// CHECK-LABEL: func.func @computed
// CHECK:         %[[V:.*]] = hlo.reshape %w : (tensor<1x1x1x256xf32>) -> tensor<1x1x2x128x1xf32>
// CHECK:         %[[R:.*]] = hlo.broadcast %[[V]] dimensions = [0, 1, 3, 2, 5] : {{.*}} -> tensor<1x1x128x2x128x1xf32>
// CHECK:         %[[I:.*]] = hlo.constant {{.*}} : tensor<128x128xi1>
// CHECK:         %[[M:.*]] = hlo.broadcast %[[I]] dimensions = [2, 4]
// CHECK:         hlo.select %[[M]], %[[R]], %{{.*}}
// CHECK:         hlo.convolution %x, {{.*}} feature_group_count = 2 {{.*}}, tensor<1x1x128x256xf32>) -> tensor<1x4x4x256xf32>
func.func @computed(%x: tensor<1x4x4x256xf32>, %w: tensor<1x1x1x256xf32>) -> tensor<1x4x4x256xf32> {
  %c = hlo.convolution %x, %w window_strides = [1, 1], padding = [0, 0, 0, 0], lhs_dilation = [1, 1], rhs_dilation = [1, 1], window_reversal = [0, 0], input_batch_dim = 0, input_feature_dim = 3, input_spatial_dims = [1, 2], kernel_input_feature_dim = 2, kernel_output_feature_dim = 3, kernel_spatial_dims = [0, 1], output_batch_dim = 0, output_feature_dim = 3, output_spatial_dims = [1, 2], feature_group_count = 256 : (tensor<1x4x4x256xf32>, tensor<1x1x1x256xf32>) -> tensor<1x4x4x256xf32>
  func.return %c : tensor<1x4x4x256xf32>
}
