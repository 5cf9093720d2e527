// neuron-opt -p lower-hlo-to-nc{target=trn1}
func.func @main(%x: tensor<128x64xf32>) -> tensor<128x64xf32> {
  %y = hlo.exponential %x : tensor<128x64xf32>
  func.return %y : tensor<128x64xf32>
}
