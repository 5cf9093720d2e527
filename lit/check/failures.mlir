// RUN: neuron-opt %s --run --split-input-file --verify-diagnostics

func.func @wrong() {
  %a = hlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %b = hlo.constant dense<[1, 5, 4]> : tensor<3xi32>
  // expected-error@+1 {{'check.expect_eq' failed: 2 of 3 elements differ; at [1] got 2, expected 5}}
  check.expect_eq %a, %b : tensor<3xi32>
  func.return
}

// -----

func.func @far() {
  %a = hlo.constant dense<1.0> : tensor<2x2xf32>
  %b = hlo.constant dense<1.1> : tensor<2x2xf32>
  // expected-error@+1 {{'check.expect_close' failed: 4 of 4 elements differ; at [0, 0] got 1.0}}
  check.expect_close %a, %b : tensor<2x2xf32>
  func.return
}

// -----

// expected-error@unknown {{--run found no function without arguments}}
func.func @argument(%a : tensor<f32>) {
  func.return
}

// -----

func.func @types() {
  %a = hlo.constant dense<1.0> : tensor<2xf32>
  %b = hlo.constant dense<1.0> : tensor<3xf32>
  // expected-error@+1 {{'check.expect_eq' op}}
  "check.expect_eq"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> ()
  func.return
}
