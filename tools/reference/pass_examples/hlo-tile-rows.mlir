// neuron-opt -p hlo-tile-rows{target=trn1 bands=2},hlo-dce
func.func @main(%x: tensor<1x224x224x64xf32>, %w: tensor<3x3x64x64xf32>) -> tensor<1x112x112x64xf32> {
  %low = hlo.constant dense<"0x000080FF"> : tensor<f32>
  %c = hlo.convolution %x, %w window_strides = [1, 1], padding = [1, 1, 1, 1], lhs_dilation = [1, 1], rhs_dilation = [1, 1], window_reversal = [0, 0], input_batch_dim = 0, input_feature_dim = 3, input_spatial_dims = [1, 2], kernel_input_feature_dim = 2, kernel_output_feature_dim = 3, kernel_spatial_dims = [0, 1], output_batch_dim = 0, output_feature_dim = 3, output_spatial_dims = [1, 2] : (tensor<1x224x224x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x224x224x64xf32>
  %p = hlo.reduce_window %c, %low window_dimensions = [1, 2, 2, 1], window_strides = [1, 2, 2, 1], base_dilations = [1, 1, 1, 1], window_dilations = [1, 1, 1, 1], padding = [0, 0, 0, 0, 0, 0, 0, 0] ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c_1 = hlo.maximum %a, %b : tensor<f32>
    hlo.return %c_1 : tensor<f32>
  }) : (tensor<1x224x224x64xf32>, tensor<f32>) -> tensor<1x112x112x64xf32>
  %t = hlo.tanh %p : tensor<1x112x112x64xf32>
  func.return %t : tensor<1x112x112x64xf32>
}
