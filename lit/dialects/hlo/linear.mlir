// RUN: neuron-opt %s | neuron-opt | filecheck %s

func.func @linear(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>, %x: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x6xf32>, %m: tensor<3x3xf32>, %v: tensor<3x1xf32>) -> tensor<2x3x5xf32> {
  // CHECK: hlo.dot %a, %b lhs_batch_dims = [0], rhs_batch_dims = [0], lhs_contracting_dims = [2], rhs_contracting_dims = [1] :
  %0 = hlo.dot %a, %b lhs_batch_dims = [0], rhs_batch_dims = [0], lhs_contracting_dims = [2], rhs_contracting_dims = [1] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  // CHECK: hlo.convolution %x, %k window_strides = [2, 2], padding = [1, 1, 1, 1], lhs_dilation = [1, 1], rhs_dilation = [1, 1], window_reversal = [0, 0], input_batch_dim = 0, input_feature_dim = 3, input_spatial_dims = [1, 2]
  %1 = hlo.convolution %x, %k window_strides = [2, 2], padding = [1, 1, 1, 1], lhs_dilation = [1, 1], rhs_dilation = [1, 1], window_reversal = [0, 0], input_batch_dim = 0, input_feature_dim = 3, input_spatial_dims = [1, 2], kernel_input_feature_dim = 2, kernel_output_feature_dim = 3, kernel_spatial_dims = [0, 1], output_batch_dim = 0, output_feature_dim = 3, output_spatial_dims = [1, 2] : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x4x4x6xf32>
  // CHECK: hlo.cholesky %m lower = true : tensor<3x3xf32>
  %2 = hlo.cholesky %m lower = true : tensor<3x3xf32>
  // CHECK: hlo.triangular_solve %m, %v left_side = true, lower = true, unit_diagonal = false, transpose_a = NO_TRANSPOSE
  %3 = hlo.triangular_solve %m, %v left_side = true, lower = true, unit_diagonal = false, transpose_a = NO_TRANSPOSE : (tensor<3x3xf32>, tensor<3x1xf32>) -> tensor<3x1xf32>
  // CHECK: hlo.fft %m fft_type = RFFT, fft_length = [3] : (tensor<3x3xf32>) -> tensor<3x2xcomplex<f32>>
  %4 = hlo.fft %m fft_type = RFFT, fft_length = [3] : (tensor<3x3xf32>) -> tensor<3x2xcomplex<f32>>
  func.return %0 : tensor<2x3x5xf32>
}
