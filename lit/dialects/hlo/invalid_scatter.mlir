// RUN: neuron-opt %s --verify-diagnostics --split-input-file

func.func @f(%x: tensor<4x5xf32>, %i: tensor<2x1xf32>, %u: tensor<2x5xf32>) {
  // expected-error@+1 {{indices must be integers, are tensor<2x1xf32>}}
  %r = hlo.scatter %x, %i, %u update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1 ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<2x1xf32>, tensor<2x5xf32>) -> tensor<4x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x5xf32>, %y: tensor<4x6xf32>, %i: tensor<2x1xi32>, %u: tensor<2x5xf32>, %v: tensor<2x5xf32>) {
  // expected-error@+1 {{inputs must have one shape, are tensor<4x5xf32> and tensor<4x6xf32>}}
  %r = hlo.scatter %x, %y, %i, %u, %v update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1 ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<4x6xf32>, tensor<2x1xi32>, tensor<2x5xf32>, tensor<2x5xf32>) -> tuple<tensor<4x5xf32>, tensor<4x6xf32>>
  func.return
}

// -----

func.func @f(%x: tensor<4x5xf32>, %i: tensor<2x1xi32>, %u: tensor<2x5xf32>) {
  // expected-error@+1 {{index_vector_dim 3 must be at most 2}}
  %r = hlo.scatter %x, %i, %u update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 3 ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<2x1xi32>, tensor<2x5xf32>) -> tensor<4x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x5xf32>, %i: tensor<2x1xi32>, %u: tensor<2x5xf32>) {
  // expected-error@+1 {{inserted_window_dims and input_batching_dims [0, 0] must be distinct dimensions below the rank 2}}
  %r = hlo.scatter %x, %i, %u update_window_dims = [1], inserted_window_dims = [0, 0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1 ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<2x1xi32>, tensor<2x5xf32>) -> tensor<4x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x5xf32>, %i: tensor<2x1xi32>, %u: tensor<2x5xf32>) {
  // expected-error@+1 {{scatter_dims_to_operand_dims [2] must be distinct dimensions below the rank 2}}
  %r = hlo.scatter %x, %i, %u update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [2], index_vector_dim = 1 ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<2x1xi32>, tensor<2x5xf32>) -> tensor<4x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x5xf32>, %i: tensor<2x1xi32>, %u: tensor<2x5xf32>) {
  // expected-error@+1 {{scatter_dims_to_operand_dims [0, 1] must have 1 entries}}
  %r = hlo.scatter %x, %i, %u update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1 ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<2x1xi32>, tensor<2x5xf32>) -> tensor<4x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x5xf32>, %i: tensor<2x1xi32>, %u: tensor<2x5xf32>) {
  // expected-error@+1 {{update_window_dims [0, 1] must have 1 entries}}
  %r = hlo.scatter %x, %i, %u update_window_dims = [0, 1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1 ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<2x1xi32>, tensor<2x5xf32>) -> tensor<4x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x5xf32>, %i: tensor<2x1xi32>, %u: tensor<2x5xf32>) {
  // expected-error@+1 {{update_window_dims [2] must be distinct dimensions below the rank 2}}
  %r = hlo.scatter %x, %i, %u update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1 ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<2x1xi32>, tensor<2x5xf32>) -> tensor<4x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x5xf32>, %i: tensor<2x1xi32>, %u: tensor<2xf32>) {
  // expected-error@+1 {{update dimensions [2] must have 2 entries}}
  %r = hlo.scatter %x, %i, %u update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1 ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<2x1xi32>, tensor<2xf32>) -> tensor<4x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x5xf32>, %i: tensor<2x1xi32>, %u: tensor<2x6xf32>) {
  // expected-error@+1 {{update dimension 1 of size 6 must be within 5}}
  %r = hlo.scatter %x, %i, %u update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1 ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<2x1xi32>, tensor<2x6xf32>) -> tensor<4x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x5xf32>, %i: tensor<2x1xi32>, %u: tensor<2x5xf64>) {
  // expected-error@+1 {{element types of tensor<4x5xf32> and tensor<2x5xf64> must agree}}
  %r = hlo.scatter %x, %i, %u update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1 ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<2x1xi32>, tensor<2x5xf64>) -> tensor<4x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x5xf32>, %i: tensor<2x1xi32>, %u: tensor<2x5xf32>) {
  // expected-error@+1 {{the region takes (tensor<f32>), must take (tensor<f32>, tensor<f32>)}}
  %r = hlo.scatter %x, %i, %u update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1 ({
  ^bb0(%a: tensor<f32>):
    hlo.return %a : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<2x1xi32>, tensor<2x5xf32>) -> tensor<4x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x5xf32>, %i: tensor<2x1xi32>, %u: tensor<2x5xf32>) {
  // expected-error@+1 {{the region must end in hlo.return of one value}}
  %r = hlo.scatter %x, %i, %u update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1 ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    "test.termop"() : () -> ()
  }) : (tensor<4x5xf32>, tensor<2x1xi32>, tensor<2x5xf32>) -> tensor<4x5xf32>
  func.return
}
