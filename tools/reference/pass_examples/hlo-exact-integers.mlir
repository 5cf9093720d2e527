// neuron-opt -p hlo-exact-integers
func.func @main(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi1> {
  %z = hlo.compare %x, %y direction = EQ : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  func.return %z : tensor<4xi1>
}
