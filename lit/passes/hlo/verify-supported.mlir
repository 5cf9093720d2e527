// RUN: not neuron-opt %s -p hlo-verify-supported 2>&1 | filecheck %s
// RUN: not neuron-opt %s -p 'hlo-verify-supported{target="toaster"}' 2>&1 | filecheck %s --check-prefix=TARGET

// All problems at once, each with its code.
// CHECK: 4 operations are not supported by trn1
// CHECK: [NCC_EVRF001] hlo.cholesky {{.*}}trn1 has no lowering for it
// CHECK: [NCC_ESPP004] hlo.negate {{.*}}data type f64 is not supported
// CHECK: [NCC_EMOD025] hlo.sine {{.*}}its shape is dynamic
// CHECK: [NCC_ESPP004] hlo.add {{.*}}tf32 is a type of operands of products only
// CHECK: list-operators
// TARGET: [NIR_TGT001] unknown target 'toaster'
func.func @main(%x: tensor<4x4xf32>, %y: tensor<4xf64>, %z: tensor<?xf32>) -> tensor<4x4xf32> {
  %0 = hlo.cholesky %x lower = true : tensor<4x4xf32>
  %1 = hlo.negate %y : tensor<4xf64>
  %2 = hlo.sine %z : tensor<?xf32>
  %3 = hlo.convert %x : (tensor<4x4xf32>) -> tensor<4x4xtf32>
  %4 = hlo.transpose %3 permutation = [1, 0] : tensor<4x4xtf32>
  %5 = hlo.add %3, %4 : tensor<4x4xtf32>
  func.return %0 : tensor<4x4xf32>
}
