// RUN: neuron-opt %s -p hlo-constant-fold,hlo-dce | filecheck %s
// RUN: neuron-opt %s -p 'hlo-constant-fold{limit=2},hlo-dce' | filecheck %s --check-prefix=LIMIT

// CHECK-LABEL: func.func @known
// CHECK-NEXT:    %[[C:.*]] = hlo.constant dense<[3, 5, 7, 9]> : tensor<4xi32>
// CHECK-NEXT:    func.return %[[C]]
// LIMIT-LABEL: func.func @known
// LIMIT:         hlo.iota
// LIMIT:         func.return
func.func @known() -> tensor<4xi32> {
  %i = hlo.iota iota_dimension = 0 : () -> tensor<4xi32>
  %two = hlo.constant dense<2> : tensor<i32>
  %three = hlo.constant dense<3> : tensor<i32>
  %a = hlo.broadcast %two dimensions = [] : (tensor<i32>) -> tensor<4xi32>
  %b = hlo.broadcast %three dimensions = [] : (tensor<i32>) -> tensor<4xi32>
  %0 = hlo.multiply %i, %a : tensor<4xi32>
  %1 = hlo.add %0, %b : tensor<4xi32>
  func.return %1 : tensor<4xi32>
}

// A number everywhere never becomes a large constant.
// CHECK-LABEL: func.func @everywhere
// CHECK-NEXT:    %[[C:.*]] = hlo.constant dense<6.0{{.*}}> : tensor<f32>
// CHECK-NEXT:    %{{.*}} = hlo.broadcast %[[C]] dimensions = [] : (tensor<f32>) -> tensor<64x64xf32>
func.func @everywhere() -> tensor<64x64xf32> {
  %two = hlo.constant dense<2.0> : tensor<f32>
  %three = hlo.constant dense<3.0> : tensor<f32>
  %a = hlo.broadcast %two dimensions = [] : (tensor<f32>) -> tensor<64x64xf32>
  %b = hlo.broadcast %three dimensions = [] : (tensor<f32>) -> tensor<64x64xf32>
  %0 = hlo.multiply %a, %b : tensor<64x64xf32>
  func.return %0 : tensor<64x64xf32>
}
