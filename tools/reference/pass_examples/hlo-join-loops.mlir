// neuron-opt -p hlo-join-loops
func.func @main(%h: tensor<4x8xf32>, %u: tensor<8x8xf32>, %v: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %i = hlo.constant dense<0> : tensor<i32>
  %t = hlo.tuple %i, %h, %u : (tensor<i32>, tensor<4x8xf32>, tensor<8x8xf32>) -> tuple<tensor<i32>, tensor<4x8xf32>, tensor<8x8xf32>>
  %l = hlo.while %t trip_count = 64 {hlo.counter = array<i64: 0, 0, 1>} ({
  ^bb0(%t_1: tuple<tensor<i32>, tensor<4x8xf32>, tensor<8x8xf32>>):
    %i_1 = hlo.get_tuple_element %t_1 index = 0 : (tuple<tensor<i32>, tensor<4x8xf32>, tensor<8x8xf32>>) -> tensor<i32>
    %n = hlo.constant dense<64> : tensor<i32>
    %l_1 = hlo.compare %i_1, %n direction = LT : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %l_1 : tensor<i1>
  }, {
  ^bb0(%t_2: tuple<tensor<i32>, tensor<4x8xf32>, tensor<8x8xf32>>):
    %i_2 = hlo.get_tuple_element %t_2 index = 0 : (tuple<tensor<i32>, tensor<4x8xf32>, tensor<8x8xf32>>) -> tensor<i32>
    %h_1 = hlo.get_tuple_element %t_2 index = 1 : (tuple<tensor<i32>, tensor<4x8xf32>, tensor<8x8xf32>>) -> tensor<4x8xf32>
    %u_1 = hlo.get_tuple_element %t_2 index = 2 : (tuple<tensor<i32>, tensor<4x8xf32>, tensor<8x8xf32>>) -> tensor<8x8xf32>
    %one = hlo.constant dense<1> : tensor<i32>
    %next = hlo.add %i_2, %one : tensor<i32>
    %hu = hlo.dot %h_1, %u_1 lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %new = hlo.tanh %hu : tensor<4x8xf32>
    %r = hlo.tuple %next, %new, %u_1 : (tensor<i32>, tensor<4x8xf32>, tensor<8x8xf32>) -> tuple<tensor<i32>, tensor<4x8xf32>, tensor<8x8xf32>>
    hlo.return %r : tuple<tensor<i32>, tensor<4x8xf32>, tensor<8x8xf32>>
  }) : tuple<tensor<i32>, tensor<4x8xf32>, tensor<8x8xf32>>
  %a = hlo.get_tuple_element %l index = 1 : (tuple<tensor<i32>, tensor<4x8xf32>, tensor<8x8xf32>>) -> tensor<4x8xf32>
  %s = hlo.tuple %i, %h, %v : (tensor<i32>, tensor<4x8xf32>, tensor<8x8xf32>) -> tuple<tensor<i32>, tensor<4x8xf32>, tensor<8x8xf32>>
  %k = hlo.while %s trip_count = 64 {hlo.counter = array<i64: 0, 0, 1>} ({
  ^bb0(%t_1: tuple<tensor<i32>, tensor<4x8xf32>, tensor<8x8xf32>>):
    %i_1 = hlo.get_tuple_element %t_1 index = 0 : (tuple<tensor<i32>, tensor<4x8xf32>, tensor<8x8xf32>>) -> tensor<i32>
    %n = hlo.constant dense<64> : tensor<i32>
    %l_1 = hlo.compare %i_1, %n direction = LT : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %l_1 : tensor<i1>
  }, {
  ^bb0(%t_2: tuple<tensor<i32>, tensor<4x8xf32>, tensor<8x8xf32>>):
    %i_2 = hlo.get_tuple_element %t_2 index = 0 : (tuple<tensor<i32>, tensor<4x8xf32>, tensor<8x8xf32>>) -> tensor<i32>
    %h_1 = hlo.get_tuple_element %t_2 index = 1 : (tuple<tensor<i32>, tensor<4x8xf32>, tensor<8x8xf32>>) -> tensor<4x8xf32>
    %u_1 = hlo.get_tuple_element %t_2 index = 2 : (tuple<tensor<i32>, tensor<4x8xf32>, tensor<8x8xf32>>) -> tensor<8x8xf32>
    %one = hlo.constant dense<1> : tensor<i32>
    %next = hlo.add %i_2, %one : tensor<i32>
    %hu = hlo.dot %h_1, %u_1 lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %new = hlo.tanh %hu : tensor<4x8xf32>
    %r = hlo.tuple %next, %new, %u_1 : (tensor<i32>, tensor<4x8xf32>, tensor<8x8xf32>) -> tuple<tensor<i32>, tensor<4x8xf32>, tensor<8x8xf32>>
    hlo.return %r : tuple<tensor<i32>, tensor<4x8xf32>, tensor<8x8xf32>>
  }) : tuple<tensor<i32>, tensor<4x8xf32>, tensor<8x8xf32>>
  %b = hlo.get_tuple_element %k index = 1 : (tuple<tensor<i32>, tensor<4x8xf32>, tensor<8x8xf32>>) -> tensor<4x8xf32>
  %both = hlo.add %a, %b : tensor<4x8xf32>
  func.return %both : tensor<4x8xf32>
}
