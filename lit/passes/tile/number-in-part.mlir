// RUN: neuron-opt %s -p 'lower-tile-to-nc{target=trn1},nc-dce' | filecheck %s

// A number is written to the middle of a padded array, which has the padding between its rows: an
// instruction that takes all elements for neighbours leaves the end of the last row unwritten.
// CHECK: %[[PADDED:.*]] = nc.alloc : memref<96x70xf32, #nc.space<"sbuf">>
// CHECK-NEXT: nc.memset (%[[PADDED]][0:96 | 2:35, 3:1 | 32]) = () {value = 0.000000e+00}
// CHECK-NEXT: nc.memset (%[[PADDED]][0:96 | 2:35, 32:1 | 0]) = () {value = 3.000000e+00}

builtin.module attributes {nc.machine = "trn1"} {
  func.func @main() -> tensor<2x35x96xf32> attributes {hlo.entry} {
    %0 = hlo.constant dense<3.000000e+00> : tensor<f32>
    %1 = hlo.broadcast %0 dimensions = [] : (tensor<f32>) -> tensor<2x32x96xf32>
    %2 = hlo.copy %1 : (tensor<2x32x96xf32>) -> tensor<2x32x96xf32, #tile.layout<sbuf, [2f32], [32f1], [96p1]>>
    %3 = hlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = hlo.pad %2, %3 edge_padding_low = [0, 0, 0], edge_padding_high = [0, 3, 0], interior_padding = [0, 0, 0] : (tensor<2x32x96xf32, #tile.layout<sbuf, [2f32], [32f1], [96p1]>>, tensor<f32>) -> tensor<2x35x96xf32, #tile.layout<sbuf, [2f35], [35f1], [96p1]>>
    %5 = tile.convert_layout %4 : tensor<2x35x96xf32, #tile.layout<sbuf, [2f35], [35f1], [96p1]>> to tensor<2x35x96xf32>
    func.return %5 : tensor<2x35x96xf32>
  }
}
