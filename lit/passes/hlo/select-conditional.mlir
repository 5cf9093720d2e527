// RUN: neuron-opt %s -p 'hlo-fold-conditional{select=true},hlo-dce' | filecheck %s

// A predicate that depends on data: both branches are computed, and one is chosen.
// CHECK-LABEL: func.func @pred
// CHECK-NOT:     hlo.conditional
// CHECK:         %[[S:.*]] = hlo.sine %x
// CHECK:         %[[C:.*]] = hlo.cosine %y
// CHECK:         %[[P:.*]] = hlo.broadcast %p dimensions = []
// CHECK:         hlo.select %[[P]], %[[S]], %[[C]]
func.func @pred(%p: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.conditional %p, %x, %y ({
  ^bb0(%a: tensor<4xf32>):
    %s = hlo.sine %a : tensor<4xf32>
    hlo.return %s : tensor<4xf32>
  }, {
  ^bb0(%a: tensor<4xf32>):
    %s = hlo.cosine %a : tensor<4xf32>
    hlo.return %s : tensor<4xf32>
  }) : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// An index out of range selects the last branch; conditionals in branches are replaced too.
// CHECK-LABEL: func.func @index
// CHECK-NOT:     hlo.conditional
// CHECK-COUNT-3: hlo.select
// CHECK-NOT:     hlo.conditional
func.func @index(%i: tensor<i32>, %p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %t = hlo.tuple %p, %x : (tensor<i1>, tensor<4xf32>) -> tuple<tensor<i1>, tensor<4xf32>>
  %0 = hlo.conditional %i, %t, %t, %t ({
  ^bb0(%a: tuple<tensor<i1>, tensor<4xf32>>):
    %q = hlo.get_tuple_element %a index = 0 : (tuple<tensor<i1>, tensor<4xf32>>) -> tensor<i1>
    %v = hlo.get_tuple_element %a index = 1 : (tuple<tensor<i1>, tensor<4xf32>>) -> tensor<4xf32>
    %r = hlo.conditional %q, %v, %v ({
    ^bb0(%b: tensor<4xf32>):
      %s = hlo.sine %b : tensor<4xf32>
      hlo.return %s : tensor<4xf32>
    }, {
    ^bb0(%b: tensor<4xf32>):
      %s = hlo.tanh %b : tensor<4xf32>
      hlo.return %s : tensor<4xf32>
    }) : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    hlo.return %r : tensor<4xf32>
  }, {
  ^bb0(%a: tuple<tensor<i1>, tensor<4xf32>>):
    %v = hlo.get_tuple_element %a index = 1 : (tuple<tensor<i1>, tensor<4xf32>>) -> tensor<4xf32>
    hlo.return %v : tensor<4xf32>
  }, {
  ^bb0(%a: tuple<tensor<i1>, tensor<4xf32>>):
    %v = hlo.get_tuple_element %a index = 1 : (tuple<tensor<i1>, tensor<4xf32>>) -> tensor<4xf32>
    %s = hlo.cosine %v : tensor<4xf32>
    hlo.return %s : tensor<4xf32>
  }) : (tensor<i32>, tuple<tensor<i1>, tensor<4xf32>>, tuple<tensor<i1>, tensor<4xf32>>, tuple<tensor<i1>, tensor<4xf32>>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// The operands of a conditional become dead with it; the ones behind it are replaced too.
// CHECK-LABEL: func.func @two
// CHECK-NOT:     hlo.conditional
// CHECK-COUNT-2: hlo.select
func.func @two(%p: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %t = hlo.tuple %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
  %0 = hlo.conditional %p, %t, %x ({
  ^bb0(%a: tuple<tensor<4xf32>, tensor<4xf32>>):
    %g = hlo.get_tuple_element %a index = 1 : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
    hlo.return %g : tensor<4xf32>
  }, {
  ^bb0(%a: tensor<4xf32>):
    hlo.return %a : tensor<4xf32>
  }) : (tensor<i1>, tuple<tensor<4xf32>, tensor<4xf32>>, tensor<4xf32>) -> tensor<4xf32>
  %u = hlo.tuple %0, %y : (tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
  %1 = hlo.conditional %p, %u, %x ({
  ^bb0(%a: tuple<tensor<4xf32>, tensor<4xf32>>):
    %g = hlo.get_tuple_element %a index = 0 : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
    hlo.return %g : tensor<4xf32>
  }, {
  ^bb0(%a: tensor<4xf32>):
    %s = hlo.sine %a : tensor<4xf32>
    hlo.return %s : tensor<4xf32>
  }) : (tensor<i1>, tuple<tensor<4xf32>, tensor<4xf32>>, tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
