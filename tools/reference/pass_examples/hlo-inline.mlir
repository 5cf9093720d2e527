// neuron-opt -p hlo-inline
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = hlo.call %x callee = @square : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func private @square(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = hlo.multiply %x, %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
