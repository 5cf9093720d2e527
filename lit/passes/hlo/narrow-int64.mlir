// RUN: neuron-opt %s -p hlo-narrow-int64 --split-input-file --verify-diagnostics | filecheck %s

// Arguments, results, constants, regions and tuples are narrowed; the old types are noted, and how large the terms of a sum may be.
// CHECK: hlo.wide_inputs = {"1" = "int64"}, hlo.wide_outputs = {"0" = "int64"}
// CHECK-SAME: hlo.input_ranges = {"1" = {{.*}}"-268435455", "268435455"
// CHECK: func.func @main(%x: tensor<4xf32>, %i: tensor<4xi32>) -> tuple<tensor<i32>, tensor<4xf32>>
// CHECK: hlo.constant dense<7> : tensor<i32>
// CHECK: hlo.reduce
// CHECK: ^bb0(%{{.*}}: tensor<i32>, %{{.*}}: tensor<i32>):
// CHECK: hlo.add {{.*}} : tensor<i32>
// CHECK-NOT: i64>
func.func @main(%x: tensor<4xf32>, %i: tensor<4xi64>) -> tuple<tensor<i64>, tensor<4xf32>> {
  %c = hlo.constant dense<7> : tensor<i64>
  %s = hlo.reduce %i, %c dimensions = [0] ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %t = hlo.add %a, %b : tensor<i64>
    hlo.return %t : tensor<i64>
  }) : (tensor<4xi64>, tensor<i64>) -> tensor<i64>
  %y = hlo.convert %i : (tensor<4xi64>) -> tensor<4xf32>
  %r = hlo.tuple %s, %y : (tensor<i64>, tensor<4xf32>) -> tuple<tensor<i64>, tensor<4xf32>>
  func.return %r : tuple<tensor<i64>, tensor<4xf32>>
}

// -----

func.func @main() -> tensor<i64> {
  // expected-error@+1 {{[NCC_ESPP004] '' (hlo.constant): the constant does not fit in 32 bits}}
  %c = hlo.constant dense<4294967296> : tensor<i64>
  func.return %c : tensor<i64>
}

// -----

func.func @main(%x: tensor<2xui64>) -> tensor<2xf64> {
  // expected-error@+1 {{it depends on the 64 bits of its integers}}
  %c = hlo.bitcast_convert %x : (tensor<2xui64>) -> tensor<2xf64>
  func.return %c : tensor<2xf64>
}

// -----

// Where a sum may leave 32 bits, the bounds of the inputs within which it does not are noted.
// CHECK: hlo.input_ranges = {"0" = {{.*}}"-1073741823", "1073741823"
func.func @main(%i: tensor<4xi64>) -> tensor<4xi64> {
  %c = hlo.constant dense<[1, 2, 3, 4]> : tensor<4xi64>
  %s = hlo.add %i, %c : tensor<4xi64>
  func.return %s : tensor<4xi64>
}

// -----

func.func @main(%i: tensor<2xui64>) -> tensor<2xui64> {
  // expected-error@+1 {{its 64-bit integers may exceed 32 bits, whatever the inputs}}
  %s = hlo.not %i : tensor<2xui64>
  func.return %s : tensor<2xui64>
}
