// RUN: neuron-opt %s -p 'hlo-decompose{keep_functions=true}' | filecheck %s
// RUN: neuron-opt %s -p 'hlo-decompose{keep_functions=true},hlo-auto-cast{mode="all" type="bf16"},hlo-decompose' | filecheck %s --check-prefix=CAST

// Functions of floats stay. Those of integers, and powers that are products, do not.
// CHECK-LABEL: func.func @main
// CHECK:         hlo.floor
// CHECK:         hlo.sine
// CHECK-NOT:     hlo.power
// CHECK-NOT:     hlo.remainder
// CHECK:         func.return

// Rounding to an integer has a constant that suits bf16; the range of a sine is reduced in fp32.
// CAST-LABEL:  func.func @main
// CAST:          hlo.constant dense<1.280000e+02> : tensor<bf16>
// CAST:          hlo.convert {{.*}} : (tensor<4xbf16>) -> tensor<4xf32>
// CAST:          hlo.constant dense<0x4B400000> : tensor<f32>
// CAST:          hlo.sine {{.*}} : tensor<4xf32>
// CAST-NEXT:     hlo.convert {{.*}} : (tensor<4xf32>) -> tensor<4xbf16>
func.func @main(%x: tensor<4xf32>, %i: tensor<4xi32>, %j: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>) {
  %three = hlo.constant dense<3.0> : tensor<f32>
  %n = hlo.broadcast %three dimensions = [] : (tensor<f32>) -> tensor<4xf32>
  %0 = hlo.floor %x : tensor<4xf32>
  %1 = hlo.sine %x : tensor<4xf32>
  %2 = hlo.power %x, %n : tensor<4xf32>
  %3 = hlo.remainder %i, %j : tensor<4xi32>
  func.return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>
}
