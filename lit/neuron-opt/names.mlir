// RUN: neuron-opt %s -o %t.mlir
// RUN: filecheck %s < %t.mlir
// RUN: neuron-opt %t.mlir -o %t.again.mlir
// RUN: diff %t.mlir %t.again.mlir

// Printed names are unique, although numbers at the end of a name are not part of it.

// CHECK:      %x_1 = hlo.add %x, %x
// CHECK-NEXT: %x_2 = hlo.multiply %x_1, %x_1
// CHECK-NEXT: %x_3 = hlo.subtract %x_2, %x_1
// CHECK-NEXT: func.return %x_3
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %x_5 = hlo.add %x, %x : tensor<4xf32>
  %x_1_2 = hlo.multiply %x_5, %x_5 : tensor<4xf32>
  %x_7 = hlo.subtract %x_1_2, %x_5 : tensor<4xf32>
  func.return %x_7 : tensor<4xf32>
}
