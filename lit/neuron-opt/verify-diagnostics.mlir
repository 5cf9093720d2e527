// RUN: neuron-opt %s --verify-diagnostics --split-input-file --load %S/Inputs/passes.py -p test-talk
// RUN: status 1 neuron-opt %S/Inputs/bad-expectations.mlir --verify-diagnostics --split-input-file --load %S/Inputs/passes.py -p test-talk 2>&1 | filecheck %S/Inputs/bad-expectations.mlir

// expected-warning@+2 {{a function}}
// expected-remark@below {{re:look(ed|ing) at}}
func.func @f() {
  func.return
}

// -----

func.func @f(%a : i32) -> i32 {
  // expected-error@+2 {{'arith.addi' op Expected 2 operands}}
  // expected-note@+1 {{see current operation}}
  %d = "arith.addi"(%a) : (i32) -> i32
  func.return %d : i32
}

// -----

func.func @f() -> i32 {
  func.return %nowhere : i32
  // expected-error@-1 {{undefined value '%nowhere'}}
}

// -----

func.func @f() { // expected-warning {{a function}} expected-remark {{looked}}
  func.return
}

// -----

"nonsense.op"() : () -> ()
// expected-error@above {{not registered}}
