// RUN: neuron-opt %s -p 'lower-tile-to-nc{target=trn1}' | filecheck %s

// Channels are on every second partition, and repeated on the others. One transfer stores all partitions, and the load
// skips the repeats: a store of each channel once would take 48 transfers.

// CHECK:      nc.dma (%scratch[0:96 * 2 | 2:1 | 0]) = (%{{.*}}[0:96 | 2:1 | 0])
// CHECK:      nc.dma (%y_tile[0:1 | 2:48, 48:1 | 0]) = (%scratch[0:1 | 2:1, 48:4 | 0])
// CHECK-NEXT: nc.dma (%z
module attributes {nc.machine = "trn1", neuronir.phase = "tiled"} {
  func.func @main(%x: tensor<96xf32>) -> tensor<96xf32> {
    %x_1 = tile.convert_layout %x : tensor<96xf32> to tensor<96xf32, #tile.layout<sbuf, [2f1, 48p2] x [2p1]>>
    %a = hlo.sqrt %x_1 : (tensor<96xf32, #tile.layout<sbuf, [2f1, 48p2] x [2p1]>>) -> tensor<96xf32, #tile.layout<sbuf, [2f1, 48p2] x [2p1]>>
    %y = tile.convert_layout %a : tensor<96xf32, #tile.layout<sbuf, [2f1, 48p2] x [2p1]>> to tensor<96xf32, #tile.layout<sbuf, [96f1]>>
    %z = tile.convert_layout %y : tensor<96xf32, #tile.layout<sbuf, [96f1]>> to tensor<96xf32>
    func.return %z : tensor<96xf32>
  }
}
