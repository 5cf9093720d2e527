// Passes in func.func(...) run on each function by itself.

// RUN: neuron-opt %s -p 'builtin.module(func.func(canonicalize,hlo-dce))' --dump-pass-pipeline 2>&1 | filecheck %s
// RUN: neuron-opt %s -p 'func.func(canonicalize),hlo-inline' --print-ir-after=canonicalize 2>&1 >%t | filecheck %s --check-prefix=DUMP
// RUN: neuron-opt %s -p 'func.func(canonicalize),hlo-inline' --run
// RUN: neuron-opt %s --load %S/Inputs/passes.py -p 'func.func(test-talk)' --pass-statistics 2>&1 >%t | filecheck %s --check-prefix=EACH
// RUN: status 1 neuron-opt %s -p 'func.func(test-add-timers-to-top-level-funcs)' 2>&1 | filecheck %s --check-prefix=REMOVED
// RUN: status 2 neuron-opt %s -p 'func.func(builtin.module(cse))' 2>&1 | filecheck %s --check-prefix=OUTER
// RUN: neuron-opt %s -p 'func.func(canonicalize)' --dump-pass-pipeline --load %S/Inputs/passes.py -o %t 2>&1 | filecheck %s --check-prefix=TEXT

// CHECK: {{^builtin.module\(func.func\(canonicalize,hlo-dce\)\)$}}
// CHECK: func.func private @declared
// CHECK: func.func private @double
// CHECK-NEXT: hlo.add %x, %x
// CHECK-NEXT: func.return
// CHECK: func.func @main
// CHECK: hlo.call %x callee = @double

// DUMP: IR Dump After canonicalize
// DUMP: hlo.call %x callee = @double

// EACH: warning: a function
// EACH: (S) 2 functions

// REMOVED: [NIR_NESTING] pass 'test-add-timers-to-top-level-funcs' adds or removes functions and cannot run on 'func.func'
// REMOVED-NEXT: help: run it on the module: builtin.module(test-add-timers-to-top-level-funcs)

// OUTER: [NIR_PIPELINE] passes cannot be nested on 'builtin.module' in 'func.func'
// OUTER-NEXT: func.func(builtin.module(cse))
// OUTER-NEXT: {{^            \^}}
// OUTER-NEXT: help: write 'builtin.module(func.func(PASS,...))'

// TEXT: {{^builtin.module\(func.func\(canonicalize\)\)$}}

func.func private @declared(tensor<2xf32>) -> tensor<2xf32>

func.func private @double(%x: tensor<2xf32>) -> tensor<2xf32> {
  %zero = hlo.constant dense<0.0> : tensor<2xf32>
  %y = hlo.add %x, %x : tensor<2xf32>
  %unused = hlo.negate %y : tensor<2xf32>
  func.return %y : tensor<2xf32>
}

func.func @main() {
  %x = hlo.constant dense<[1.0, 3.0]> : tensor<2xf32>
  %y = hlo.call %x callee = @double : tensor<2xf32>
  %expected = hlo.constant dense<[2.0, 6.0]> : tensor<2xf32>
  check.expect_eq %y, %expected : tensor<2xf32>
  func.return
}
