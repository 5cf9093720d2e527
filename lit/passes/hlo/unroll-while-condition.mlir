// RUN: neuron-opt %s -p 'hlo-unroll-while{mode=unroll}' | filecheck %s

// A loop over one value, whose condition depends on data, carries a tuple of it. A counting loop
// around it is kept, because each copy would need registers of its own.

// CHECK-LABEL: func.func @one
// CHECK-NEXT: %[[T:.*]] = hlo.tuple %x : (tensor<f32>) -> tuple<tensor<f32>>
// CHECK-NEXT: %[[W:.*]] = hlo.while %[[T]]
// CHECK: ^bb0(%[[C:.*]]: tuple<tensor<f32>>):
// CHECK-NEXT: %[[V:.*]] = hlo.get_tuple_element %[[C]] index = 0
// CHECK: hlo.compare %[[V]]
// CHECK: hlo.tuple %{{.*}} : (tensor<f32>) -> tuple<tensor<f32>>
// CHECK-NEXT: hlo.return
// CHECK: hlo.get_tuple_element %[[W]] index = 0
func.func @one(%x: tensor<f32>) -> tensor<f32> {
  %w = hlo.while %x ({
  ^bb0(%v: tensor<f32>):
    %one = hlo.constant dense<1.0> : tensor<f32>
    %p = hlo.compare %v, %one direction = GT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%v: tensor<f32>):
    %half = hlo.constant dense<0.5> : tensor<f32>
    %y = hlo.multiply %v, %half : tensor<f32>
    hlo.return %y : tensor<f32>
  }) : (tensor<f32>) -> tensor<f32>
  func.return %w : tensor<f32>
}

// CHECK-LABEL: func.func @around
// CHECK: hlo.while
// CHECK: hlo.while
// CHECK-NOT: hlo.while
func.func @around(%t: tuple<tensor<i32>, tensor<f32>>) -> tensor<f32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %x = hlo.get_tuple_element %t index = 1 : (tuple<tensor<i32>, tensor<f32>>) -> tensor<f32>
  %s = hlo.tuple %zero, %x : (tensor<i32>, tensor<f32>) -> tuple<tensor<i32>, tensor<f32>>
  %l = hlo.while %s ({
  ^bb0(%a: tuple<tensor<i32>, tensor<f32>>):
    %i = hlo.get_tuple_element %a index = 0 : (tuple<tensor<i32>, tensor<f32>>) -> tensor<i32>
    %n = hlo.constant dense<20> : tensor<i32>
    %p = hlo.compare %i, %n direction = LT : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tuple<tensor<i32>, tensor<f32>>):
    %i = hlo.get_tuple_element %a index = 0 : (tuple<tensor<i32>, tensor<f32>>) -> tensor<i32>
    %f = hlo.get_tuple_element %a index = 1 : (tuple<tensor<i32>, tensor<f32>>) -> tensor<f32>
    %one = hlo.constant dense<1> : tensor<i32>
    %j = hlo.add %i, %one : tensor<i32>
    %g = hlo.add %f, %f : tensor<f32>
    %w = hlo.while %g ({
    ^bb0(%v: tensor<f32>):
      %c = hlo.constant dense<1.0> : tensor<f32>
      %p = hlo.compare %v, %c direction = GT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      hlo.return %p : tensor<i1>
    }, {
    ^bb0(%v: tensor<f32>):
      %half = hlo.constant dense<0.5> : tensor<f32>
      %y = hlo.multiply %v, %half : tensor<f32>
      hlo.return %y : tensor<f32>
    }) : (tensor<f32>) -> tensor<f32>
    %r = hlo.tuple %j, %w : (tensor<i32>, tensor<f32>) -> tuple<tensor<i32>, tensor<f32>>
    hlo.return %r : tuple<tensor<i32>, tensor<f32>>
  }) : (tuple<tensor<i32>, tensor<f32>>) -> tuple<tensor<i32>, tensor<f32>>
  %y = hlo.get_tuple_element %l index = 1 : (tuple<tensor<i32>, tensor<f32>>) -> tensor<f32>
  func.return %y : tensor<f32>
}
