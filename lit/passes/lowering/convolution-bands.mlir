// RUN: neuron-opt %s -p 'lower-hlo-to-nc{target=trn1}' | filecheck %s

// 64 features on both sides fill a quarter of the array: the upper and the lower half of the rows
// are on the halves of the partitions, each with the rows that the window reaches, and one matmul
// of 128 x 128 computes both. Readers of the result take each half where it is.

// CHECK-LABEL:   nc.func "main"
// CHECK-COUNT-9: nc.matmul (%{{.*}}[0:128 | {{.*}}[0:128 |
// CHECK-NOT:     nc.transpose (
// CHECK:         nc.matmul (%{{.*}}[0:32 | {{.*}}[0:64 | {{.*}}[0:64 |
// CHECK:         nc.matmul (%{{.*}}[0:32 | {{.*}}[64:64 | {{.*}}[64:64 |
func.func @main(%x: tensor<1x16x16x64xbf16>, %v: tensor<1x1x64x32xbf16>) -> tensor<1x16x16x32xf32> {
  %w = hlo.constant dense<5.000000e-01> : tensor<3x3x64x64xbf16>
  %c = hlo.convolution %x, %w window_strides = [1, 1], padding = [1, 1, 1, 1], lhs_dilation = [1, 1], rhs_dilation = [1, 1], window_reversal = [0, 0], input_batch_dim = 0, input_feature_dim = 3, input_spatial_dims = [1, 2], kernel_input_feature_dim = 2, kernel_output_feature_dim = 3, kernel_spatial_dims = [0, 1], output_batch_dim = 0, output_feature_dim = 3, output_spatial_dims = [1, 2] : (tensor<1x16x16x64xbf16>, tensor<3x3x64x64xbf16>) -> tensor<1x16x16x64xf32>
  %d = hlo.convert %c : (tensor<1x16x16x64xf32>) -> tensor<1x16x16x64xbf16>
  %r = hlo.convolution %d, %v window_strides = [1, 1], padding = [0, 0, 0, 0], lhs_dilation = [1, 1], rhs_dilation = [1, 1], window_reversal = [0, 0], input_batch_dim = 0, input_feature_dim = 3, input_spatial_dims = [1, 2], kernel_input_feature_dim = 2, kernel_output_feature_dim = 3, kernel_spatial_dims = [0, 1], output_batch_dim = 0, output_feature_dim = 3, output_spatial_dims = [1, 2] : (tensor<1x16x16x64xbf16>, tensor<1x1x64x32xbf16>) -> tensor<1x16x16x32xf32>
  func.return %r : tensor<1x16x16x32xf32>
}
