// RUN: neuron-opt %s --mlir-print-debuginfo -o %t.mlir
// RUN: filecheck %s < %t.mlir
// RUN: neuron-opt %t.mlir --mlir-print-debuginfo -o %t.again.mlir
// RUN: diff %t.mlir %t.again.mlir
// RUN: neuron-opt %s | filecheck %s --check-prefix=WITHOUT

// Fused locations are printed as a table at the end of the file, on demand. A location may be used
// before its definition, by arguments too, as in the output of mlir-opt.

// CHECK:      func.func @main(%x: tensor<4xf32> loc("x"("m.py":1:2)))
// CHECK-NEXT: %y = hlo.tanh %x : tensor<4xf32> loc(#loc1)
// CHECK-NEXT: %z = hlo.negate %y : tensor<4xf32> loc(#loc2)
// CHECK-NEXT: %a = hlo.negate %z : tensor<4xf32> loc(#loc1)
// CHECK-NEXT: func.return %a : tensor<4xf32> loc("m.py":1:2)
// CHECK:      #loc1 = loc(fused<{opcode = "tanh"}>["y"("m.py":1:2)])
// CHECK-NEXT: #loc2 = loc(fused["m.py":1:2, "m.py":3:4])

// WITHOUT-NOT: loc
builtin.module {
  func.func @main(%x: tensor<4xf32> loc(#x)) -> tensor<4xf32> {
    %y = hlo.tanh %x : tensor<4xf32> loc(#loc7)
    %z = hlo.negate %y : tensor<4xf32> loc(fused["m.py":1:2, "m.py":3:4])
    %a = hlo.negate %z : tensor<4xf32> loc(#loc7)
    func.return %a : tensor<4xf32> loc(#loc)
  } loc(#loc)
} loc(unknown)
#loc = loc("m.py":1:2)
#x = loc("x"(#loc))
#loc7 = loc(fused<{opcode = "tanh"}>["y"(#loc)])
