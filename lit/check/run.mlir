// RUN: neuron-opt %s --run | filecheck %s
// RUN: neuron-opt %s | neuron-opt | filecheck %s --check-prefix=PRINT

// A program with its expected values: the file is the test.

// CHECK: @add: 3 checks passed
// CHECK-NEXT: result 0: float32[2] [4., 6.]
// CHECK: @nothing: 0 checks passed
// PRINT: check.expect_eq %c, %expected : tensor<2xf32>
// PRINT: check.expect_close %c, %near rtol 1.0{{.*}}e-03 atol 0.0{{.*}} : tensor<2xf32>

func.func @add() -> tensor<2xf32> {
  %a = hlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = hlo.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %c = hlo.add %a, %b : tensor<2xf32>
  %expected = hlo.constant dense<[4.0, 6.0]> : tensor<2xf32>
  %near = hlo.constant dense<[4.001, 6.001]> : tensor<2xf32>
  check.expect_eq %c, %expected : tensor<2xf32>
  check.expect_close %c, %expected : tensor<2xf32>
  check.expect_close %c, %near rtol 1.0e-3 atol 0.0 : tensor<2xf32>
  func.return %c : tensor<2xf32>
}

func.func @nothing() {
  func.return
}

func.func @skipped_for_its_argument(%a : tensor<f32>) {
  func.return
}
