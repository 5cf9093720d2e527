// RUN: neuron-opt %s --run | filecheck %s
// RUN: neuron-opt %s | neuron-opt | filecheck %s --check-prefix=PRINT
// RUN: status 1 neuron-opt %s -p 'tile-assign-layouts{target=trn1},lower-tile-to-nc{target=trn1}' 2>&1 | filecheck %s --check-prefix=LOWER
// RUN: status 1 sh -c "sed s/cmpi.ne/cmpi\ eq/ %s | neuron-opt --run" 2>&1 | filecheck %s --check-prefix=EQUAL

// The interpreter runs any scf.while whose condition compares an index with `ne`. lower-tile-to-nc
// takes those whose condition is a tile.to_index, which an engine can load.

// PRINT: scf.while (%{{.*}} = %c3, %{{.*}} = %{{.*}}) : (index, tensor<4xf32>) -> (index, tensor<4xf32>) {
// PRINT: scf.condition(%{{.*}}) %{{.*}}, %{{.*}} : index, tensor<4xf32>
// PRINT: } do {
// CHECK: result 0: float32[4] [8., 8., 8., 8.]
// LOWER: [NIR_TIL009] the condition of a loop is not a tile.to_index
// EQUAL: only the predicate 'ne' of arith.cmpi is supported

builtin.module {
  func.func @main() -> tensor<4xf32> {
    %c3 = arith.constant 3 : index
    %cm1 = arith.constant -1 : index
    %one = hlo.constant dense<1.0> : tensor<4xf32>
    %r:2 = scf.while (%k = %c3, %v = %one) : (index, tensor<4xf32>) -> (index, tensor<4xf32>) {
      %c0 = arith.constant 0 : index
      %more = arith.cmpi ne, %k, %c0 : index
      scf.condition(%more) %k, %v : index, tensor<4xf32>
    } do {
    ^bb0(%i: index, %x: tensor<4xf32>):
      %y = hlo.add %x, %x : tensor<4xf32>
      %next = arith.addi %i, %cm1 : index
      scf.yield %next, %y : index, tensor<4xf32>
    }
    func.return %r#1 : tensor<4xf32>
  }
}
