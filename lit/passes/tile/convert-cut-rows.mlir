// RUN: neuron-opt %s -p 'lower-tile-to-nc{target=trn1}' | filecheck %s

// Rows of 6912 elements cross the digits in which positions lie in the result: columns are
// transposed to a copy with the positions in order, which is copied to the result.

// CHECK:     nc.transpose
// CHECK:     nc.dma (%o
module attributes {nc.machine = "trn1", neuronir.phase = "tiled"} {
  func.func @main(%x: tensor<2x48x48x192xf32>) -> tensor<2x48x48x192xf32> {
    %x_1 = tile.convert_layout %x : tensor<2x48x48x192xf32> to tensor<2x48x48x192xf32, #tile.layout<sbuf, [128p1, 6912f1]>>
    %x_2 = tile.convert_layout %x_1 : tensor<2x48x48x192xf32, #tile.layout<sbuf, [128p1, 6912f1]>> to tensor<2x48x48x192xf32, #tile.layout<sbuf, [2f48], [48f1], [48f96], [96p1, 2f4608]>>
    %o = tile.convert_layout %x_2 : tensor<2x48x48x192xf32, #tile.layout<sbuf, [2f48], [48f1], [48f96], [96p1, 2f4608]>> to tensor<2x48x48x192xf32>
    func.return %o : tensor<2x48x48x192xf32>
  }
}
