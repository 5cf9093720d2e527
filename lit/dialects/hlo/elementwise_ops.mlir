// RUN: neuron-opt %s | neuron-opt | filecheck %s

// Every unary, binary and bitwise op that elementwise.mlir does not cover.

func.func @unary(%x: tensor<4xf32>, %i: tensor<4xi32>, %c: tensor<4xcomplex<f32>>) {
  // CHECK: %logistic = hlo.logistic %x : tensor<4xf32>
  %logistic = hlo.logistic %x : tensor<4xf32>
  // CHECK: %negate = hlo.negate %x : tensor<4xf32>
  %negate = hlo.negate %x : tensor<4xf32>
  // CHECK: %acos = hlo.acos %x : tensor<4xf32>
  %acos = hlo.acos %x : tensor<4xf32>
  // CHECK: %acosh = hlo.acosh %x : tensor<4xf32>
  %acosh = hlo.acosh %x : tensor<4xf32>
  // CHECK: %asin = hlo.asin %x : tensor<4xf32>
  %asin = hlo.asin %x : tensor<4xf32>
  // CHECK: %asinh = hlo.asinh %x : tensor<4xf32>
  %asinh = hlo.asinh %x : tensor<4xf32>
  // CHECK: %atanh = hlo.atanh %x : tensor<4xf32>
  %atanh = hlo.atanh %x : tensor<4xf32>
  // CHECK: %cbrt = hlo.cbrt %x : tensor<4xf32>
  %cbrt = hlo.cbrt %x : tensor<4xf32>
  // CHECK: %ceil = hlo.ceil %x : tensor<4xf32>
  %ceil = hlo.ceil %x : tensor<4xf32>
  // CHECK: %copy = hlo.copy %x : tensor<4xf32>
  %copy = hlo.copy %x : tensor<4xf32>
  // CHECK: %cosh = hlo.cosh %x : tensor<4xf32>
  %cosh = hlo.cosh %x : tensor<4xf32>
  // CHECK: %cosine = hlo.cosine %x : tensor<4xf32>
  %cosine = hlo.cosine %x : tensor<4xf32>
  // CHECK: %erf = hlo.erf %x : tensor<4xf32>
  %erf = hlo.erf %x : tensor<4xf32>
  // CHECK: %exponential_minus_one = hlo.exponential_minus_one %x : tensor<4xf32>
  %exponential_minus_one = hlo.exponential_minus_one %x : tensor<4xf32>
  // CHECK: %floor = hlo.floor %x : tensor<4xf32>
  %floor = hlo.floor %x : tensor<4xf32>
  // CHECK: %log = hlo.log %x : tensor<4xf32>
  %log = hlo.log %x : tensor<4xf32>
  // CHECK: %log_plus_one = hlo.log_plus_one %x : tensor<4xf32>
  %log_plus_one = hlo.log_plus_one %x : tensor<4xf32>
  // CHECK: %round_nearest_afz = hlo.round_nearest_afz %x : tensor<4xf32>
  %round_nearest_afz = hlo.round_nearest_afz %x : tensor<4xf32>
  // CHECK: %rsqrt = hlo.rsqrt %x : tensor<4xf32>
  %rsqrt = hlo.rsqrt %x : tensor<4xf32>
  // CHECK: %sign = hlo.sign %x : tensor<4xf32>
  %sign = hlo.sign %x : tensor<4xf32>
  // CHECK: %sine = hlo.sine %x : tensor<4xf32>
  %sine = hlo.sine %x : tensor<4xf32>
  // CHECK: %sinh = hlo.sinh %x : tensor<4xf32>
  %sinh = hlo.sinh %x : tensor<4xf32>
  // CHECK: %sqrt = hlo.sqrt %x : tensor<4xf32>
  %sqrt = hlo.sqrt %x : tensor<4xf32>
  // CHECK: %tan = hlo.tan %x : tensor<4xf32>
  %tan = hlo.tan %x : tensor<4xf32>
  // CHECK: %tanh = hlo.tanh %x : tensor<4xf32>
  %tanh = hlo.tanh %x : tensor<4xf32>
  // CHECK: %clz = hlo.count_leading_zeros %i : tensor<4xi32>
  %clz = hlo.count_leading_zeros %i : tensor<4xi32>
  // CHECK: %imag = hlo.imag %c : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %imag = hlo.imag %c : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  func.return
}

func.func @binary(%x: tensor<4xf32>, %y: tensor<4xf32>, %i: tensor<4xi32>, %j: tensor<4xi32>, %bits: tensor<4xui32>) {
  // CHECK: %atan2 = hlo.atan2 %x, %y : tensor<4xf32>
  %atan2 = hlo.atan2 %x, %y : tensor<4xf32>
  // CHECK: %divide = hlo.divide %x, %y : tensor<4xf32>
  %divide = hlo.divide %x, %y : tensor<4xf32>
  // CHECK: %maximum = hlo.maximum %x, %y : tensor<4xf32>
  %maximum = hlo.maximum %x, %y : tensor<4xf32>
  // CHECK: %multiply = hlo.multiply %x, %y : tensor<4xf32>
  %multiply = hlo.multiply %x, %y : tensor<4xf32>
  // CHECK: %minimum = hlo.minimum %x, %y : tensor<4xf32>
  %minimum = hlo.minimum %x, %y : tensor<4xf32>
  // CHECK: %power = hlo.power %x, %y : tensor<4xf32>
  %power = hlo.power %x, %y : tensor<4xf32>
  // CHECK: %remainder = hlo.remainder %x, %y : tensor<4xf32>
  %remainder = hlo.remainder %x, %y : tensor<4xf32>
  // CHECK: %subtract = hlo.subtract %x, %y : tensor<4xf32>
  %subtract = hlo.subtract %x, %y : tensor<4xf32>
  // CHECK: %and = hlo.and %i, %j : tensor<4xi32>
  %and = hlo.and %i, %j : tensor<4xi32>
  // CHECK: %or = hlo.or %i, %j : tensor<4xi32>
  %or = hlo.or %i, %j : tensor<4xi32>
  // CHECK: %xor = hlo.xor %i, %j : tensor<4xi32>
  %xor = hlo.xor %i, %j : tensor<4xi32>
  // CHECK: %shift_left = hlo.shift_left %i, %j : tensor<4xi32>
  %shift_left = hlo.shift_left %i, %j : tensor<4xi32>
  // CHECK: %shift_right_logical = hlo.shift_right_logical %i, %j : tensor<4xi32>
  %shift_right_logical = hlo.shift_right_logical %i, %j : tensor<4xi32>
  // CHECK: %stochastic_convert = hlo.stochastic_convert %x, %bits : (tensor<4xf32>, tensor<4xui32>) -> tensor<4xbf16>
  %stochastic_convert = hlo.stochastic_convert %x, %bits : (tensor<4xf32>, tensor<4xui32>) -> tensor<4xbf16>
  func.return
}
