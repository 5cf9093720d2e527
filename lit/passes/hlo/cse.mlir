// RUN: neuron-opt %s -p hlo-cse | filecheck %s

// Equal ops, equal constants and equal reductions merge; random numbers do not.

// CHECK-LABEL: func.func @main
// CHECK:         %[[Z:.*]] = hlo.constant dense<0.0{{.*}}> : tensor<f32>
// CHECK-NEXT:    %[[R:.*]] = hlo.reduce %x, %[[Z]]
// CHECK-NOT:     hlo.reduce
// CHECK:         %{{.*}} = hlo.add %[[R]], %[[R]]
func.func @main(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %a = hlo.constant dense<0.0> : tensor<f32>
  %b = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.reduce %x, %a dimensions = [1] ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = hlo.add %l, %r : tensor<f32>
    hlo.return %s : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = hlo.reduce %x, %b dimensions = [1] ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = hlo.add %l, %r : tensor<f32>
    hlo.return %s : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = hlo.add %0, %1 : tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
