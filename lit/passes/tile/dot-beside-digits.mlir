// RUN: neuron-opt %s -p 'lower-tile-to-nc{target=inf1}' | filecheck %s

// The columns of a product end where the digits of the copy beside it end: 512 and 448 columns are
// 8 and 7 times its inner digit, while 480, half of 960, are 7.5 times.

// CHECK: nc.matmul (%d_psum{{[_0-9]*}}[0:64 | 512:1 | 0])
// CHECK: nc.matmul (%d_psum{{[_0-9]*}}[0:64 | 448:1 | 0])
// CHECK-NOT:     nc.matmul
module attributes {nc.machine = "inf1", neuronir.phase = "tiled"} {
  func.func @main(%w: tensor<64x64xbf16>, %x: tensor<64x960xbf16>, %y: tensor<64x960xf32>) -> tensor<64x960xf32> {
    %w_1 = tile.convert_layout %w : tensor<64x64xbf16> to tensor<64x64xbf16, #tile.layout<sbuf, [64p1], [64f1]>>
    %x_1 = tile.convert_layout %x : tensor<64x960xbf16> to tensor<64x960xbf16, #tile.layout<sbuf, [64p1], [960f1]>>
    %y_1 = tile.convert_layout %y : tensor<64x960xf32> to tensor<64x960xf32, #tile.layout<sbuf, [64p1], [15f1, 64f15]>>
    %d = hlo.dot %w_1, %x_1 lhs_contracting_dims = [0], rhs_contracting_dims = [0] : (tensor<64x64xbf16, #tile.layout<sbuf, [64p1], [64f1]>>, tensor<64x960xbf16, #tile.layout<sbuf, [64p1], [960f1]>>) -> tensor<64x960xf32, #tile.layout<sbuf, [64p1], [960f1]>>
    %s = hlo.add %d, %y_1 : (tensor<64x960xf32, #tile.layout<sbuf, [64p1], [960f1]>>, tensor<64x960xf32, #tile.layout<sbuf, [64p1], [15f1, 64f15]>>) -> tensor<64x960xf32, #tile.layout<sbuf, [64p1], [15f1, 64f15]>>
    %o = tile.convert_layout %s : tensor<64x960xf32, #tile.layout<sbuf, [64p1], [15f1, 64f15]>> to tensor<64x960xf32>
    func.return %o : tensor<64x960xf32>
  }
}
