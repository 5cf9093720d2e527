// A warning that nobody expects, and a remark that does not come.
// CHECK: bad-expectations.mlir:7:1: error: unexpected warning: a function
// CHECK: bad-expectations.mlir:7:1: error: unexpected remark: looked at
// CHECK: bad-expectations.mlir:6:1: error: expected remark "stared at" on line 7 was not produced
// CHECK: bad-expectations.mlir:10:1: error: expected error "trouble" on line 11 was not produced
// expected-remark@+1 {{stared at}}
func.func @f() {
  func.return
}
// expected-error@+1 {{trouble}}

