// RUN: neuron-opt %s -p hlo-emulate-uint64 --split-input-file | filecheck %s
// RUN: neuron-opt %s -p hlo-emulate-uint64,hlo-canonicalize,hlo-dce --split-input-file | filecheck %s --check-prefix=CLEAN

// The counters of Threefry fit in 32 bits: their high half is zero.
// CLEAN-LABEL: func.func @counters
// CLEAN-NOT:   ui64
// CLEAN:       hlo.iota iota_dimension = 0 : tensor<8xui32>
// CLEAN:       %[[M:.*]] = hlo.multiply {{.*}} : tensor<4xui32>
// CLEAN:       %[[A:.*]] = hlo.add {{.*}} : tensor<4x8xui32>
// CLEAN:       %[[Z:.*]] = hlo.broadcast {{.*}} -> tensor<4x8xui32>
// CLEAN:       hlo.tuple %[[Z]], %[[A]]
func.func @counters() -> tuple<tensor<4x8xui32>, tensor<4x8xui32>> {
  %i = hlo.iota iota_dimension = 0 : tensor<4x8xui64>
  %j = hlo.iota iota_dimension = 1 : tensor<4x8xui64>
  %c = hlo.constant dense<8> : tensor<ui64>
  %n = hlo.broadcast %c dimensions = [] : (tensor<ui64>) -> tensor<4x8xui64>
  %m = hlo.multiply %i, %n : tensor<4x8xui64>
  %a = hlo.add %m, %j : tensor<4x8xui64>
  %d = hlo.constant dense<32> : tensor<ui64>
  %s = hlo.broadcast %d dimensions = [] : (tensor<ui64>) -> tensor<4x8xui64>
  %h = hlo.shift_right_logical %a, %s : tensor<4x8xui64>
  %x = hlo.convert %h : (tensor<4x8xui64>) -> tensor<4x8xui32>
  %y = hlo.convert %a : (tensor<4x8xui64>) -> tensor<4x8xui32>
  %r = hlo.tuple %x, %y : (tensor<4x8xui32>, tensor<4x8xui32>) -> tuple<tensor<4x8xui32>, tensor<4x8xui32>>
  func.return %r : tuple<tensor<4x8xui32>, tensor<4x8xui32>>
}

// -----

// A sum carries into the high half.
// CHECK-LABEL: func.func @sum
// CHECK:       %[[LOW:.*]] = hlo.add %{{.*}}, %{{.*}} : tensor<3xui32>
// CHECK:       %[[LESS:.*]] = hlo.compare %[[LOW]], {{.*}} direction = LT
// CHECK:       %[[CARRY:.*]] = hlo.convert %[[LESS]] : (tensor<3xi1>) -> tensor<3xui32>
// CHECK:       hlo.add %{{.*}}, %[[CARRY]] : tensor<3xui32>
// CHECK-NOT:   ui64
func.func @sum(%x: tensor<3x2xui32>, %y: tensor<3x2xui32>) -> tensor<3x2xui32> {
  %a = hlo.bitcast_convert %x : (tensor<3x2xui32>) -> tensor<3xui64>
  %b = hlo.bitcast_convert %y : (tensor<3x2xui32>) -> tensor<3xui64>
  %c = hlo.add %a, %b : tensor<3xui64>
  %d = hlo.bitcast_convert %c : (tensor<3xui64>) -> tensor<3x2xui32>
  func.return %d : tensor<3x2xui32>
}

// -----

// The state of a generator and 64-bit results become words.
// CHECK-LABEL: func.func @bits
// CHECK:       hlo.rng_bit_generator {{.*}} : (tensor<4xui32>) -> tuple<tensor<4xui32>, tensor<12xui32>>
// CHECK-NOT:   ui64
func.func @bits(%k: tensor<2x2xui32>) -> tensor<2x3x2xui32> {
  %s = hlo.bitcast_convert %k : (tensor<2x2xui32>) -> tensor<2xui64>
  %r = hlo.rng_bit_generator %s algorithm = "rng_three_fry" : (tensor<2xui64>) -> tuple<tensor<2xui64>, tensor<2x3xui64>>
  %b = hlo.get_tuple_element %r index = 1 : (tuple<tensor<2xui64>, tensor<2x3xui64>>) -> tensor<2x3xui64>
  %w = hlo.bitcast_convert %b : (tensor<2x3xui64>) -> tensor<2x3x2xui32>
  func.return %w : tensor<2x3x2xui32>
}

// -----

// Division of values that may not fit in 32 bits is left, and refused later.
// CHECK-LABEL: func.func @quotient
// CHECK:       hlo.divide {{.*}} : tensor<3xui64>
func.func @quotient(%x: tensor<3x2xui32>) -> tensor<3xui32> {
  %a = hlo.bitcast_convert %x : (tensor<3x2xui32>) -> tensor<3xui64>
  %b = hlo.divide %a, %a : tensor<3xui64>
  %c = hlo.convert %b : (tensor<3xui64>) -> tensor<3xui32>
  func.return %c : tensor<3xui32>
}

// -----

// Arguments and results of the entry are words; the module keeps their types.
// CHECK:       hlo.word_inputs = {"0" = "uint64"}, hlo.word_outputs = {"1" = "uint64"}
// CHECK:       func.func @main(%x: tensor<3x2xui32>, %n: tensor<3xi32>) -> tuple<tensor<3xi32>, tensor<3x2xui32>>
// CHECK-NOT:   ui64
func.func @main(%x: tensor<3xui64>, %n: tensor<3xi32>) -> tuple<tensor<3xi32>, tensor<3xui64>> {
  %y = hlo.not %x : tensor<3xui64>
  %r = hlo.tuple %n, %y : (tensor<3xi32>, tensor<3xui64>) -> tuple<tensor<3xi32>, tensor<3xui64>>
  func.return %r : tuple<tensor<3xi32>, tensor<3xui64>>
}
