// neuron-opt -p hlo-hoist-products
func.func @main(%x: tensor<2048x4x8xf32>, %w: tensor<8x8xf32>, %u: tensor<8x8xf32>, %h: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %i = hlo.constant dense<0> : tensor<i32>
  %t = hlo.tuple %i, %h, %x, %w, %u : (tensor<i32>, tensor<4x8xf32>, tensor<2048x4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tuple<tensor<i32>, tensor<4x8xf32>, tensor<2048x4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>>
  %l = hlo.while %t trip_count = 2048 {hlo.counter = array<i64: 0, 0, 1>} ({
  ^bb0(%t_1: tuple<tensor<i32>, tensor<4x8xf32>, tensor<2048x4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>>):
    %i_1 = hlo.get_tuple_element %t_1 index = 0 : (tuple<tensor<i32>, tensor<4x8xf32>, tensor<2048x4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>>) -> tensor<i32>
    %n = hlo.constant dense<2048> : tensor<i32>
    %l_1 = hlo.compare %i_1, %n direction = LT : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %l_1 : tensor<i1>
  }, {
  ^bb0(%t_2: tuple<tensor<i32>, tensor<4x8xf32>, tensor<2048x4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>>):
    %i_2 = hlo.get_tuple_element %t_2 index = 0 : (tuple<tensor<i32>, tensor<4x8xf32>, tensor<2048x4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>>) -> tensor<i32>
    %h_1 = hlo.get_tuple_element %t_2 index = 1 : (tuple<tensor<i32>, tensor<4x8xf32>, tensor<2048x4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>>) -> tensor<4x8xf32>
    %xs = hlo.get_tuple_element %t_2 index = 2 : (tuple<tensor<i32>, tensor<4x8xf32>, tensor<2048x4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>>) -> tensor<2048x4x8xf32>
    %w_1 = hlo.get_tuple_element %t_2 index = 3 : (tuple<tensor<i32>, tensor<4x8xf32>, tensor<2048x4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>>) -> tensor<8x8xf32>
    %u_1 = hlo.get_tuple_element %t_2 index = 4 : (tuple<tensor<i32>, tensor<4x8xf32>, tensor<2048x4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>>) -> tensor<8x8xf32>
    %one = hlo.constant dense<1> : tensor<i32>
    %zero = hlo.constant dense<0> : tensor<i32>
    %next = hlo.add %i_2, %one : tensor<i32>
    %part = hlo.dynamic_slice %xs, %i_2, %zero, %zero slice_sizes = [1, 4, 8] : (tensor<2048x4x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x8xf32>
    %x_1 = hlo.reshape %part : (tensor<1x4x8xf32>) -> tensor<4x8xf32>
    %xw = hlo.dot %x_1, %w_1 lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %hu = hlo.dot %h_1, %u_1 lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %sum = hlo.add %xw, %hu : tensor<4x8xf32>
    %new = hlo.tanh %sum : tensor<4x8xf32>
    %r = hlo.tuple %next, %new, %xs, %w_1, %u_1 : (tensor<i32>, tensor<4x8xf32>, tensor<2048x4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tuple<tensor<i32>, tensor<4x8xf32>, tensor<2048x4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>>
    hlo.return %r : tuple<tensor<i32>, tensor<4x8xf32>, tensor<2048x4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>>
  }) : tuple<tensor<i32>, tensor<4x8xf32>, tensor<2048x4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>>
  %last = hlo.get_tuple_element %l index = 1 : (tuple<tensor<i32>, tensor<4x8xf32>, tensor<2048x4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>>) -> tensor<4x8xf32>
  func.return %last : tensor<4x8xf32>
}
