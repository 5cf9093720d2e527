// RUN: neuron-opt %s --verify-diagnostics --split-input-file

func.func @f(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error@+1 {{lhs and rhs must have one type, are tensor<2xf32> and tensor<3xf32>}}
  %r = hlo.add %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{result type must be tensor<2xf32>, is tensor<2xf64>}}
  %r = hlo.add %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf64>
  func.return
}

// -----

func.func @f(%x: tensor<2xi32>) {
  // expected-error@+1 {{element type must be float or complex, is i32}}
  %r = hlo.tanh %x : tensor<2xi32>
  func.return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{element type must be integer or pred, is f32}}
  %r = hlo.xor %x, %x : tensor<2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2xi1>) {
  // expected-error@+1 {{element type must be a number, is i1}}
  %r = hlo.negate %x : tensor<2xi1>
  func.return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{direction must be one of EQ, NE, LT, LE, GT, GE, is "LESS"}}
  %r = hlo.compare %x, %x direction = LESS : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  func.return
}

// -----

func.func @f(%x: tensor<2xf32>, %p: tensor<3xi1>) {
  // expected-error@+1 {{pred must be a scalar or have the shape of tensor<2xf32>, is tensor<3xi1>}}
  %r = hlo.select %p, %x, %x : (tensor<3xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2xf32>, %y: tensor<1xf32>) {
  // expected-error@+1 {{min must have type tensor<2xf32> or be a scalar of it, is tensor<1xf32>}}
  %r = hlo.clamp %y, %x, %x : (tensor<1xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{shape [2] must not change, becomes [3]}}
  %r = hlo.convert %x : (tensor<2xf32>) -> tensor<3xf64>
  func.return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{result shape must be [2, 3, 4], is [2, 3]}}
  %r = hlo.bitcast_convert %x : (tensor<2x3xf32>) -> tensor<2x3xi8>
  func.return
}

// -----

func.func @f() {
  // expected-error@+1 {{iota_dimension 2 must be below the rank 2}}
  %r = hlo.iota iota_dimension = 2 : tensor<2x3xi32>
  func.return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{exponent_bits must be at least 1}}
  %r = hlo.reduce_precision %x exponent_bits = 0, mantissa_bits = 7 : tensor<2xf32>
  func.return
}

// -----

func.func @f(%i: tensor<4xi32>) {
  // expected-error@+1 {{element type must be float, is i32}}
  %r = hlo.is_finite %i : (tensor<4xi32>) -> tensor<4xi1>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{element type must be integer, is f32}}
  %r = hlo.popcnt %x : tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error@+1 {{lhs and rhs must have one type, are tensor<4xf32> and tensor<5xf32>}}
  %r = hlo.maximum %x, %y : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{result type must be tensor<4xcomplex<f32>>, is tensor<4xf32>}}
  %r = hlo.complex %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%h: tensor<4xf16>) {
  // expected-error@+1 {{element type must be f32 or f64, is f16}}
  %r = hlo.complex %h, %h : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xcomplex<f32>>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{mantissa_bits must not be negative}}
  %r = hlo.reduce_precision %x exponent_bits = 8, mantissa_bits = -1 : tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %b: tensor<4xui32>) {
  // expected-error@+1 {{shape [4] must not change, becomes [5]}}
  %r = hlo.stochastic_convert %x, %b : (tensor<4xf32>, tensor<4xui32>) -> tensor<5xbf16>
  func.return
}

// -----

func.func @f(%p: tensor<2xi1>, %x: tensor<4xf32>) {
  // expected-error@+1 {{pred must be a scalar or have the shape of tensor<4xf32>, is tensor<2xi1>}}
  %r = hlo.select %p, %x, %x : (tensor<2xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{shape [4] must not change, becomes [2]}}
  %r = hlo.convert %x : (tensor<4xf32>) -> tensor<2xbf16>
  func.return
}

// -----

func.func @f() {
  // expected-error@+1 {{iota_dimension 1 must be below the rank 1}}
  %r = hlo.iota iota_dimension = 1 : tensor<4xi32>
  func.return
}

// -----

func.func @f(%x: tensor<2x3xi8>) {
  // expected-error@+1 {{the last dimension of tensor<2x3xi8> must be 4}}
  %r = hlo.bitcast_convert %x : (tensor<2x3xi8>) -> tensor<2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{compare_type must be one of FLOAT, TOTALORDER, SIGNED, UNSIGNED, is "EXACT"}}
  %r = hlo.compare %x, %x direction = LT, compare_type = EXACT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  func.return
}

// -----

func.func @f(%p: tensor<2xi1>, %x: tensor<2xf32>, %y: tensor<2xf64>) {
  // expected-error@+1 {{on_true and on_false must have one type, are tensor<2xf32> and tensor<2xf64>}}
  %r = hlo.select %p, %x, %y : (tensor<2xi1>, tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  func.return
}

// -----

func.func @f(%p: tensor<2xi8>, %x: tensor<2xf32>) {
  // expected-error@+1 {{pred must have elements of type i1, is tensor<2xi8>}}
  %r = hlo.select %p, %x, %x : (tensor<2xi8>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @f() {
  // expected-error@+1 {{value must be dense elements or an hlo resource, is "one"}}
  %r = hlo.constant "one" : tensor<f32>
  func.return
}

// -----

func.func @f() {
  // expected-error@+1 {{value has type tensor<2xf32>, the result tensor<3xf32>}}
  %r = "hlo.constant"() <{value = dense<1.0> : tensor<2xf32>}> : () -> tensor<3xf32>
  func.return
}
