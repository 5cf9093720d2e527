// RUN: neuron-opt %s --verify-diagnostics --split-input-file

func.func @f(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{contracting dimensions must have one size: lhs dimension 1 is 3, rhs dimension 0 is 4}}
  %r = hlo.dot %a, %b lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error@+1 {{result shape must be [2, 5], is [2, 6]}}
  %r = hlo.dot %a, %b lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x6xf32>
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error@+1 {{lhs batch and contracting dimensions [2] must be distinct dimensions below the rank 2}}
  %r = hlo.dot %a, %b lhs_contracting_dims = [2], rhs_contracting_dims = [0] : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x8x4xf32>, %k: tensor<3x5x6xf32>) {
  // expected-error@+1 {{input feature size 4 must be the kernel's 5 times feature_group_count 1}}
  %r = hlo.convolution %x, %k window_strides = [1], padding = [0, 0], lhs_dilation = [1], rhs_dilation = [1], window_reversal = [0], input_batch_dim = 0, input_feature_dim = 2, input_spatial_dims = [1], kernel_input_feature_dim = 1, kernel_output_feature_dim = 2, kernel_spatial_dims = [0], output_batch_dim = 0, output_feature_dim = 2, output_spatial_dims = [1] : (tensor<1x8x4xf32>, tensor<3x5x6xf32>) -> tensor<1x6x6xf32>
  func.return
}

// -----

func.func @f(%m: tensor<3x4xf32>) {
  // expected-error@+1 {{operand must be square in its last dimensions, is tensor<3x4xf32>}}
  %r = hlo.cholesky %m lower = true : tensor<3x4xf32>
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error@+1 {{contracting dimensions [0, 1] and [0] must pair up}}
  %r = hlo.dot %a, %b lhs_contracting_dims = [0, 1], rhs_contracting_dims = [0] : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<5xf32>
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error@+1 {{rhs batch and contracting dimensions [2] must be distinct dimensions below the rank 2}}
  %r = hlo.dot %a, %b lhs_contracting_dims = [1], rhs_contracting_dims = [2] : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x5xf32>) {
  // expected-error@+1 {{a must be square in its last dimensions, is tensor<2x3xf32>}}
  %r = hlo.triangular_solve %a, %b left_side = true, lower = true, unit_diagonal = false, transpose_a = NO_TRANSPOSE : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
  func.return
}

// -----

func.func @f(%a: tensor<2x2xf32>, %b: tensor<3x5xf32>) {
  // expected-error@+1 {{dimension 3 of b must be 2, the size of a}}
  %r = hlo.triangular_solve %a, %b left_side = true, lower = true, unit_diagonal = false, transpose_a = NO_TRANSPOSE : (tensor<2x2xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  func.return
}

// -----

func.func @f(%a: tensor<2x2xf32>, %b: tensor<2x5xf32>) {
  // expected-error@+1 {{transpose_a must be one of NO_TRANSPOSE, TRANSPOSE, ADJOINT}}
  %r = hlo.triangular_solve %a, %b left_side = true, lower = true, unit_diagonal = false, transpose_a = NOTHING : (tensor<2x2xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
  func.return
}

// -----

func.func @f(%a: tensor<3x2x2xf32>, %b: tensor<4x2x5xf32>) {
  // expected-error@+1 {{batch dimensions of tensor<3x2x2xf32> and tensor<4x2x5xf32> must agree}}
  %r = hlo.triangular_solve %a, %b left_side = true, lower = true, unit_diagonal = false, transpose_a = NO_TRANSPOSE : (tensor<3x2x2xf32>, tensor<4x2x5xf32>) -> tensor<4x2x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<8xcomplex<f32>>) {
  // expected-error@+1 {{fft_type must be FFT, IFFT, RFFT or IRFFT, is "DFT"}}
  %r = hlo.fft %x fft_type = DFT, fft_length = [8] : tensor<8xcomplex<f32>>
  func.return
}

// -----

func.func @f(%x: tensor<8xcomplex<f32>>) {
  // expected-error@+1 {{fft_length [] must have 1 to 3 entries}}
  %r = hlo.fft %x fft_type = FFT, fft_length = [] : tensor<8xcomplex<f32>>
  func.return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error@+1 {{FFT cannot take elements of type f32}}
  %r = hlo.fft %x fft_type = FFT, fft_length = [8] : tensor<8xf32>
  func.return
}

// -----

func.func @f(%x: tensor<8xcomplex<f32>>) {
  // expected-error@+1 {{last dimensions of tensor<8xcomplex<f32>> must be [4]}}
  %r = hlo.fft %x fft_type = FFT, fft_length = [4] : tensor<8xcomplex<f32>>
  func.return
}

// -----

func.func @f(%x: tensor<1x8x4xf32>, %k: tensor<3x4xf32>) {
  // expected-error@+1 {{lhs and rhs must have one rank, are tensor<1x8x4xf32> and tensor<3x4xf32>}}
  %r = hlo.convolution %x, %k window_strides = [1], padding = [0, 0], lhs_dilation = [1], rhs_dilation = [1], window_reversal = [0], input_batch_dim = 0, input_feature_dim = 2, input_spatial_dims = [1], kernel_input_feature_dim = 1, kernel_output_feature_dim = 2, kernel_spatial_dims = [0], output_batch_dim = 0, output_feature_dim = 2, output_spatial_dims = [1], feature_group_count = 1, batch_group_count = 1 : (tensor<1x8x4xf32>, tensor<3x4xf32>) -> tensor<1x6x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x8x4xf32>, %k: tensor<3x4x6xf32>) {
  // expected-error@+1 {{input dimension numbers [0, 1, 1] must permute 3 dimensions}}
  %r = hlo.convolution %x, %k window_strides = [1], padding = [0, 0], lhs_dilation = [1], rhs_dilation = [1], window_reversal = [0], input_batch_dim = 0, input_feature_dim = 1, input_spatial_dims = [1], kernel_input_feature_dim = 1, kernel_output_feature_dim = 2, kernel_spatial_dims = [0], output_batch_dim = 0, output_feature_dim = 2, output_spatial_dims = [1], feature_group_count = 1, batch_group_count = 1 : (tensor<1x8x4xf32>, tensor<3x4x6xf32>) -> tensor<1x6x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x8x4xf32>, %k: tensor<3x4x6xf32>) {
  // expected-error@+1 {{feature_group_count 2 and batch_group_count 2 must be positive and one of them 1}}
  %r = hlo.convolution %x, %k window_strides = [1], padding = [0, 0], lhs_dilation = [1], rhs_dilation = [1], window_reversal = [0], input_batch_dim = 0, input_feature_dim = 2, input_spatial_dims = [1], kernel_input_feature_dim = 1, kernel_output_feature_dim = 2, kernel_spatial_dims = [0], output_batch_dim = 0, output_feature_dim = 2, output_spatial_dims = [1], feature_group_count = 2, batch_group_count = 2 : (tensor<1x8x4xf32>, tensor<3x4x6xf32>) -> tensor<1x6x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x8x4xf32>, %k: tensor<3x2x5xf32>) {
  // expected-error@+1 {{output feature size 5 must be a multiple of the group count 2}}
  %r = hlo.convolution %x, %k window_strides = [1], padding = [0, 0], lhs_dilation = [1], rhs_dilation = [1], window_reversal = [0], input_batch_dim = 0, input_feature_dim = 2, input_spatial_dims = [1], kernel_input_feature_dim = 1, kernel_output_feature_dim = 2, kernel_spatial_dims = [0], output_batch_dim = 0, output_feature_dim = 2, output_spatial_dims = [1], feature_group_count = 2, batch_group_count = 1 : (tensor<1x8x4xf32>, tensor<3x2x5xf32>) -> tensor<1x6x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x8x4xf32>, %k: tensor<3x4x6xf32>) {
  // expected-error@+1 {{batch size 3 must be a multiple of batch_group_count 2}}
  %r = hlo.convolution %x, %k window_strides = [1], padding = [0, 0], lhs_dilation = [1], rhs_dilation = [1], window_reversal = [0], input_batch_dim = 0, input_feature_dim = 2, input_spatial_dims = [1], kernel_input_feature_dim = 1, kernel_output_feature_dim = 2, kernel_spatial_dims = [0], output_batch_dim = 0, output_feature_dim = 2, output_spatial_dims = [1], feature_group_count = 1, batch_group_count = 2 : (tensor<3x8x4xf32>, tensor<3x4x6xf32>) -> tensor<1x6x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x8x4xf32>, %k: tensor<3x4x6xf32>) {
  // expected-error@+1 {{window strides [1, 1] must have 1 entries}}
  %r = hlo.convolution %x, %k window_strides = [1, 1], padding = [0, 0], lhs_dilation = [1], rhs_dilation = [1], window_reversal = [0], input_batch_dim = 0, input_feature_dim = 2, input_spatial_dims = [1], kernel_input_feature_dim = 1, kernel_output_feature_dim = 2, kernel_spatial_dims = [0], output_batch_dim = 0, output_feature_dim = 2, output_spatial_dims = [1], feature_group_count = 1, batch_group_count = 1 : (tensor<1x8x4xf32>, tensor<3x4x6xf32>) -> tensor<1x6x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x8x4xf32>, %k: tensor<3x4x6xf32>) {
  // expected-error@+1 {{window_reversal [0, 0] must have 1 entries}}
  %r = hlo.convolution %x, %k window_strides = [1], padding = [0, 0], lhs_dilation = [1], rhs_dilation = [1], window_reversal = [0, 0], input_batch_dim = 0, input_feature_dim = 2, input_spatial_dims = [1], kernel_input_feature_dim = 1, kernel_output_feature_dim = 2, kernel_spatial_dims = [0], output_batch_dim = 0, output_feature_dim = 2, output_spatial_dims = [1], feature_group_count = 1, batch_group_count = 1 : (tensor<1x8x4xf32>, tensor<3x4x6xf32>) -> tensor<1x6x6xf32>
  func.return
}
