// RUN: neuron-opt %s -p hlo-decompose | filecheck %s

// CHECK-LABEL: func.func @main
// CHECK:         hlo.rsqrt
// CHECK-NOT:     hlo.cholesky
// CHECK:         hlo.divide
// CHECK-NOT:     hlo.triangular_solve
// CHECK:         func.return
func.func @main(%a: tensor<2x2xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = hlo.cholesky %a lower = true : tensor<2x2xf32>
  %1 = hlo.triangular_solve %0, %b left_side = true, lower = true, unit_diagonal = false, transpose_a = NO_TRANSPOSE : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}

// Too large to be done column by column.
// CHECK-LABEL: func.func @large
// CHECK:         hlo.cholesky
func.func @large(%a: tensor<65x65xf32>) -> tensor<65x65xf32> {
  %0 = hlo.cholesky %a lower = true : tensor<65x65xf32>
  func.return %0 : tensor<65x65xf32>
}

// CHECK-LABEL: func.func @hyperbolic
// CHECK-NOT:     hlo.sinh
// CHECK-NOT:     hlo.acosh
// CHECK:         func.return
func.func @hyperbolic(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.sinh %x : tensor<4xf32>
  %1 = hlo.acosh %0 : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
