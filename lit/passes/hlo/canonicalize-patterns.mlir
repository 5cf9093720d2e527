// RUN: neuron-opt %s -p canonicalize | filecheck %s

// The rules of hlo-canonicalize are the canonicalisation patterns of the hlo ops.

// CHECK-LABEL: func.func @neutral
// CHECK-NEXT: %t = hlo.tanh %x : tensor<4xf32>
// CHECK-NEXT: func.return %t
func.func @neutral(%x: tensor<4xf32>) -> tensor<4xf32> {
  %z = hlo.constant dense<0.0> : tensor<f32>
  %zs = hlo.broadcast %z dimensions = [] : (tensor<f32>) -> tensor<4xf32>
  %y = hlo.add %x, %zs : tensor<4xf32>
  %n = hlo.negate %y : tensor<4xf32>
  %m = hlo.negate %n : tensor<4xf32>
  %r = hlo.reshape %m : (tensor<4xf32>) -> tensor<2x2xf32>
  %s = hlo.reshape %r : (tensor<2x2xf32>) -> tensor<4xf32>
  %t = hlo.tanh %s : tensor<4xf32>
  func.return %t : tensor<4xf32>
}

// A division by a power of two becomes a multiplication.
// CHECK-LABEL: func.func @created
// CHECK: hlo.multiply
// CHECK-NOT: hlo.divide
func.func @created(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = hlo.constant dense<4.0> : tensor<f32>
  %cs = hlo.broadcast %c dimensions = [] : (tensor<f32>) -> tensor<4xf32>
  %y = hlo.divide %x, %cs : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// The region of a composite keeps its form.
// CHECK-LABEL: func.func @composite
// CHECK: hlo.composite
// CHECK: hlo.negate
// CHECK-NEXT: hlo.negate
func.func @composite(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = hlo.composite %x kind = "test" ({
  ^bb0(%a: tensor<4xf32>):
    %n = hlo.negate %a : tensor<4xf32>
    %m = hlo.negate %n : tensor<4xf32>
    hlo.return %m : tensor<4xf32>
  }) : tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// elu(x) + 1: the select that limits x becomes a minimum, and 1 is not subtracted and added.
// CHECK-LABEL: func.func @elu_and_1
// CHECK:         %[[MIN:.*]] = hlo.minimum %x, %zero : tensor<4xf32>
// CHECK-NEXT:    %[[SUM:.*]] = hlo.add %x, %one : tensor<4xf32>
// CHECK-NEXT:    %[[EXP:.*]] = hlo.exponential %[[MIN]] : tensor<4xf32>
// CHECK-NEXT:    %[[R:.*]] = hlo.select %above, %[[SUM]], %[[EXP]]
// CHECK-NEXT:    func.return %[[R]]
func.func @elu_and_1(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = hlo.constant dense<0.0> : tensor<4xf32>
  %one = hlo.constant dense<1.0> : tensor<4xf32>
  %above = hlo.compare %x, %zero direction = GT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %0 = hlo.select %above, %zero, %x : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = hlo.exponential_minus_one %0 : tensor<4xf32>
  %2 = hlo.select %above, %x, %1 : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = hlo.add %2, %one : tensor<4xf32>
  func.return %3 : tensor<4xf32>
}

// A NaN takes the other branch here, so this is no minimum.
// CHECK-LABEL: func.func @replaces_nan
// CHECK:         hlo.select
func.func @replaces_nan(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = hlo.constant dense<0.0> : tensor<4xf32>
  %below = hlo.compare %x, %zero direction = LT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %0 = hlo.select %below, %x, %zero : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// The rules do not know layouts: ops on tensors with a layout are not changed.
// CHECK-LABEL: func.func @layout
// CHECK:         hlo.negate
// CHECK-NEXT:    hlo.negate
func.func @layout(%x: tensor<4x8xf32, #tile.layout<sbuf, [4p1], [8f1]>>) -> tensor<4x8xf32, #tile.layout<sbuf, [4f1], [8p1]>> {
  %n = hlo.negate %x : (tensor<4x8xf32, #tile.layout<sbuf, [4p1], [8f1]>>) -> tensor<4x8xf32, #tile.layout<sbuf, [4p1], [8f1]>>
  %m = hlo.negate %n : (tensor<4x8xf32, #tile.layout<sbuf, [4p1], [8f1]>>) -> tensor<4x8xf32, #tile.layout<sbuf, [4f1], [8p1]>>
  func.return %m : tensor<4x8xf32, #tile.layout<sbuf, [4f1], [8p1]>>
}
