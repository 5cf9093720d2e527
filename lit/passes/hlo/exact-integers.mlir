// RUN: neuron-opt %s -p hlo-exact-integers | filecheck %s

// Sums of words are split into halves; sums within 2^24, and comparisons with one side within it,
// are kept. Narrow types are computed in s32, whose lowest bits are the result.

// CHECK-LABEL: func.func @add
// CHECK-NOT:     hlo.add %x, %y
// CHECK-COUNT-3: hlo.add {{.*}} : tensor<4xi32>
// CHECK:         %[[L:.*]] = hlo.and
// CHECK:         %[[H:.*]] = hlo.shift_left
// CHECK:         hlo.or %[[H]], %[[L]]
func.func @add(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %0 = hlo.add %x, %y : tensor<4xi32>
  func.return %0 : tensor<4xi32>
}

// A product of words: six products of digits of 11 bits in three columns, each with the carry of
// the one below it.
// CHECK-LABEL: func.func @product
// CHECK:         %[[S0:.*]] = hlo.multiply
// CHECK:         %[[C0:.*]] = hlo.shift_right_logical %[[S0]]
// CHECK:         %[[P:.*]] = hlo.multiply
// CHECK-NEXT:    hlo.add %[[P]], %[[C0]]
// CHECK-COUNT-4: hlo.multiply
// CHECK-NOT:     hlo.multiply
// CHECK:         func.return
func.func @product(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %0 = hlo.multiply %x, %y : tensor<4xi32>
  func.return %0 : tensor<4xi32>
}

// CHECK-LABEL: func.func @small
// CHECK:         %[[A:.*]] = hlo.convert %x
// CHECK:         %[[S:.*]] = hlo.add %[[A]], %[[A]] : tensor<4xi32>
// CHECK-NEXT:    hlo.compare %[[S]], %y
func.func @small(%x: tensor<4xi16>, %y: tensor<4xi32>) -> tensor<4xi1> {
  %0 = hlo.convert %x : (tensor<4xi16>) -> tensor<4xi32>
  %1 = hlo.add %0, %0 : tensor<4xi32>
  %2 = hlo.compare %1, %y direction = LT : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  func.return %2 : tensor<4xi1>
}

// CHECK-LABEL: func.func @narrow
// CHECK:         %[[W:.*]] = hlo.multiply {{.*}} : tensor<4xi32>
// CHECK-NEXT:    hlo.convert %[[W]] : (tensor<4xi32>) -> tensor<4xi8>
func.func @narrow(%x: tensor<4xi8>, %y: tensor<4xi8>) -> tensor<4xi8> {
  %0 = hlo.multiply %x, %y : tensor<4xi8>
  func.return %0 : tensor<4xi8>
}
