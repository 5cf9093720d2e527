// RUN: neuron-opt %s --elide-elementsattrs-if-larger=4 | filecheck %s
// RUN: neuron-opt %s --mlir-elide-elementsattrs-if-larger 8 | filecheck %s --check-prefix=ALL

// CHECK: %small = arith.constant dense<[1, 2]> : tensor<2xi32>
// CHECK: %splat = arith.constant dense<7> : tensor<8xi32>
// CHECK: %large = arith.constant dense_resource<__elided__> : tensor<8xi32>
// ALL: %large = arith.constant dense<[1, 2, 3, 4, 5, 6, 7, 8]> : tensor<8xi32>
func.func @f() {
  %small = arith.constant dense<[1, 2]> : tensor<2xi32>
  %splat = arith.constant dense<7> : tensor<8xi32>
  %large = arith.constant dense<[1, 2, 3, 4, 5, 6, 7, 8]> : tensor<8xi32>
  func.return
}
