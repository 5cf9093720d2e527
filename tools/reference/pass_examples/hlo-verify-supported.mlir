// neuron-opt -p hlo-verify-supported{target=trn1}
func.func @main(%x: tensor<4x4xf32>, %y: tensor<4xf64>) -> tensor<4x4xf32> {
  %0 = hlo.cholesky %x lower = true : tensor<4x4xf32>
  %1 = hlo.negate %y : tensor<4xf64>
  func.return %0 : tensor<4x4xf32>
}
