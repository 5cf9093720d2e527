// neuron-opt -p hlo-select-slices,hlo-canonicalize
func.func @main(%x: tensor<3xf32>, %i: tensor<i32>) -> tensor<2xf32> {
  %y = hlo.dynamic_slice %x, %i slice_sizes = [2] : (tensor<3xf32>, tensor<i32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
