// RUN: neuron-opt %s -p 'lower-tile-to-nc{target=trn1}' | filecheck %s

// Two batches of the left operand are next to each other, the right one, of which both are the
// same, has a copy beside each: the second product reads the copy from partition 64 on.

// CHECK:      nc.matmul {{.*}} = (%{{.*}}[0:64 | 16:1 | 0], %{{.*}}[0:64 | 8:1 | 0])
// CHECK-NEXT: nc.matmul {{.*}} = (%{{.*}}[64:64 | 16:1 | 0], %{{.*}}[64:64 | 8:1 | 0])
module attributes {nc.machine = "trn1", neuronir.phase = "tiled"} {
  func.func @main(%x: tensor<2x16x64xbf16>, %y: tensor<8x64xbf16>) -> tensor<2x16x8xf32> {
    %x_1 = tile.convert_layout %x : tensor<2x16x64xbf16> to tensor<2x16x64xbf16, #tile.layout<sbuf, [2p64], [16f1], [64p1]>>
    %y_1 = tile.convert_layout %y : tensor<8x64xbf16> to tensor<8x64xbf16, #tile.layout<sbuf, [8f1], [64p1] x [2p64]>>
    %b = hlo.broadcast %y_1 dimensions = [1, 2] : (tensor<8x64xbf16, #tile.layout<sbuf, [8f1], [64p1] x [2p64]>>) -> tensor<2x8x64xbf16, #tile.layout<sbuf, [2r], [8f1], [64p1] x [2p64]>>
    %d = hlo.dot %x_1, %b lhs_batch_dims = [0], rhs_batch_dims = [0], lhs_contracting_dims = [2], rhs_contracting_dims = [2] : (tensor<2x16x64xbf16, #tile.layout<sbuf, [2p64], [16f1], [64p1]>>, tensor<2x8x64xbf16, #tile.layout<sbuf, [2r], [8f1], [64p1] x [2p64]>>) -> tensor<2x16x8xf32, #tile.layout<sbuf, [2f8], [16p1], [8f1]>>
    %o = tile.convert_layout %d : tensor<2x16x8xf32, #tile.layout<sbuf, [2f8], [16p1], [8f1]>> to tensor<2x16x8xf32>
    func.return %o : tensor<2x16x8xf32>
  }
}
