// RUN: status 1 neuron-opt %s --split-input-file 2>&1 | filecheck %s
// CHECK: errors.mlir:8:10: error: [NIR_HLO003] unknown op 'stablehlo.plus'
// CHECK-NEXT: %0 = stablehlo.plus %arg0, %arg0 : tensor<4xf32>
// CHECK-NEXT: {{^ *\^$}}
// CHECK: errors.mlir:13:26: error: [NCC_EMOD025] dynamic shape tensor<?xf32> is not supported
// CHECK-NOT: Traceback
func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.plus %arg0, %arg0 : tensor<4xf32>
    return %0 : tensor<4xf32>
}
// -----
module {
  func.func @main(%arg0: tensor<?xf32>) -> tensor<?xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<?xf32>
    return %0 : tensor<?xf32>
  }
}
