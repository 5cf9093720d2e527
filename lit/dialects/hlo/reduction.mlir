// RUN: neuron-opt %s | neuron-opt | filecheck %s

func.func @reductions(%x: tensor<4x6xf32>, %i: tensor<4x6xi32>, %f: tensor<f32>, %n: tensor<i32>, %s: tensor<2x3xf32>) -> tensor<4xf32> {
  // CHECK: hlo.reduce %x, %f dimensions = [1] ({
  %0 = hlo.reduce %x, %f dimensions = [1] ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    // CHECK: hlo.return %sum : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
  // Several inputs reduce together to a tuple.
  // CHECK: hlo.reduce %x, %i, %f, %n dimensions = [0] ({
  %1 = hlo.reduce %x, %i, %f, %n dimensions = [0] ({
  ^bb0(%a1: tensor<f32>, %b1: tensor<i32>, %c1: tensor<f32>, %d1: tensor<i32>):
    %t = hlo.tuple %c1, %d1 : (tensor<f32>, tensor<i32>) -> tuple<tensor<f32>, tensor<i32>>
    hlo.return %t : tuple<tensor<f32>, tensor<i32>>
  // CHECK: -> tuple<tensor<6xf32>, tensor<6xi32>>
  }) : (tensor<4x6xf32>, tensor<4x6xi32>, tensor<f32>, tensor<i32>) -> tuple<tensor<6xf32>, tensor<6xi32>>
  // CHECK: hlo.reduce_window %x, %f window_dimensions = [2, 2], window_strides = [2, 2], base_dilations = [1, 1], window_dilations = [1, 1], padding = [0, 0, 0, 0] ({
  %2 = hlo.reduce_window %x, %f window_dimensions = [2, 2], window_strides = [2, 2], base_dilations = [1, 1], window_dilations = [1, 1], padding = [0, 0, 0, 0] ({
  ^bb0(%a2: tensor<f32>, %b2: tensor<f32>):
    %max = hlo.maximum %a2, %b2 : tensor<f32>
    hlo.return %max : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<2x3xf32>
  // CHECK: hlo.select_and_scatter %x, %s, %f window_dimensions = [2, 2], window_strides = [2, 2], padding = [0, 0, 0, 0] ({
  %3 = hlo.select_and_scatter %x, %s, %f window_dimensions = [2, 2], window_strides = [2, 2], padding = [0, 0, 0, 0] ({
  ^bb0(%a3: tensor<f32>, %b3: tensor<f32>):
    %ge = hlo.compare %a3, %b3 direction = GE : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %ge : tensor<i1>
  }, {
  ^bb0(%a4: tensor<f32>, %b4: tensor<f32>):
    %add = hlo.add %a4, %b4 : tensor<f32>
    hlo.return %add : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
  // CHECK: hlo.sort %x dimension = 1, is_stable = true ({
  %4 = hlo.sort %x dimension = 1, is_stable = true ({
  ^bb0(%a5: tensor<f32>, %b5: tensor<f32>):
    %lt = hlo.compare %a5, %b5 direction = LT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %lt : tensor<i1>
  }) : tensor<4x6xf32>
  // CHECK: hlo.map %x, %x dimensions = [0, 1] ({
  %5 = hlo.map %x, %x dimensions = [0, 1] ({
  ^bb0(%a6: tensor<f32>, %b6: tensor<f32>):
    %mul = hlo.multiply %a6, %b6 : tensor<f32>
    hlo.return %mul : tensor<f32>
  }) : tensor<4x6xf32>
  // CHECK: hlo.topk %x k = 2, largest = true : (tensor<4x6xf32>) -> tuple<tensor<4x2xf32>, tensor<4x2xi32>>
  %6 = hlo.topk %x k = 2, largest = true : (tensor<4x6xf32>) -> tuple<tensor<4x2xf32>, tensor<4x2xi32>>
  func.return %0 : tensor<4xf32>
}

func.func @norms(%x: tensor<2x3xf32>, %v: tensor<3xf32>) -> tensor<2x3xf32> {
  // CHECK: hlo.batch_norm_inference %x, %v, %v, %v, %v
  %0 = hlo.batch_norm_inference %x, %v, %v, %v, %v epsilon = 1.000000e-03 : f32, feature_index = 1 : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: hlo.batch_norm_training %x, %v, %v
  %1 = hlo.batch_norm_training %x, %v, %v epsilon = 1.000000e-03 : f32, feature_index = 1 : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tuple<tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>>
  func.return %0 : tensor<2x3xf32>
}
