// RUN: neuron-opt %s -p hlo-unroll-while | filecheck %s
// RUN: neuron-opt %s -p 'hlo-unroll-while{mode="unroll"},hlo-canonicalize,hlo-dce' | filecheck %s --check-prefix=UNROLL
// RUN: not neuron-opt %s -p 'hlo-unroll-while{mode="some"}' 2>&1 | filecheck %s --check-prefix=MODE

// CHECK:      hlo.while %{{.*}} trip_count = 3 {hlo.counter = array<i64: 0, 1, 2>}
// UNROLL-NOT:   hlo.while
// UNROLL-COUNT-3: hlo.sine
// UNROLL-NOT:   hlo.sine
// MODE: [NIR_PASS_OPTION] hlo-unroll-while: mode is 'some'
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %start = hlo.constant dense<1> : tensor<i32>
  %t = hlo.tuple %start, %x : (tensor<i32>, tensor<4xf32>) -> tuple<tensor<i32>, tensor<4xf32>>
  %w = hlo.while %t ({
  ^bb0(%s: tuple<tensor<i32>, tensor<4xf32>>):
    %i = hlo.get_tuple_element %s index = 0 : (tuple<tensor<i32>, tensor<4xf32>>) -> tensor<i32>
    %n = hlo.constant dense<6> : tensor<i32>
    %p = hlo.compare %i, %n direction = LT : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%s: tuple<tensor<i32>, tensor<4xf32>>):
    %i = hlo.get_tuple_element %s index = 0 : (tuple<tensor<i32>, tensor<4xf32>>) -> tensor<i32>
    %v = hlo.get_tuple_element %s index = 1 : (tuple<tensor<i32>, tensor<4xf32>>) -> tensor<4xf32>
    %two = hlo.constant dense<2> : tensor<i32>
    %j = hlo.add %i, %two : tensor<i32>
    %v2 = hlo.sine %v : tensor<4xf32>
    %r = hlo.tuple %j, %v2 : (tensor<i32>, tensor<4xf32>) -> tuple<tensor<i32>, tensor<4xf32>>
    hlo.return %r : tuple<tensor<i32>, tensor<4xf32>>
  }) : tuple<tensor<i32>, tensor<4xf32>>
  %o = hlo.get_tuple_element %w index = 1 : (tuple<tensor<i32>, tensor<4xf32>>) -> tensor<4xf32>
  func.return %o : tensor<4xf32>
}
