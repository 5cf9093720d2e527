// RUN: neuron-opt %s -p canonicalize --timing 2>&1 >%t | filecheck %s --check-prefix=TREE
// RUN: neuron-opt %s -p canonicalize --mlir-timing=list 2>&1 >%t | filecheck %s --check-prefix=LIST
// RUN: neuron-opt %s --load %S/Inputs/passes.py -p test-talk --mlir-pass-statistics 2>&1 >%t | filecheck %s --check-prefix=STATS

// TREE: Execution time report
// TREE: Total Execution Time: {{.*}} seconds
// TREE-NEXT: Checks: {{.*}} seconds ({{.*}}%)
// TREE: Parser
// TREE-NEXT: Verifier
// TREE-NEXT: {{^.*\)  canonicalize$}}
// TREE-NEXT: {{^.*\)    \(verify\)$}}
// TREE-NEXT: Output
// TREE-NEXT: (100.0%)  Total
// LIST: Execution time report
// LIST-DAG: canonicalize
// LIST-DAG: Parser
// STATS: warning: a function
// STATS: Pass statistics report
// STATS: test-talk
// STATS-NEXT: (S) 2 functions

func.func @f() {
  func.return
}
func.func @g() {
  func.return
}
