// RUN: neuron-opt %s -p 'lower-tile-to-nc{target=trn1},nc-dce' | filecheck %s

// A computed number seen through a strided slice has a layout with gaps. Its other layout is filled.
// CHECK: %[[N:.*]] = nc.alloc : memref<112x64xf32, #nc.space<"sbuf">>
// CHECK-NEXT: nc.memset (%[[N]][0:112 | 64:1 | 0]) = () {value = 2.000000e+00}
// CHECK-NOT: nc.transpose

builtin.module attributes {nc.machine = "trn1"} {
  func.func @main() -> tensor<4x28x1x64xf32> attributes {hlo.entry} {
    %0 = hlo.constant dense<2.000000e+00> : tensor<f32>
    %1 = hlo.broadcast %0 dimensions = [] : (tensor<f32>) -> tensor<4x56x1x64xf32>
    %2 = hlo.maximum %1, %1 : (tensor<4x56x1x64xf32>, tensor<4x56x1x64xf32>) -> tensor<4x56x1x64xf32, #tile.layout<sbuf, [4f56], [56f1], [], [64p1]>>
    %3 = hlo.slice %2 start_indices = [0, 1, 0, 0], limit_indices = [4, 56, 1, 64], strides = [1, 2, 1, 1] : (tensor<4x56x1x64xf32, #tile.layout<sbuf, [4f56], [56f1], [], [64p1]>>) -> tensor<4x28x1x64xf32, #tile.layout<sbuf, [4f56], [28f1], [], [64p1]>>
    %4 = tile.convert_layout %3 : tensor<4x28x1x64xf32, #tile.layout<sbuf, [4f56], [28f1], [], [64p1]>> to tensor<4x28x1x64xf32, #tile.layout<sbuf, [4p28], [28p1], [], [64f1]>>
    %5 = tile.convert_layout %4 : tensor<4x28x1x64xf32, #tile.layout<sbuf, [4p28], [28p1], [], [64f1]>> to tensor<4x28x1x64xf32>
    func.return %5 : tensor<4x28x1x64xf32>
  }
}
