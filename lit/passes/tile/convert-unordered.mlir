// RUN: neuron-opt %s -p 'lower-tile-to-nc{target=inf1}' | filecheck %s

// Columns of 13 positions cross the two digits of %x, whose parities are apart: a copy with the
// positions in order is transposed, instead of transfers of one element each.

// CHECK:     nc.dma (%x_tile
// CHECK:     (%[[O:[a-z_0-9]*]][0:64 | 832:2, 2:1 | 0], none) = (%x_tile[0:64 | 832:1, 2:832 | 0]
// CHECK-NOT: nc.dma
// CHECK:     nc.transpose_dve {{.*}} = (%[[O]][0:32 | 32:13 | 0])
// CHECK:     nc.dma (%o
module attributes {nc.machine = "inf1", neuronir.phase = "tiled"} {
  func.func @main(%x: tensor<832x2x64xf32>) -> tensor<832x2x64xf32> {
    %x_1 = tile.convert_layout %x : tensor<832x2x64xf32> to tensor<832x2x64xf32, #tile.layout<sbuf, [832f1], [2f832], [64p1]>>
    %x_2 = tile.convert_layout %x_1 : tensor<832x2x64xf32, #tile.layout<sbuf, [832f1], [2f832], [64p1]>> to tensor<832x2x64xf32, #tile.layout<sbuf, [128p1, 832f1]>>
    %o = tile.convert_layout %x_2 : tensor<832x2x64xf32, #tile.layout<sbuf, [128p1, 832f1]>> to tensor<832x2x64xf32>
    func.return %o : tensor<832x2x64xf32>
  }
}
