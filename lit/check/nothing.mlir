// RUN: status 1 neuron-opt %s --run=trn1 --split-input-file 2>&1 | filecheck %s
// RUN: neuron-opt %s --run --split-input-file | filecheck %s --check-prefix=REFERENCE

// On a target a run without any check is an error; functions are compiled even so.

// CHECK: [NIR_RUN002] --run=trn1 compiled 1 function and found nothing to check
// CHECK: [NCC_ESPP004] hlo.add{{.*}}data type f64 is not supported
// CHECK: [NIR_RUN002] --run=trn1 compiled 2 functions and found nothing to check
// CHECK: @checked: 1 check passed
// CHECK: 1 check passed on trn1 at phase synchronised
// CHECK: @unchecked: 0 checks passed
// CHECK: 0 checks passed on trn1 at phase synchronised
// REFERENCE: @unchecked: 0 checks passed
// REFERENCE: result 0: float32[2] [2., 4.]

func.func @unchecked() -> tensor<2xf32> {
  %a = hlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = hlo.add %a, %a : tensor<2xf32>
  func.return %b : tensor<2xf32>
}

// -----

func.func @wide() -> tensor<2xf64> {
  %a = hlo.constant dense<[1.0, 2.0]> : tensor<2xf64>
  %b = hlo.add %a, %a : tensor<2xf64>
  func.return %b : tensor<2xf64>
}

// -----

func.func @nothing() {
  func.return
}

func.func @whole() -> (tensor<2xi32>, tensor<2xf32>) {
  %a = hlo.constant dense<[1, 2]> : tensor<2xi32>
  %b = hlo.convert %a : (tensor<2xi32>) -> tensor<2xf32>
  func.return %a, %b : tensor<2xi32>, tensor<2xf32>
}

// -----

func.func @checked() {
  %a = hlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = hlo.add %a, %a : tensor<2xf32>
  %expected = hlo.constant dense<[2.0, 4.0]> : tensor<2xf32>
  check.expect_eq %b, %expected : tensor<2xf32>
  func.return
}

func.func @unchecked() -> tensor<2xf32> {
  %a = hlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = hlo.add %a, %a : tensor<2xf32>
  func.return %b : tensor<2xf32>
}
