// The five casts and the two relayouts of neuron-cc: which values are cast, and which stay fp32.

// RUN: neuron-opt %s -p 'hlo-auto-cast{mode="all" type="bf16" relayout="bf16"},hlo-dce' | filecheck %s --check-prefix=ALL
// RUN: neuron-opt %s -p 'hlo-auto-cast{mode="all" type="fp16" relayout="fp16"},hlo-dce' | filecheck %s --check-prefix=ALL16
// RUN: neuron-opt %s -p 'hlo-auto-cast{mode="matmult" type="bf16" relayout="fp16"},hlo-dce' | filecheck %s --check-prefix=MATMULT
// RUN: neuron-opt %s -p 'hlo-auto-cast{mode="matmult" type="bf16" relayout="bf16"},hlo-dce' | filecheck %s --check-prefix=BF16
// RUN: neuron-opt %s -p 'hlo-auto-cast{mode="matmult" type="fp16" relayout="fp16"},hlo-dce' | filecheck %s --check-prefix=FP16
// RUN: neuron-opt %s -p 'hlo-auto-cast{mode="all" type="bf16" relayout="exact"},hlo-dce' | filecheck %s --check-prefix=EXACT
// RUN: neuron-opt %s -p 'hlo-auto-cast{mode="matmult" relayout="exact"},hlo-dce' | filecheck %s --check-prefix=NONE
// RUN: neuron-opt %s -p 'hlo-auto-cast{mode="none" relayout="bf16"},hlo-dce' | filecheck %s --check-prefix=TURN
// RUN: neuron-opt %s -p 'hlo-auto-cast{mode="all" relayout="bf16"},hlo-auto-cast{mode="all" relayout="bf16"},hlo-dce' | filecheck %s --check-prefix=ALL
// RUN: not neuron-opt %s -p 'hlo-auto-cast{relayout="int8"}' 2>&1 | filecheck %s --check-prefix=BAD

// Inputs and results stay fp32 in all modes; so do the partial sums: results of dots and reductions.
// ALL:       hlo.auto_cast = "all:bf16"
// ALL-SAME:  hlo.relayout = "bf16"
// ALL:       func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>) -> (tensor<4x4xf32>, tensor<8x4xf32>, tensor<4xf32>)
// ALL:       %[[X:.*]] = hlo.convert %x : (tensor<4x8xf32>) -> tensor<4x8xbf16>
// ALL:       %[[T:.*]] = hlo.tanh %[[X]] : tensor<4x8xbf16>
// ALL:       %[[D:.*]] = hlo.dot %[[T]], {{.*}} (tensor<4x8xbf16>, tensor<8x4xbf16>) -> tensor<4x4xf32>
// ALL:       %[[U:.*]] = hlo.transpose %[[T]] permutation = [1, 0] : (tensor<4x8xbf16>) -> tensor<8x4xbf16>
// ALL-NOT:   hlo.convert %[[U]] : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
// ALL:       %[[E:.*]] = hlo.exponential %[[U]] : tensor<8x4xbf16>
// ALL:       hlo.reduce {{.*}}
// ALL:       hlo.add {{.*}} : tensor<f32>
// ALL:       (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>

// ALL16:     hlo.tanh {{.*}} : tensor<4x8xf16>
// ALL16:     hlo.dot {{.*}} (tensor<4x8xf16>, tensor<8x4xf16>) -> tensor<4x4xf32>
// ALL16:     hlo.transpose {{.*}} -> tensor<8x4xf16>
// ALL16:     hlo.exponential {{.*}} : tensor<8x4xf16>

// MATMULT:      hlo.auto_cast = "matmult:bf16"
// MATMULT-SAME: hlo.relayout = "fp16"
// MATMULT:      hlo.tanh %x : tensor<4x8xf32>
// MATMULT:      hlo.dot {{.*}} (tensor<4x8xbf16>, tensor<8x4xbf16>) -> tensor<4x4xf32>
// MATMULT:      hlo.transpose {{.*}} -> tensor<8x4xf16>
// MATMULT:      hlo.exponential {{.*}} : tensor<8x4xf32>

// BF16:      hlo.tanh %x : tensor<4x8xf32>
// BF16:      hlo.dot {{.*}} (tensor<4x8xbf16>, tensor<8x4xbf16>) -> tensor<4x4xf32>
// BF16:      hlo.transpose {{.*}} -> tensor<8x4xbf16>
// BF16:      hlo.exponential {{.*}} : tensor<8x4xf32>

// FP16:      hlo.tanh %x : tensor<4x8xf32>
// FP16:      hlo.dot {{.*}} (tensor<4x8xf16>, tensor<8x4xf16>) -> tensor<4x4xf32>
// FP16:      hlo.transpose {{.*}} -> tensor<8x4xf16>
// FP16:      hlo.exponential {{.*}} : tensor<8x4xf32>

// Values that are bf16 already are transposed as such, without loss.
// EXACT-NOT: hlo.relayout
// EXACT:     hlo.tanh {{.*}} : tensor<4x8xbf16>
// EXACT:     hlo.transpose {{.*}} : (tensor<4x8xbf16>) -> tensor<8x4xbf16>
// EXACT:     hlo.exponential {{.*}} : tensor<8x4xbf16>

// NONE:      hlo.tanh %x : tensor<4x8xf32>
// NONE:      hlo.dot {{.*}} (tensor<4x8xbf16>, tensor<8x4xbf16>) -> tensor<4x4xf32>
// NONE:      hlo.transpose {{.*}} : (tensor<4x8xf32>) -> tensor<8x4xf32>
// NONE:      hlo.exponential {{.*}} : tensor<8x4xf32>

// TURN:      hlo.dot {{.*}} (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
// TURN:      hlo.transpose {{.*}} -> tensor<8x4xbf16>

// BAD:       [NIR_PASS_OPTION] hlo-auto-cast: relayout 'int8' is not supported
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>) -> (tensor<4x4xf32>, tensor<8x4xf32>, tensor<4xf32>) {
  %t = hlo.tanh %x : tensor<4x8xf32>
  %d = hlo.dot %t, %w lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %u = hlo.transpose %t permutation = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %e = hlo.exponential %u : tensor<8x4xf32>
  %z = hlo.constant dense<0.0> : tensor<f32>
  %s = hlo.reduce %d, %z dimensions = [1] ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return %d, %e, %s : tensor<4x4xf32>, tensor<8x4xf32>, tensor<4xf32>
}
