// RUN: neuron-opt %s -p hlo-fold-scales,hlo-dce | filecheck %s

// (x * w - m) * s + b: the factor is folded into the filter, and the offsets become one. A filter
// that is not constant, or that has another reader, is not changed. A factor of the result of a dot
// is folded into the weights even if it has another shape.

// CHECK-LABEL: func.func @main
// CHECK:         %[[W:.*]] = hlo.constant dense<{{\[+}}2.000000e+00, -3.000000e+00{{\]+}}> : tensor<1x1x1x2xf32>
// CHECK-NEXT:    %[[C:.*]] = hlo.convolution %x, %[[W]]
// CHECK-NEXT:    %[[B:.*]] = hlo.constant dense<[8.000000e+00, 1.300000e+01]> : tensor<2xf32>
// CHECK-NEXT:    %[[S:.*]] = hlo.broadcast %[[B]] dimensions = [3]
// CHECK-NEXT:    %[[R:.*]] = hlo.add %[[C]], %[[S]]
// CHECK-NEXT:    hlo.convolution %x, %given
// CHECK-NEXT:    hlo.multiply
// CHECK:       func.func @dot
// CHECK:         %[[W2:.*]] = hlo.constant dense<{{\[+}}2.000000e+00, 4.000000e+00], [6.000000e+00, 8.000000e+00{{\]+}}>
// CHECK-NEXT:    %[[D2:.*]] = hlo.dot %x, %[[W2]]
// CHECK:         %[[B2:.*]] = hlo.constant dense<[1.000000e+01, 2.000000e+01]>
// CHECK:         %[[A2:.*]] = hlo.add %[[D2]]
// CHECK-NEXT:    %[[R2:.*]] = hlo.reshape %[[A2]]
// CHECK-NEXT:    func.return %[[R2]]
func.func @main(%x: tensor<1x4x4x1xf32>, %given: tensor<1x1x1x2xf32>) -> (tensor<1x4x4x2xf32>, tensor<1x4x4x2xf32>) {
  %w = hlo.constant dense<[[[[1.0, 3.0]]]]> : tensor<1x1x1x2xf32>
  %m = hlo.constant dense<[1.0, 5.0]> : tensor<2xf32>
  %s = hlo.constant dense<[2.0, -1.0]> : tensor<2xf32>
  %b = hlo.constant dense<[10.0, 8.0]> : tensor<2xf32>
  %mb = hlo.broadcast %m dimensions = [3] : (tensor<2xf32>) -> tensor<1x4x4x2xf32>
  %sb = hlo.broadcast %s dimensions = [3] : (tensor<2xf32>) -> tensor<1x4x4x2xf32>
  %bb = hlo.broadcast %b dimensions = [3] : (tensor<2xf32>) -> tensor<1x4x4x2xf32>
  %c = hlo.convolution %x, %w window_strides = [1, 1], padding = [0, 0, 0, 0], lhs_dilation = [1, 1], rhs_dilation = [1, 1], window_reversal = [0, 0], input_batch_dim = 0, input_feature_dim = 3, input_spatial_dims = [1, 2], kernel_input_feature_dim = 2, kernel_output_feature_dim = 3, kernel_spatial_dims = [0, 1], output_batch_dim = 0, output_feature_dim = 3, output_spatial_dims = [1, 2], feature_group_count = 1, batch_group_count = 1 : (tensor<1x4x4x1xf32>, tensor<1x1x1x2xf32>) -> tensor<1x4x4x2xf32>
  %0 = hlo.subtract %c, %mb : tensor<1x4x4x2xf32>
  %1 = hlo.multiply %0, %sb : tensor<1x4x4x2xf32>
  %2 = hlo.add %1, %bb : tensor<1x4x4x2xf32>
  %d = hlo.convolution %x, %given window_strides = [1, 1], padding = [0, 0, 0, 0], lhs_dilation = [1, 1], rhs_dilation = [1, 1], window_reversal = [0, 0], input_batch_dim = 0, input_feature_dim = 3, input_spatial_dims = [1, 2], kernel_input_feature_dim = 2, kernel_output_feature_dim = 3, kernel_spatial_dims = [0, 1], output_batch_dim = 0, output_feature_dim = 3, output_spatial_dims = [1, 2], feature_group_count = 1, batch_group_count = 1 : (tensor<1x4x4x1xf32>, tensor<1x1x1x2xf32>) -> tensor<1x4x4x2xf32>
  %3 = hlo.multiply %d, %sb : tensor<1x4x4x2xf32>
  func.return %2, %3 : tensor<1x4x4x2xf32>, tensor<1x4x4x2xf32>
}

func.func @dot(%x: tensor<4x2xf32>) -> tensor<4x2x1xf32> {
  %w = hlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = hlo.constant dense<[5.0, 10.0]> : tensor<2xf32>
  %two = hlo.constant dense<2.0> : tensor<f32>
  %bb = hlo.broadcast %b dimensions = [1] : (tensor<2xf32>) -> tensor<4x2xf32>
  %twos = hlo.broadcast %two dimensions = [] : (tensor<f32>) -> tensor<4x2x1xf32>
  %d = hlo.dot %x, %w lhs_batch_dims = [], rhs_batch_dims = [], lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %0 = hlo.add %d, %bb : tensor<4x2xf32>
  %1 = hlo.reshape %0 : (tensor<4x2xf32>) -> tensor<4x2x1xf32>
  %2 = hlo.multiply %1, %twos : tensor<4x2x1xf32>
  func.return %2 : tensor<4x2x1xf32>
}
