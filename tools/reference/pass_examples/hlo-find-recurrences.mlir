// neuron-opt -p hlo-find-recurrences
func.func @main(%x: tensor<40x8xf32>, %h: tensor<8xf32>) -> tensor<40x8xf32> {
  %i = hlo.constant dense<0> : tensor<i32>
  %zero = hlo.constant dense<0.000000e+00> : tensor<f32>
  %hs = hlo.broadcast %zero dimensions = [] : (tensor<f32>) -> tensor<40x8xf32>
  %t = hlo.tuple %i, %h, %hs, %x : (tensor<i32>, tensor<8xf32>, tensor<40x8xf32>, tensor<40x8xf32>) -> tuple<tensor<i32>, tensor<8xf32>, tensor<40x8xf32>, tensor<40x8xf32>>
  %l = hlo.while %t trip_count = 40 {hlo.counter = array<i64: 0, 0, 1>} ({
  ^bb0(%t_1: tuple<tensor<i32>, tensor<8xf32>, tensor<40x8xf32>, tensor<40x8xf32>>):
    %i_1 = hlo.get_tuple_element %t_1 index = 0 : (tuple<tensor<i32>, tensor<8xf32>, tensor<40x8xf32>, tensor<40x8xf32>>) -> tensor<i32>
    %n = hlo.constant dense<40> : tensor<i32>
    %l_1 = hlo.compare %i_1, %n direction = LT : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %l_1 : tensor<i1>
  }, {
  ^bb0(%t_2: tuple<tensor<i32>, tensor<8xf32>, tensor<40x8xf32>, tensor<40x8xf32>>):
    %i_2 = hlo.get_tuple_element %t_2 index = 0 : (tuple<tensor<i32>, tensor<8xf32>, tensor<40x8xf32>, tensor<40x8xf32>>) -> tensor<i32>
    %h_1 = hlo.get_tuple_element %t_2 index = 1 : (tuple<tensor<i32>, tensor<8xf32>, tensor<40x8xf32>, tensor<40x8xf32>>) -> tensor<8xf32>
    %hs_1 = hlo.get_tuple_element %t_2 index = 2 : (tuple<tensor<i32>, tensor<8xf32>, tensor<40x8xf32>, tensor<40x8xf32>>) -> tensor<40x8xf32>
    %xs = hlo.get_tuple_element %t_2 index = 3 : (tuple<tensor<i32>, tensor<8xf32>, tensor<40x8xf32>, tensor<40x8xf32>>) -> tensor<40x8xf32>
    %one = hlo.constant dense<1> : tensor<i32>
    %zero_1 = hlo.constant dense<0> : tensor<i32>
    %next = hlo.add %i_2, %one : tensor<i32>
    %part = hlo.dynamic_slice %xs, %i_2, %zero_1 slice_sizes = [1, 8] : (tensor<40x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %x_1 = hlo.reshape %part : (tensor<1x8xf32>) -> tensor<8xf32>
    %new = hlo.add %h_1, %x_1 : tensor<8xf32>
    %row = hlo.reshape %new : (tensor<8xf32>) -> tensor<1x8xf32>
    %more = hlo.dynamic_update_slice %hs_1, %row, %i_2, %zero_1 : (tensor<40x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<40x8xf32>
    %r = hlo.tuple %next, %new, %more, %xs : (tensor<i32>, tensor<8xf32>, tensor<40x8xf32>, tensor<40x8xf32>) -> tuple<tensor<i32>, tensor<8xf32>, tensor<40x8xf32>, tensor<40x8xf32>>
    hlo.return %r : tuple<tensor<i32>, tensor<8xf32>, tensor<40x8xf32>, tensor<40x8xf32>>
  }) : tuple<tensor<i32>, tensor<8xf32>, tensor<40x8xf32>, tensor<40x8xf32>>
  %all = hlo.get_tuple_element %l index = 2 : (tuple<tensor<i32>, tensor<8xf32>, tensor<40x8xf32>, tensor<40x8xf32>>) -> tensor<40x8xf32>
  func.return %all : tensor<40x8xf32>
}
