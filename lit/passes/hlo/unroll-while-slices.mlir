// RUN: neuron-opt %s -p 'hlo-unroll-while{mode="unroll" loop_ops=0 addresses=false}' | filecheck %s
// RUN: neuron-opt %s -p 'hlo-unroll-while{mode="unroll" loop_ops=0}' | filecheck %s --check-prefix=KEPT

// Without computed addresses, a loop stays if each slice depends on the iteration alone, and is
// unrolled if an index is data. A counter of 64 bits has 32 bits in a loop that stays.

// CHECK-LABEL: func.func @moves
// CHECK:         %[[S:.*]] = hlo.constant dense<0> : tensor<i32>
// CHECK:         hlo.tuple %[[S]],
// CHECK:         hlo.while %{{.*}} trip_count = 9 {hlo.counter = array<i64: 0, 0, 1>}
// CHECK:         %[[N:.*]] = hlo.constant dense<9> : tensor<i32>
// CHECK:         hlo.compare %{{.*}}, %[[N]] direction = LT : (tensor<i32>, tensor<i32>)
// CHECK:         %[[I:.*]] = hlo.get_tuple_element %{{.*}} index = 0 : {{.*}} -> tensor<i32>
// CHECK:         %[[W:.*]] = hlo.convert %[[I]] : (tensor<i32>) -> tensor<i64>
// CHECK:         hlo.dynamic_slice %{{.*}}, %[[W]], %{{.*}}
// CHECK:         hlo.add %{{.*}}, %{{.*}} : tensor<i32>
func.func @moves(%rows: tensor<9x4xf32>, %x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %start = hlo.constant dense<0> : tensor<i64>
  %t = hlo.tuple %start, %x, %rows : (tensor<i64>, tensor<1x4xf32>, tensor<9x4xf32>) -> tuple<tensor<i64>, tensor<1x4xf32>, tensor<9x4xf32>>
  %w = hlo.while %t ({
  ^bb0(%s: tuple<tensor<i64>, tensor<1x4xf32>, tensor<9x4xf32>>):
    %i = hlo.get_tuple_element %s index = 0 : (tuple<tensor<i64>, tensor<1x4xf32>, tensor<9x4xf32>>) -> tensor<i64>
    %n = hlo.constant dense<9> : tensor<i64>
    %p = hlo.compare %i, %n direction = LT : (tensor<i64>, tensor<i64>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%s: tuple<tensor<i64>, tensor<1x4xf32>, tensor<9x4xf32>>):
    %i = hlo.get_tuple_element %s index = 0 : (tuple<tensor<i64>, tensor<1x4xf32>, tensor<9x4xf32>>) -> tensor<i64>
    %v = hlo.get_tuple_element %s index = 1 : (tuple<tensor<i64>, tensor<1x4xf32>, tensor<9x4xf32>>) -> tensor<1x4xf32>
    %a = hlo.get_tuple_element %s index = 2 : (tuple<tensor<i64>, tensor<1x4xf32>, tensor<9x4xf32>>) -> tensor<9x4xf32>
    %one = hlo.constant dense<1> : tensor<i64>
    %zero = hlo.constant dense<0> : tensor<i64>
    %row = hlo.dynamic_slice %a, %i, %zero slice_sizes = [1, 4] : (tensor<9x4xf32>, tensor<i64>, tensor<i64>) -> tensor<1x4xf32>
    %sum = hlo.add %v, %row : tensor<1x4xf32>
    %j = hlo.add %i, %one : tensor<i64>
    %r = hlo.tuple %j, %sum, %a : (tensor<i64>, tensor<1x4xf32>, tensor<9x4xf32>) -> tuple<tensor<i64>, tensor<1x4xf32>, tensor<9x4xf32>>
    hlo.return %r : tuple<tensor<i64>, tensor<1x4xf32>, tensor<9x4xf32>>
  }) : tuple<tensor<i64>, tensor<1x4xf32>, tensor<9x4xf32>>
  %o = hlo.get_tuple_element %w index = 1 : (tuple<tensor<i64>, tensor<1x4xf32>, tensor<9x4xf32>>) -> tensor<1x4xf32>
  func.return %o : tensor<1x4xf32>
}

// CHECK-LABEL: func.func @chosen
// CHECK-NOT:     hlo.while
// KEPT-LABEL:  func.func @chosen
// KEPT:          hlo.while
func.func @chosen(%rows: tensor<9x4xf32>, %x: tensor<1x4xf32>, %k: tensor<i32>) -> tensor<1x4xf32> {
  %start = hlo.constant dense<0> : tensor<i32>
  %t = hlo.tuple %start, %x, %rows, %k : (tensor<i32>, tensor<1x4xf32>, tensor<9x4xf32>, tensor<i32>) -> tuple<tensor<i32>, tensor<1x4xf32>, tensor<9x4xf32>, tensor<i32>>
  %w = hlo.while %t ({
  ^bb0(%s: tuple<tensor<i32>, tensor<1x4xf32>, tensor<9x4xf32>, tensor<i32>>):
    %i = hlo.get_tuple_element %s index = 0 : (tuple<tensor<i32>, tensor<1x4xf32>, tensor<9x4xf32>, tensor<i32>>) -> tensor<i32>
    %n = hlo.constant dense<9> : tensor<i32>
    %p = hlo.compare %i, %n direction = LT : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%s: tuple<tensor<i32>, tensor<1x4xf32>, tensor<9x4xf32>, tensor<i32>>):
    %i = hlo.get_tuple_element %s index = 0 : (tuple<tensor<i32>, tensor<1x4xf32>, tensor<9x4xf32>, tensor<i32>>) -> tensor<i32>
    %v = hlo.get_tuple_element %s index = 1 : (tuple<tensor<i32>, tensor<1x4xf32>, tensor<9x4xf32>, tensor<i32>>) -> tensor<1x4xf32>
    %a = hlo.get_tuple_element %s index = 2 : (tuple<tensor<i32>, tensor<1x4xf32>, tensor<9x4xf32>, tensor<i32>>) -> tensor<9x4xf32>
    %at = hlo.get_tuple_element %s index = 3 : (tuple<tensor<i32>, tensor<1x4xf32>, tensor<9x4xf32>, tensor<i32>>) -> tensor<i32>
    %one = hlo.constant dense<1> : tensor<i32>
    %zero = hlo.constant dense<0> : tensor<i32>
    %row = hlo.dynamic_slice %a, %at, %zero slice_sizes = [1, 4] : (tensor<9x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %sum = hlo.add %v, %row : tensor<1x4xf32>
    %j = hlo.add %i, %one : tensor<i32>
    %r = hlo.tuple %j, %sum, %a, %at : (tensor<i32>, tensor<1x4xf32>, tensor<9x4xf32>, tensor<i32>) -> tuple<tensor<i32>, tensor<1x4xf32>, tensor<9x4xf32>, tensor<i32>>
    hlo.return %r : tuple<tensor<i32>, tensor<1x4xf32>, tensor<9x4xf32>, tensor<i32>>
  }) : tuple<tensor<i32>, tensor<1x4xf32>, tensor<9x4xf32>, tensor<i32>>
  %o = hlo.get_tuple_element %w index = 1 : (tuple<tensor<i32>, tensor<1x4xf32>, tensor<9x4xf32>, tensor<i32>>) -> tensor<1x4xf32>
  func.return %o : tensor<1x4xf32>
}
