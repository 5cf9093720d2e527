// RUN: neuron-opt %s --verify-diagnostics --split-input-file

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{operand 'operand' at position 0 does not verify: must be a tuple, is tensor<2xf32>}}
  %r = hlo.get_tuple_element %x index = 0 : tensor<2xf32>
  func.return
}

// -----

func.func @f(%x: tuple<tensor<2xf32>>) {
  // expected-error@+1 {{index 1 must be below the size of tuple<tensor<2xf32>>}}
  %r = hlo.get_tuple_element %x index = 1 : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{callee @nobody must be a function of the module}}
  %r = hlo.call %x callee = @nobody : tensor<2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2xf32>, %p: tensor<i1>) {
  // expected-error@+1 {{a pred chooses one of 2 branches, not of 1}}
  %r = hlo.conditional %p, %x, %x ({
  ^bb0(%a: tensor<2xf32>):
    hlo.return %a : tensor<2xf32>
  }) : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2xf32>, %s: tensor<f32>) {
  // expected-error@+1 {{dimensions [1] must be distinct dimensions below the rank 1}}
  %r = hlo.reduce %x, %s dimensions = [1] ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    hlo.return %a : tensor<f32>
  }) : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<2xf32>, %s: tensor<f32>) {
  // expected-error@+1 {{the reducer takes (tensor<f32>), must take (tensor<f32>, tensor<f32>)}}
  %r = hlo.reduce %x, %s dimensions = [0] ({
  ^bb0(%a: tensor<f32>):
    hlo.return %a : tensor<f32>
  }) : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{the comparator returns tensor<f32>, must return tensor<i1>}}
  %r = hlo.sort %x dimension = 0, is_stable = false ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    hlo.return %a : tensor<f32>
  }) : tensor<2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{the region takes (tensor<3xf32>), must take (tensor<2xf32>)}}
  %r = hlo.composite %x kind = silu ({
  ^bb0(%a: tensor<3xf32>):
    hlo.return %a : tensor<3xf32>
  }) : tensor<2xf32>
  func.return
}

// -----

func.func @f(%n: tensor<i32>) {
  // expected-error@+1 {{cond returns tensor<i32>, must return tensor<i1>}}
  %r = hlo.while %n ({
  ^bb0(%a: tensor<i32>):
    hlo.return %a : tensor<i32>
  }, {
  ^bb0(%b: tensor<i32>):
    hlo.return %b : tensor<i32>
  }) : tensor<i32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{operand 'inputs' at position 0 does not verify: must be a token, is tensor<4xf32>}}
  %r = hlo.after_all %x : (tensor<4xf32>) -> !hlo.token
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{callee @absent must be a function of the module}}
  %r = hlo.call %x callee = @absent : tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{the region takes (tensor<2xf32>), must take (tensor<4xf32>)}}
  %r = hlo.fusion %x kind = kLoop ({
  ^bb0(%a: tensor<2xf32>):
    hlo.return %a : tensor<2xf32>
  }) : (tensor<4xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{operand 'operand' at position 0 does not verify: must be a tuple, is tensor<4xf32>}}
  %r = hlo.get_tuple_element %x index = 0 : tensor<4xf32>
  func.return
}

// -----

func.func @f(%p: tensor<f32>, %x: tensor<4xf32>) {
  // expected-error@+1 {{operand 'index_or_pred' at position 0 does not verify: element type must be integer or pred, is f32}}
  %r = hlo.conditional %p, %x, %x ({
  ^bb0(%a: tensor<4xf32>):
    hlo.return %a : tensor<4xf32>
  }, {
  ^bb0(%b: tensor<4xf32>):
    hlo.return %b : tensor<4xf32>
  }) : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{dimension 1 must be one of tensor<4xf32>}}
  %r = hlo.all_gather %x replica_groups = [array<i64: 0, 1>], dimension = 1 : (tensor<4xf32>) -> tensor<8xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{tensor<4xf32> cannot become tensor<7xf32> along dimension 0}}
  %r = hlo.all_gather %x replica_groups = [array<i64: 0, 1>], dimension = 0 : (tensor<4xf32>) -> tensor<7xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{tensor<4xf32> cannot become tensor<3xf32> along dimension 0}}
  %r = hlo.reduce_scatter %x replica_groups = [array<i64: 0, 1>], dimension = 0 ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<3xf32>
  func.return
}

// -----

func.func private @g(tensor<2xf32>) -> tensor<3xf32>
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{operands must have the types of @g (tensor<2xf32>) -> tensor<3xf32>}}
  %r = hlo.call %x callee = @g : (tensor<4xf32>) -> tensor<3xf32>
  func.return
}

// -----

func.func @g(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
func.func @f(%x: tensor<2xf32>) {
  // expected-error@+1 {{result must have the type of @g (tensor<2xf32>) -> tensor<2xf32>}}
  %r = hlo.call %x callee = @g : (tensor<2xf32>) -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%n: tensor<i32>) {
  // expected-error@+1 {{body returns tensor<i1>, must return tensor<i32>}}
  %r = hlo.while %n ({
  ^bb0(%a: tensor<i32>):
    %more = hlo.compare %a, %a direction = LT : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %more : tensor<i1>
  }, {
  ^bb0(%b: tensor<i32>):
    %more = hlo.compare %b, %b direction = LT : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %more : tensor<i1>
  }) : tensor<i32>
  func.return
}

// -----

func.func @f(%p: tensor<i64>, %x: tensor<4xf32>) {
  // expected-error@+1 {{index must be a scalar i1 or i32, is tensor<i64>}}
  %r = hlo.conditional %p, %x ({
  ^bb0(%a: tensor<4xf32>):
    hlo.return %a : tensor<4xf32>
  }) : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%p: tensor<i32>, %x: tensor<4xf32>) {
  // expected-error@+1 {{must have one operand for each of 1 branches, has 2}}
  %r = hlo.conditional %p, %x, %x ({
  ^bb0(%a: tensor<4xf32>):
    hlo.return %a : tensor<4xf32>
  }) : (tensor<i32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%p: tensor<i32>, %x: tensor<4xf32>) {
  // expected-error@+1 {{branch 0 takes (tensor<5xf32>), must take (tensor<4xf32>)}}
  %r = hlo.conditional %p, %x ({
  ^bb0(%a: tensor<5xf32>):
    hlo.return %a : tensor<5xf32>
  }) : (tensor<i32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%a: tensor<f64>, %b: tensor<f32>) {
  // expected-error@+1 {{parameters must be scalars of tensor<4xf32>, one is tensor<f64>}}
  %r = hlo.rng %a, %b distribution = UNIFORM : (tensor<f64>, tensor<f32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%s: tensor<2xui64>) {
  // expected-error@+1 {{the new state must have type tensor<2xui64>, has tensor<3xui64>}}
  %r = hlo.rng_bit_generator %s algorithm = THREE_FRY : (tensor<2xui64>) -> tuple<tensor<3xui64>, tensor<4xui32>>
  func.return
}

// -----

func.func @f() {
  // expected-error@+1 {{there must be at least one operand}}
  %r = hlo.collective_permute source_target_pairs = [] : () -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{2 operands give as many results}}
  %r = hlo.all_gather %x, %y replica_groups = [array<i64: 0, 1>], dimension = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  func.return
}
