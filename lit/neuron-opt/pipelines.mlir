// RUN: neuron-opt --list-pipelines | filecheck %s --check-prefix=LIST
// RUN: neuron-opt --list-pipelines | awk 'length > 80 { exit 1 }'
// RUN: neuron-opt %s -p @hlo-simplify --dump-pass-pipeline 2>&1 >%t | filecheck %s
// RUN: neuron-opt %s --pipeline hlo-simplify --dump-pass-pipeline 2>&1 >%t | filecheck %s
// RUN: neuron-opt %s -p 'builtin.module(@hlo-simplify)' --dump-pass-pipeline 2>&1 >%t | filecheck %s
// RUN: status 2 neuron-opt %s -p @hlo-simplfy 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: status 2 neuron-opt %s -p cse --pipeline hlo-simplify 2>&1 | filecheck %s --check-prefix=BOTH

// LIST: @hlo-simplify = hlo-inline,
// LIST-NEXT: {{^  hlo-[^ ]*,hlo-dce$}}
// LIST: @inf1 = hlo-
// LIST: lower-hlo-to-nc{target=inf1},
// LIST: @trn1 = hlo-
// LIST: lower-hlo-to-nc{target=trn1},
// LIST: @trn1:hlo = hlo-
// CHECK: builtin.module(hlo-inline,{{.*}}hlo-dce)
// UNKNOWN: unknown pipeline '@hlo-simplfy'
// UNKNOWN: did you mean hlo-simplify?
// BOTH: give --passes or --pipeline, not both
func.func @f() {
  func.return
}
