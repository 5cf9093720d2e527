// RUN: neuron-opt %s -p 'lower-tile-to-nc{target=trn1}' | filecheck %s

// The rows of an image with a margin are short: a load goes to a buffer of its own, at a place that
// does not move with the loop, and a copy from there to the tile of the array that the loop fills.

// CHECK:      nc.memset (%[[ALL:[^\[]*]]{{.*}} %i])
// CHECK:      nc.dma (%[[TILE:[^\[]*]][0:32 | 1600:1 | 0]) =
// CHECK:      nc.activation (%[[ALL]][0:128 | 40:43, 40:1 | 44 + 1849 * %i], none) = (%[[TILE]][0:128 | 40:40, 40:1 | 0], none, none)
module attributes {nc.machine = "trn1", neuronir.phase = "tiled"} {
  func.func @main(%x: tensor<4x96x40x40xbf16>) -> tensor<4x96x43x43xbf16> {
    %c0 = arith.constant 0 : index
    %c96 = arith.constant 96 : index
    %c32 = arith.constant 32 : index
    %empty = tile.empty "sbuf" : tensor<4x96x43x43xbf16, #tile.layout<sbuf, [4p32], [3f1849, 32p1], [43f43], [43f1]>>
    %all = scf.for %i = %c0 to %c96 step %c32 iter_args(%part = %empty) -> (tensor<4x96x43x43xbf16, #tile.layout<sbuf, [4p32], [3f1849, 32p1], [43f43], [43f1]>>) {
      %zero = hlo.constant dense<0.0> : tensor<bf16>
      %tile = tensor.extract_slice %x[0, %i, 0, 0] [4, 32, 40, 40] [1, 1, 1, 1] : tensor<4x96x40x40xbf16> to tensor<4x32x40x40xbf16>
      %loaded = tile.convert_layout %tile : tensor<4x32x40x40xbf16> to tensor<4x32x40x40xbf16, #tile.layout<sbuf, [4p32], [32p1], [40f40], [40f1]>>
      %padded = hlo.pad %loaded, %zero edge_padding_low = [0, 0, 1, 1], edge_padding_high = [0, 0, 2, 2], interior_padding = [0, 0, 0, 0] : (tensor<4x32x40x40xbf16, #tile.layout<sbuf, [4p32], [32p1], [40f40], [40f1]>>, tensor<bf16>) -> tensor<4x32x43x43xbf16, #tile.layout<sbuf, [4p32], [32p1], [43f43], [43f1]>>
      %next = tensor.insert_slice %padded into %part[0, %i, 0, 0] [4, 32, 43, 43] [1, 1, 1, 1] : tensor<4x32x43x43xbf16, #tile.layout<sbuf, [4p32], [32p1], [43f43], [43f1]>> into tensor<4x96x43x43xbf16, #tile.layout<sbuf, [4p32], [3f1849, 32p1], [43f43], [43f1]>>
      scf.yield %next : tensor<4x96x43x43xbf16, #tile.layout<sbuf, [4p32], [3f1849, 32p1], [43f43], [43f1]>>
    }
    %out = tile.convert_layout %all : tensor<4x96x43x43xbf16, #tile.layout<sbuf, [4p32], [3f1849, 32p1], [43f43], [43f1]>> to tensor<4x96x43x43xbf16>
    func.return %out : tensor<4x96x43x43xbf16>
  }
}
