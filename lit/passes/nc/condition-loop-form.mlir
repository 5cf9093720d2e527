// RUN: python -c "import numpy as np; np.savez('%t.npz', arg0=np.ones(1, 'i'))"
// RUN: status 1 neuron-opt %s -p @nc-order 2>&1 | filecheck %s
// RUN: status 1 neuron-opt %s --run --inputs %t.npz 2>&1 | filecheck %s
// CHECK: [NIR_NC003] scf.while: a loop carries the number of the previous iteration, from -1 on, and a nc.register_load in its body, and ends when the loaded value is 0

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "n" : "input" memref<1xi32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %n = nc.address_of @n : memref<1xi32, #nc.space<"hbm">>
    %before = arith.constant 0 : index
    %one = arith.constant 1 : index
    %zero = arith.constant 0 : index
    %first = nc.register_load () = (%n[0:1 | 1:1 | 0]) {low = 0, high = 1} -> index
    %0:2 = scf.while (%last = %before, %r = %first) : (index, index) -> (index, index) {
      %number = arith.addi %last, %one : index
      %more = arith.cmpi ne, %r, %zero : index
      scf.condition(%more) %number, %r : index, index
    } do {
    ^bb0(%i: index, %q: index):
      %next = nc.register_load () = (%n[0:1 | 1:1 | 0]) {low = 0, high = 1} -> index
      scf.yield %i, %next : index, index
    }
    nc.return
  }
}
