// RUN: neuron-opt %s -p 'lower-tile-to-nc{target=trn1}' | filecheck %s

// A convolution that is lowered as a whole computes no reader: the reshape and the cast are ops of their own.

// CHECK:      nc.matmul
// CHECK:      nc.activation (%c_tile
// CHECK:      nc.dma (%c[
// CHECK:      nc.dma (%c_tile_2
// CHECK-NEXT: nc.dma (%n[
module attributes {nc.machine = "trn1", neuronir.phase = "tiled"} {
  func.func @main(%x: tensor<1x8x8x64xf32>, %w: tensor<2x2x64x64xf32>) -> tensor<16x64xbf16> {
    %c = hlo.convolution %x, %w window_strides = [2, 2], padding = [0, 0, 0, 0], lhs_dilation = [1, 1], rhs_dilation = [1, 1], window_reversal = [0, 0], input_batch_dim = 0, input_feature_dim = 3, input_spatial_dims = [1, 2], kernel_input_feature_dim = 2, kernel_output_feature_dim = 3, kernel_spatial_dims = [0, 1], output_batch_dim = 0, output_feature_dim = 3, output_spatial_dims = [1, 2] {tile.whole} : (tensor<1x8x8x64xf32>, tensor<2x2x64x64xf32>) -> tensor<1x4x4x64xf32>
    %r = hlo.reshape %c : (tensor<1x4x4x64xf32>) -> tensor<16x64xf32>
    %n = hlo.convert %r {tile.whole} : (tensor<16x64xf32>) -> tensor<16x64xbf16>
    func.return %n : tensor<16x64xbf16>
  }
}
