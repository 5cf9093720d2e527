// RUN: not neuron-opt %s -p 'hlo-verify-supported{target=inf1}' 2>&1 | filecheck %s
// RUN: neuron-opt %s -p 'hlo-verify-supported{target=trn1}' | filecheck %s --check-prefix=TRN1

// inf1 takes slices at places that are known, but none that an index chooses at run time.

// CHECK:     1 operation is not supported by inf1
// CHECK:     [NCC_EVRF001] hlo.dynamic_slice
// CHECK-SAME: inf1 has no transfers whose addresses are computed at run time
// TRN1-COUNT-2: hlo.dynamic_slice
func.func @main(%x: tensor<8xf32>, %i: tensor<i32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %c = hlo.constant dense<3> : tensor<i32>
  %0 = hlo.dynamic_slice %x, %c slice_sizes = [2] : (tensor<8xf32>, tensor<i32>) -> tensor<2xf32>
  %1 = hlo.dynamic_slice %x, %i slice_sizes = [2] : (tensor<8xf32>, tensor<i32>) -> tensor<2xf32>
  func.return %0, %1 : tensor<2xf32>, tensor<2xf32>
}
