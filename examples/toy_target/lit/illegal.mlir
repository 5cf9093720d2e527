// RUN: not neuron-opt %s -p 'hlo-verify-supported{target=toy1}' 2>&1 | filecheck %s
// RUN: not neuron-opt %s -p 'toy1-lower' 2>&1 | filecheck %s --check-prefix=LOWER

// CHECK: 1 operation is not supported by toy1
// CHECK: [NCC_EVRF001] hlo.tanh {{.*}}toy1 has no lowering for it
// LOWER: [TOY_LOWER] hlo.dot: a product is x @ w, where w is an argument
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %p = hlo.dot %x, %x lhs_contracting_dims = [0], rhs_contracting_dims = [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t = hlo.tanh %p : tensor<8x8xf32>
  func.return %t : tensor<8x8xf32>
}
