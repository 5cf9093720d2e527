// RUN: neuron-opt %s --allow-unregistered-dialect | filecheck %s
// RUN: status 1 neuron-opt %s 2>&1 | filecheck %s --check-prefix=NOT
// CHECK: "nonsense.op"()
// NOT: unregistered.mlir:5:1: error: operation 'nonsense.op' is not registered
"nonsense.op"() : () -> ()
