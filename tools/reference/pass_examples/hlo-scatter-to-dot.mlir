// neuron-opt -p hlo-scatter-to-dot{target=trn1}
func.func @main(%x: tensor<200xf32>, %i: tensor<1024x1xi32>) -> tensor<200xf32> {
  %o = hlo.constant dense<1.000000e+00> : tensor<f32>
  %u = hlo.broadcast %o dimensions = [] : (tensor<f32>) -> tensor<1024xf32>
  %r = hlo.scatter %x, %i, %u update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1 ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = hlo.add %a, %b : tensor<f32>
    hlo.return %c : tensor<f32>
  }) : (tensor<200xf32>, tensor<1024x1xi32>, tensor<1024xf32>) -> tensor<200xf32>
  func.return %r : tensor<200xf32>
}
