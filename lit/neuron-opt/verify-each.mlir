// RUN: status 70 neuron-opt %s --load %S/Inputs/passes.py -p test-break-ir --crash-reproducer=%t 2>&1 | filecheck %s
// RUN: neuron-opt %s --load %S/Inputs/passes.py -p test-break-ir --verify-each=0 | filecheck %s --check-prefix=OFF
// CHECK: pass 'test-break-ir' made invalid IR
// OFF: func.func @f
func.func @f() {
  func.return
}
