// neuron-opt -p tile-fuse{target=trn1}
func.func @main(%x: tensor<65536x1024xf32>) -> tensor<65536x1024xf32> {
  %y = hlo.tanh %x : tensor<65536x1024xf32>
  %z = hlo.multiply %y, %x : tensor<65536x1024xf32>
  func.return %z : tensor<65536x1024xf32>
}
