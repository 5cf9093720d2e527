// RUN: neuron-opt %s -p hlo-dce | filecheck %s

// Dead ops are removed, and so are carried elements of a loop that only feed themselves.

// CHECK-LABEL: func.func @main
// CHECK-NOT:     hlo.cosine
// CHECK:         %[[T:.*]] = hlo.tuple %{{.*}}, %x : (tensor<i32>, tensor<4xf32>)
// CHECK-NEXT:    hlo.while %[[T]]
// CHECK:           hlo.get_tuple_element %{{.*}} index = 1
// CHECK-NOT:       index = 2
// CHECK:         func.return

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %dead = hlo.cosine %x : tensor<4xf32>
  %zero = hlo.constant dense<0> : tensor<i32>
  %t = hlo.tuple %zero, %zero, %x : (tensor<i32>, tensor<i32>, tensor<4xf32>) -> tuple<tensor<i32>, tensor<i32>, tensor<4xf32>>
  %w = hlo.while %t ({
  ^bb0(%s: tuple<tensor<i32>, tensor<i32>, tensor<4xf32>>):
    %i = hlo.get_tuple_element %s index = 0 : (tuple<tensor<i32>, tensor<i32>, tensor<4xf32>>) -> tensor<i32>
    %n = hlo.constant dense<7> : tensor<i32>
    %p = hlo.compare %i, %n direction = LT : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%s: tuple<tensor<i32>, tensor<i32>, tensor<4xf32>>):
    %i = hlo.get_tuple_element %s index = 0 : (tuple<tensor<i32>, tensor<i32>, tensor<4xf32>>) -> tensor<i32>
    %d = hlo.get_tuple_element %s index = 1 : (tuple<tensor<i32>, tensor<i32>, tensor<4xf32>>) -> tensor<i32>
    %v = hlo.get_tuple_element %s index = 2 : (tuple<tensor<i32>, tensor<i32>, tensor<4xf32>>) -> tensor<4xf32>
    %one = hlo.constant dense<1> : tensor<i32>
    %j = hlo.add %i, %one : tensor<i32>
    %e = hlo.add %d, %one : tensor<i32>
    %v2 = hlo.sine %v : tensor<4xf32>
    %r = hlo.tuple %j, %e, %v2 : (tensor<i32>, tensor<i32>, tensor<4xf32>) -> tuple<tensor<i32>, tensor<i32>, tensor<4xf32>>
    hlo.return %r : tuple<tensor<i32>, tensor<i32>, tensor<4xf32>>
  }) : tuple<tensor<i32>, tensor<i32>, tensor<4xf32>>
  %o = hlo.get_tuple_element %w index = 2 : (tuple<tensor<i32>, tensor<i32>, tensor<4xf32>>) -> tensor<4xf32>
  func.return %o : tensor<4xf32>
}

// An element that a loop does not change is read in front of the loop, which then has no users.

// CHECK-LABEL: func.func @unchanged
// CHECK-NEXT:    func.return %x

func.func @unchanged(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %t = hlo.tuple %zero, %n, %x : (tensor<i32>, tensor<i32>, tensor<4xf32>) -> tuple<tensor<i32>, tensor<i32>, tensor<4xf32>>
  %w = hlo.while %t ({
  ^bb0(%s: tuple<tensor<i32>, tensor<i32>, tensor<4xf32>>):
    %i = hlo.get_tuple_element %s index = 0 : (tuple<tensor<i32>, tensor<i32>, tensor<4xf32>>) -> tensor<i32>
    %m = hlo.get_tuple_element %s index = 1 : (tuple<tensor<i32>, tensor<i32>, tensor<4xf32>>) -> tensor<i32>
    %p = hlo.compare %i, %m direction = LT : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%s: tuple<tensor<i32>, tensor<i32>, tensor<4xf32>>):
    %i = hlo.get_tuple_element %s index = 0 : (tuple<tensor<i32>, tensor<i32>, tensor<4xf32>>) -> tensor<i32>
    %m = hlo.get_tuple_element %s index = 1 : (tuple<tensor<i32>, tensor<i32>, tensor<4xf32>>) -> tensor<i32>
    %v = hlo.get_tuple_element %s index = 2 : (tuple<tensor<i32>, tensor<i32>, tensor<4xf32>>) -> tensor<4xf32>
    %one = hlo.constant dense<1> : tensor<i32>
    %j = hlo.add %i, %one : tensor<i32>
    %r = hlo.tuple %j, %m, %v : (tensor<i32>, tensor<i32>, tensor<4xf32>) -> tuple<tensor<i32>, tensor<i32>, tensor<4xf32>>
    hlo.return %r : tuple<tensor<i32>, tensor<i32>, tensor<4xf32>>
  }) : tuple<tensor<i32>, tensor<i32>, tensor<4xf32>>
  %o = hlo.get_tuple_element %w index = 2 : (tuple<tensor<i32>, tensor<i32>, tensor<4xf32>>) -> tensor<4xf32>
  func.return %o : tensor<4xf32>
}
