// RUN: neuron-opt %s -p toy-lower-scale | filecheck %s
// RUN: neuron-opt %s -p 'toy-lower-scale{keep-unit}' | filecheck %s --check-prefix=KEEP
// RUN: neuron-opt %s -p toy-lower-scale --run

// CHECK-LABEL: func.func @double
// CHECK: %[[X:.*]] = hlo.constant dense<[1.0
// CHECK: %[[TWO:.*]] = hlo.constant dense<2.0{{.*}}> : tensor<f32>
// CHECK: %[[ALL:.*]] = hlo.broadcast %[[TWO]] dimensions = [] : (tensor<f32>) -> tensor<2xf32>
// CHECK: hlo.multiply %[[X]], %[[ALL]] : tensor<2xf32>
func.func @double() {
  %x = hlo.constant dense<[1.0, 3.0]> : tensor<2xf32>
  %y = toy.scale %x by 2.0 : f32 : tensor<2xf32>
  %expected = hlo.constant dense<[2.0, 6.0]> : tensor<2xf32>
  check.expect_eq %y, %expected : tensor<2xf32>
  func.return
}

// CHECK-LABEL: func.func @unit
// CHECK-NEXT: func.return %x
// KEEP-LABEL: func.func @unit
// KEEP: hlo.multiply
func.func @unit(%x : tensor<2xf32>) -> tensor<2xf32> {
  %y = toy.scale %x by 1.0 : f32 : tensor<2xf32>
  func.return %y : tensor<2xf32>
}
