// A stage for each core: each product has its own stage, because only one of the weights fits in SBUF. Values that a
// later stage reads are sent by the previous one. Values that follow from constants, and broadcasts, belong to no stage.
// RUN: neuron-opt %s -p 'hlo-mark-stages{target=inf1 cores=2}' | filecheck %s
// RUN: neuron-opt %s -p 'hlo-mark-stages{target=inf1 cores=1}' | filecheck %s --check-prefix=ONE
// RUN: neuron-opt %s -p 'hlo-mark-stages{target=inf1 cores=9}' --pass-statistics 2>&1 >%t | filecheck %s --check-prefix=STATISTICS
// RUN: not neuron-opt %s -p 'hlo-mark-stages{target=inf1 cores=0}' 2>&1 | filecheck %s --check-prefix=NONE

// CHECK: hlo.dot %x, %v {{.*}}hlo.stage = 0
// CHECK: %c = hlo.broadcast %b dimensions = [1] : (tensor<2048xf32>)
// CHECK: hlo.dot %h, %w {{.*}}hlo.stage = 1
// CHECK: hlo.add {{.*}}hlo.stage = 1

// ONE: hlo.dot %x, %v {{.*}}hlo.stage = 0
// ONE: hlo.dot %h, %w {{.*}}hlo.stage = 0

// NONE: [NIR_PASS_OPTION] hlo-mark-stages: cores must be at least 1, not 0

// STATISTICS: hlo-mark-stages
// STATISTICS: stages
func.func @main(%x: tensor<128x2048xbf16>, %b: tensor<2048xf32>) -> tensor<128x2048xf32> {
  %v = hlo.constant dense<0.5> : tensor<2048x2048xbf16>
  %w = hlo.constant dense<0.25> : tensor<2048x2048xbf16>
  %h = hlo.dot %x, %v lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<128x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<128x2048xbf16>
  %c = hlo.broadcast %b dimensions = [1] : (tensor<2048xf32>) -> tensor<128x2048xf32>
  %p = hlo.dot %h, %w lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<128x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<128x2048xf32>
  %y = hlo.add %p, %c : tensor<128x2048xf32>
  func.return %y : tensor<128x2048xf32>
}
