// RUN: neuron-opt %s -p hlo-decompose | filecheck %s
// RUN: neuron-opt %s -p 'hlo-decompose{keep="clamp","power"}' | filecheck %s --check-prefix=KEEP
// RUN: not neuron-opt %s -p 'hlo-decompose{keep="reverse"}' 2>&1 | filecheck %s --check-prefix=BAD

// CHECK-LABEL: func.func @main
// CHECK:         hlo.maximum
// CHECK:         hlo.minimum
// CHECK:         hlo.multiply
// CHECK-NOT:     hlo.power
// CHECK:         func.return
// KEEP:          hlo.clamp
// KEEP:          hlo.power
// BAD:           [NIR_PASS_OPTION] hlo-decompose: unknown names in `keep`: reverse
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %low = hlo.constant dense<-1.0> : tensor<f32>
  %high = hlo.constant dense<1.0> : tensor<f32>
  %three = hlo.constant dense<3.0> : tensor<f32>
  %n = hlo.broadcast %three dimensions = [] : (tensor<f32>) -> tensor<4xf32>
  %0 = hlo.clamp %low, %x, %high : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = hlo.power %0, %n : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// For x <= 0, exp(x) - 1 is computed without a choice between two formulas.
// CHECK-LABEL: func.func @of_a_minimum
// CHECK:         hlo.tanh
// CHECK-NOT:     hlo.exponential
// CHECK-NOT:     hlo.select
// CHECK:         hlo.divide
// CHECK-LABEL: func.func @of_any_value
// CHECK:         hlo.exponential
// CHECK:         hlo.select
func.func @of_a_minimum(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = hlo.constant dense<0.0> : tensor<4xf32>
  %0 = hlo.minimum %x, %zero : tensor<4xf32>
  %1 = hlo.exponential_minus_one %0 : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

func.func @of_any_value(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.exponential_minus_one %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// The sign of a float takes no choice; a limit before the products keeps them finite.
// CHECK-LABEL: func.func @sign
// CHECK:         hlo.maximum
// CHECK:         hlo.minimum
// CHECK:         hlo.multiply
// CHECK:         hlo.multiply
// CHECK:         hlo.maximum
// CHECK:         hlo.minimum
// CHECK-NOT:     hlo.select
// CHECK:         func.return
func.func @sign(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.sign %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
