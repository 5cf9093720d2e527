// RUN: neuron-opt %s --verify-diagnostics --split-input-file

func.func @f(%x: tensor<4xf32>, %z: tensor<2xf32>) {
  // expected-error@+1 {{an initial value must be a scalar, is tensor<2xf32>}}
  %r = hlo.reduce %x, %z dimensions = [0] ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>) -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{dimensions [1] must be distinct dimensions below the rank 1}}
  %r = hlo.reduce %x, %z dimensions = [1] ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4xi32>, %z: tensor<i32>) {
  // expected-error@+1 {{the reducer takes (tensor<f32>, tensor<f32>), must take (tensor<i32>, tensor<i32>)}}
  %r = hlo.reduce %x, %z dimensions = [0] ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{window dimensions [2, 2] must have 1 entries}}
  %r = hlo.reduce_window %x, %z window_dimensions = [2, 2], window_strides = [1], base_dilations = [1], window_dilations = [1], padding = [0, 0] ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{window dimensions [0] must be positive}}
  %r = hlo.reduce_window %x, %z window_dimensions = [0], window_strides = [1], base_dilations = [1], window_dilations = [1], padding = [0, 0] ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{k 5 must be within the last dimension of tensor<4xf32>}}
  %r = hlo.topk %x k = 5, largest = true : (tensor<4xf32>) -> tuple<tensor<5xf32>, tensor<5xi32>>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{dimension 1 must be below the rank 1}}
  %r = hlo.sort %x dimension = 1, is_stable = false ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %less = hlo.compare %a, %b direction = LT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %less : tensor<i1>
  }) : tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %s: tensor<2xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{source must have the shape [3] of the windows, is tensor<2xf32>}}
  %r = hlo.select_and_scatter %x, %s, %z window_dimensions = [2], window_strides = [1], padding = [0, 0] ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %ge = hlo.compare %a, %b direction = GE : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %ge : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4xf32>, %c: tensor<4xf32>) {
  // expected-error@+1 {{feature_index 2 must be below the rank 2}}
  %r = hlo.batch_norm_training %x, %c, %c epsilon = 1.000000e-03 : f32, feature_index = 2 : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>>
  func.return
}

// -----

func.func @f(%x: tensor<2x4xf32>, %c: tensor<2xf32>) {
  // expected-error@+1 {{tensor<2xf32> must have 4 elements, one a feature}}
  %r = hlo.batch_norm_training %x, %c, %c epsilon = 1.000000e-03 : f32, feature_index = 1 : (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tuple<tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>>
  func.return
}

// -----

func.func @f(%x: tensor<2x4xi32>, %c: tensor<4xi32>) {
  // expected-error@+1 {{operand must be float, is tensor<2x4xi32>}}
  %r = hlo.batch_norm_inference %x, %c, %c, %c, %c epsilon = 1.000000e-03 : f32, feature_index = 1 : (tensor<2x4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<2x4xi32>
  func.return
}

// -----

func.func @f() {
  // expected-error@+1 {{there must be at least one input and one initial value}}
  %r = hlo.reduce dimensions = [] ({
  ^bb0(%a: tensor<f32>):
    hlo.return %a : tensor<f32>
  }) : () -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{inputs must have one shape, are tensor<4xf32> and tensor<5xf32>}}
  %r = hlo.reduce %x, %y, %z, %z dimensions = [0] ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
    %t = hlo.tuple %a, %b : (tensor<f32>, tensor<f32>) -> tuple<tensor<f32>, tensor<f32>>
    hlo.return %t : tuple<tensor<f32>, tensor<f32>>
  }) : (tensor<4xf32>, tensor<5xf32>, tensor<f32>, tensor<f32>) -> tuple<tensor<f32>, tensor<f32>>
  func.return
}

// -----

func.func @f() {
  // expected-error@+1 {{there must be at least one input}}
  %r = hlo.sort dimension = 0, is_stable = false ({
  ^bb0(%a: tensor<f32>):
    hlo.return %a : tensor<f32>
  }) : () -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error@+1 {{inputs must have one shape, are tensor<4xf32> and tensor<5xf32>}}
  %r = hlo.sort %x, %y dimension = 0, is_stable = false ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
    %less = hlo.compare %a, %b direction = LT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %less : tensor<i1>
  }) : (tensor<4xf32>, tensor<5xf32>) -> tuple<tensor<4xf32>, tensor<5xf32>>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %s: tensor<3xf32>, %z: tensor<f64>) {
  // expected-error@+1 {{init_value must be tensor<f32>, is tensor<f64>}}
  %r = hlo.select_and_scatter %x, %s, %z window_dimensions = [2], window_strides = [1], padding = [0, 0] ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %ge = hlo.compare %a, %b direction = GE : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %ge : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : (tensor<4xf32>, tensor<3xf32>, tensor<f64>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %s: tensor<3xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{select returns tensor<f32>, must return tensor<i1>}}
  %r = hlo.select_and_scatter %x, %s, %z window_dimensions = [2], window_strides = [1], padding = [0, 0] ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    hlo.return %a : tensor<f32>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : (tensor<4xf32>, tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %s: tensor<3xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{scatter returns tensor<i1>, must return tensor<f32>}}
  %r = hlo.select_and_scatter %x, %s, %z window_dimensions = [2], window_strides = [1], padding = [0, 0] ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %ge = hlo.compare %a, %b direction = GE : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %ge : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %ge = hlo.compare %a, %b direction = GE : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %ge : tensor<i1>
  }) : (tensor<4xf32>, tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error@+1 {{input tensor<5xf32> must have the shape of the result tensor<4xf32>}}
  %r = hlo.map %x, %y dimensions = [0] ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    hlo.return %a : tensor<f32>
  }) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  func.return
}
