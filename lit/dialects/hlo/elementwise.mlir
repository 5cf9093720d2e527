// RUN: neuron-opt %s | neuron-opt | filecheck %s
// Unary and binary ops print one type; ops that change it print a function type.

func.func @unary(%x: tensor<2x3xf32>, %i: tensor<4xi32>, %c: tensor<2xcomplex<f32>>, %p: tensor<4xi1>) -> tensor<2x3xf32> {
  // CHECK: hlo.abs %x : tensor<2x3xf32>
  %0 = hlo.abs %x : tensor<2x3xf32>
  // CHECK: hlo.abs %c : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %1 = hlo.abs %c : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  // CHECK: hlo.exponential %x {metadata = {op_name = "e"}} : tensor<2x3xf32>
  %2 = hlo.exponential %x {metadata = {op_name = "e"}} : tensor<2x3xf32>
  // CHECK: hlo.not %p : tensor<4xi1>
  %3 = hlo.not %p : tensor<4xi1>
  // CHECK: hlo.popcnt %i : tensor<4xi32>
  %4 = hlo.popcnt %i : tensor<4xi32>
  // CHECK: hlo.is_finite %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
  %5 = hlo.is_finite %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK: hlo.convert %x : (tensor<2x3xf32>) -> tensor<2x3xbf16>
  %6 = hlo.convert %x : (tensor<2x3xf32>) -> tensor<2x3xbf16>
  // CHECK: hlo.bitcast_convert %i : (tensor<4xi32>) -> tensor<4x4xi8>
  %7 = hlo.bitcast_convert %i : (tensor<4xi32>) -> tensor<4x4xi8>
  // CHECK: hlo.reduce_precision %x exponent_bits = 8, mantissa_bits = 7 : tensor<2x3xf32>
  %8 = hlo.reduce_precision %x exponent_bits = 8, mantissa_bits = 7 : tensor<2x3xf32>
  // CHECK: hlo.real %c : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %9 = hlo.real %c : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  // CHECK: hlo.round_nearest_even %x : tensor<2x3xf32>
  %10 = hlo.round_nearest_even %x : tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

func.func @binary(%x: tensor<4xf32>, %y: tensor<4xf32>, %i: tensor<4xi32>, %p: tensor<i1>) -> tensor<4xf32> {
  // CHECK: hlo.add %x, %y : tensor<4xf32>
  %0 = hlo.add %x, %y : tensor<4xf32>
  // CHECK: hlo.shift_right_arithmetic %i, %i : tensor<4xi32>
  %1 = hlo.shift_right_arithmetic %i, %i : tensor<4xi32>
  // CHECK: hlo.complex %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f32>>
  %2 = hlo.complex %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f32>>
  // CHECK: hlo.compare %x, %y direction = LT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %3 = hlo.compare %x, %y direction = LT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK: hlo.compare %x, %y direction = EQ, compare_type = TOTALORDER
  %4 = hlo.compare %x, %y direction = EQ, compare_type = TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK: hlo.select %{{.*}}, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = hlo.select %3, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: hlo.select %p, %x, %y : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %6 = hlo.select %p, %x, %y : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: hlo.clamp %x, %y, %x : tensor<4xf32>
  %7 = hlo.clamp %x, %y, %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

func.func @constants() -> tensor<2xf32> {
  // CHECK: hlo.constant dense<[1.000000e+00, -2.500000e+00]> : tensor<2xf32>
  %0 = hlo.constant dense<[1.0, -2.5]> : tensor<2xf32>
  // CHECK: hlo.constant dense<"0x000080FF"> : tensor<f32>
  %1 = hlo.constant dense<0xFF800000> : tensor<f32>
  // CHECK: hlo.constant dense<"0x0000008000000000"> : tensor<2xf32>
  %zeros = hlo.constant dense<[-0.0, 0.0]> : tensor<2xf32>
  // CHECK: hlo.constant dense<-0.000000e+00> : tensor<64x64xf32>
  %equal = hlo.constant dense<-0.0> : tensor<64x64xf32>
  // CHECK: hlo.constant dense<[true, false]> : tensor<2xi1> {metadata = {op_name = "c"}}
  %2 = hlo.constant dense<[true, false]> : tensor<2xi1> {metadata = {op_name = "c"}}
  // CHECK: hlo.iota iota_dimension = 1 : tensor<2x3xi32>
  %3 = hlo.iota iota_dimension = 1 : tensor<2x3xi32>
  func.return %0 : tensor<2xf32>
}
