// neuron-opt -p lower-tile-to-nc{target=trn1}
func.func @main(%x: tensor<128x64xf32>) -> tensor<128x64xf32> {
  %0 = tile.convert_layout %x : tensor<128x64xf32> to tensor<128x64xf32, #tile.layout<sbuf, [128p1], [64f1]>>
  %1 = hlo.exponential %0 : tensor<128x64xf32, #tile.layout<sbuf, [128p1], [64f1]>>
  %2 = tile.convert_layout %1 : tensor<128x64xf32, #tile.layout<sbuf, [128p1], [64f1]>> to tensor<128x64xf32>
  func.return %2 : tensor<128x64xf32>
}
