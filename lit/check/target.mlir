// RUN: neuron-opt %s --run=trn1:virtual | filecheck %s
// RUN: neuron-opt %s --run=trn1:ordered
// RUN: neuron-opt %s --run=trn1:allocated
// RUN: neuron-opt %s --run=trn1
// RUN: status 1 neuron-opt %s --run=trn1:binary 2>&1 | filecheck %s --check-prefix=PHASE
// RUN: status 1 neuron-opt %s --run=trn9 2>&1 | filecheck %s --check-prefix=TARGET

// The same checks on the compiled program.

// CHECK: @dot: 1 check passed
// CHECK-NEXT: 1 check passed on trn1 at phase virtual
// CHECK: @elementwise: 1 check passed
// CHECK-NEXT: 1 check passed on trn1 at phase virtual
// PHASE: [NIR_RUN] --run cannot execute the phase 'binary'
// TARGET: unknown target 'trn9'

func.func @dot() {
  %a = hlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = hlo.constant dense<[[5.0, 6.0], [7.0, 8.0]]> : tensor<2x2xf32>
  %c = hlo.dot %a, %b lhs_contracting_dims = [1], rhs_contracting_dims = [0] : tensor<2x2xf32>
  %expected = hlo.constant dense<[[19.0, 22.0], [43.0, 50.0]]> : tensor<2x2xf32>
  check.expect_close %c, %expected : tensor<2x2xf32>
  func.return
}

func.func @elementwise() {
  %a = hlo.constant dense<[1.0, -2.0, 3.0]> : tensor<3xf32>
  %two = hlo.constant dense<2.0> : tensor<f32>
  %all = hlo.broadcast %two dimensions = [] : (tensor<f32>) -> tensor<3xf32>
  %product = hlo.multiply %a, %all : tensor<3xf32>
  %sum = hlo.add %product, %a : tensor<3xf32>
  %expected = hlo.constant dense<[3.0, -6.0, 9.0]> : tensor<3xf32>
  check.expect_close %sum, %expected : tensor<3xf32>
  func.return
}

// A program next to the checks is not a check.
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  func.return %x : tensor<3xf32>
}
