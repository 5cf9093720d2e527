// RUN: neuron-opt %s -p hlo-canonicalize,hlo-dce | filecheck %s

// XLA's TopK returns the largest values of the last dimension and their indices.
// CHECK-LABEL: func.func @top
// CHECK-NEXT:    %[[R:.*]] = hlo.topk %x k = 2, largest = true
// CHECK-NEXT:    func.return %[[R]]
func.func @top(%x: tensor<4x6xf32>) -> tuple<tensor<4x2xf32>, tensor<4x2xi32>> {
  %0 = hlo.custom_call %x call_target_name = "TopK" : (tensor<4x6xf32>) -> tuple<tensor<4x2xf32>, tensor<4x2xi32>>
  func.return %0 : tuple<tensor<4x2xf32>, tensor<4x2xi32>>
}

// Other targets, and results of other types, stay.
// CHECK-LABEL: func.func @others
// CHECK-NEXT:    hlo.custom_call
// CHECK-NEXT:    hlo.custom_call
func.func @others(%x: tensor<4x6xf32>) -> tuple<tuple<tensor<4x2xf32>, tensor<4x2xi64>>, tensor<4xf32>> {
  %0 = hlo.custom_call %x call_target_name = "TopK" : (tensor<4x6xf32>) -> tuple<tensor<4x2xf32>, tensor<4x2xi64>>
  %1 = hlo.custom_call %x call_target_name = "Mystery" : (tensor<4x6xf32>) -> tensor<4xf32>
  %2 = hlo.tuple %0, %1 : (tuple<tensor<4x2xf32>, tensor<4x2xi64>>, tensor<4xf32>) -> tuple<tuple<tensor<4x2xf32>, tensor<4x2xi64>>, tensor<4xf32>>
  func.return %2 : tuple<tuple<tensor<4x2xf32>, tensor<4x2xi64>>, tensor<4xf32>>
}
