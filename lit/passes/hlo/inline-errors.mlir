// RUN: neuron-opt %s -p hlo-inline --split-input-file --verify-diagnostics

// expected-error@unknown {{computations call each other in a circle: main -> main}}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.call %x callee = @main : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
