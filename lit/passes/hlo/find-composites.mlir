// RUN: neuron-opt %s -p hlo-find-composites | filecheck %s

// CHECK-LABEL: func.func @silu
// CHECK-NEXT:    %{{.*}} = hlo.composite %x kind = silu
// CHECK:           hlo.exponential
// CHECK:         func.return
func.func @silu(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %one = hlo.constant dense<1.0> : tensor<f32>
  %ones = hlo.broadcast %one dimensions = [] : (tensor<f32>) -> tensor<4x8xf32>
  %0 = hlo.negate %x : tensor<4x8xf32>
  %1 = hlo.exponential %0 : tensor<4x8xf32>
  %2 = hlo.add %1, %ones : tensor<4x8xf32>
  %3 = hlo.divide %x, %2 : tensor<4x8xf32>
  func.return %3 : tensor<4x8xf32>
}

// A wrong constant is another function.
// CHECK-LABEL: func.func @not_silu
// CHECK-NOT:     hlo.composite
// CHECK:         func.return
func.func @not_silu(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %one = hlo.constant dense<1.001> : tensor<f32>
  %ones = hlo.broadcast %one dimensions = [] : (tensor<f32>) -> tensor<4x8xf32>
  %0 = hlo.negate %x : tensor<4x8xf32>
  %1 = hlo.exponential %0 : tensor<4x8xf32>
  %2 = hlo.add %1, %ones : tensor<4x8xf32>
  %3 = hlo.divide %x, %2 : tensor<4x8xf32>
  func.return %3 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @softmax
// CHECK-NEXT:    %{{.*}} = hlo.composite %x kind = softmax, params = {axes = array<i64: 1>, axis = 1 : i64}
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %low = hlo.constant dense<0xFF800000> : tensor<f32>
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %m = hlo.reduce %x, %low dimensions = [1] ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = hlo.maximum %l, %r : tensor<f32>
    hlo.return %s : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %w = hlo.broadcast %m dimensions = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %d = hlo.subtract %x, %w : tensor<4x8xf32>
  %e = hlo.exponential %d : tensor<4x8xf32>
  %t = hlo.reduce %e, %zero dimensions = [1] ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = hlo.add %l, %r : tensor<f32>
    hlo.return %s : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %v = hlo.broadcast %t dimensions = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %q = hlo.divide %e, %v : tensor<4x8xf32>
  func.return %q : tensor<4x8xf32>
}

// The exponentials are a result too, so they must be kept.
// CHECK-LABEL: func.func @shared
// CHECK-NOT:     hlo.composite
// CHECK:         func.return
func.func @shared(%x: tensor<4x8xf32>) -> tuple<tensor<4x8xf32>, tensor<4x8xf32>> {
  %one = hlo.constant dense<1.0> : tensor<f32>
  %ones = hlo.broadcast %one dimensions = [] : (tensor<f32>) -> tensor<4x8xf32>
  %0 = hlo.negate %x : tensor<4x8xf32>
  %1 = hlo.exponential %0 : tensor<4x8xf32>
  %2 = hlo.add %1, %ones : tensor<4x8xf32>
  %3 = hlo.divide %x, %2 : tensor<4x8xf32>
  %4 = hlo.tuple %3, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tuple<tensor<4x8xf32>, tensor<4x8xf32>>
  func.return %4 : tuple<tensor<4x8xf32>, tensor<4x8xf32>>
}
