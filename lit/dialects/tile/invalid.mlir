// RUN: neuron-opt %s --split-input-file --verify-diagnostics

func.func @shape(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'tile.convert_layout' op operand and result must have the same shape}}
  %0 = tile.convert_layout %x : tensor<4x8xf32> to tensor<8x4xf32, #tile.layout<sbuf, [8p1], [4f1]>>
  func.return
}

// -----

func.func @elements(%x: tensor<4x8xf32, #tile.layout<sbuf, [4p1], [8f1]>>) {
  // expected-error@+1 {{'tile.convert_layout' op only a load may convert elements}}
  %0 = tile.convert_layout %x : tensor<4x8xf32, #tile.layout<sbuf, [4p1], [8f1]>> to tensor<4x8xbf16, #tile.layout<sbuf, [4f1], [8p1]>>
  func.return
}

// -----

func.func @fit(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{the layout <sbuf, [4p1], [4f1]> does not fit a tensor of [4, 8]}}
  %0 = tile.convert_layout %x : tensor<4x8xf32> to tensor<4x8xf32, #tile.layout<sbuf, [4p1], [4f1]>>
  func.return
}

// -----

func.func @number(%i: index) {
  // expected-error@+1 {{'tile.index' op the result must be a scalar}}
  %0 = tile.index %i : tensor<2xi32>
  func.return
}

// -----

// expected-error@+1 {{a memory is one of hbm, sbuf, psum, not 'dram'}}
func.func @memory(%x: tensor<4xf32, #tile.layout<dram, [4f1]>>) {
  func.return
}

// -----

// expected-error@+1 {{digits that repeat a value must be on partitions}}
func.func @repeats(%x: tensor<4xf32, #tile.layout<sbuf, [4f1] x [2f4]>>) {
  func.return
}

// -----

func.func @kind(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'tile.scan' op kinds are linear, add, multiply, maximum, minimum, not median}}
  %0 = tile.scan "median" %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

func.func @arrays(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'tile.scan' op linear takes 2 arrays and an optional initial value}}
  %0 = tile.scan "linear" %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

func.func @along(%x: tensor<f32>) {
  // expected-error@+1 {{'tile.scan' op there is no dimension to scan along}}
  %0 = tile.scan "add" %x : (tensor<f32>) -> tensor<f32>
  func.return
}

// -----

func.func @begin(%x: tensor<4x8xf32>, %h: tensor<8xf32>) {
  // expected-error@+1 {{'tile.scan' op operand 1 must have the shape [4], has [8]}}
  %0 = tile.scan "add" %x, %h : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

func.func @mask_dimension(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'tile.mask' op there is no dimension 2}}
  %0 = tile.mask %x dimension = 2 kept = 3 value = 0.0 : tensor<4x8xf32> to tensor<4x8xf32>
  func.return
}

// -----

func.func @mask_kept(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'tile.mask' op dimension 0 has no position 5}}
  %0 = tile.mask %x dimension = 0 kept = 5 value = 0.0 : tensor<4x8xf32> to tensor<4x8xf32>
  func.return
}

// -----

func.func @mask_type(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'tile.mask' op the result has the shape and the element type of the operand}}
  %0 = tile.mask %x dimension = 0 kept = 3 value = 0.0 : tensor<4x8xf32> to tensor<4x8xbf16>
  func.return
}

// -----

func.func @outside(%x: tensor<8xf32>) {
  // expected-error@+1 {{a block is not inside of dimension 0}}
  %0 = tile.unfold %x dimension = 0 start = 1 step = 4 : tensor<8xf32> to tensor<2x4xf32>
  func.return
}

// -----

func.func @others(%x: tensor<8x2xf32>) {
  // expected-error@+1 {{dimension 0 becomes two, others stay the same}}
  %0 = tile.unfold %x dimension = 0 start = 0 step = 4 : tensor<8x2xf32> to tensor<2x4x1xf32>
  func.return
}

// -----

func.func @dimension(%x: tensor<8xf32>) {
  // expected-error@+1 {{there is no dimension 1}}
  %0 = tile.unfold %x dimension = 1 start = 0 step = 4 : tensor<8xf32> to tensor<8x2x4xf32>
  func.return
}

// -----

func.func @kinds(%x: tensor<8xf32>) {
  // expected-error@+1 {{the result has the element type of the operand}}
  %0 = tile.unfold %x dimension = 0 start = 0 step = 4 : tensor<8xf32> to tensor<2x4xbf16>
  func.return
}

// -----

func.func @counts(%x: tensor<1xi32>) {
  // expected-error@+1 {{the source must be a scalar of type i32}}
  %0 = tile.to_index %x : tensor<1xi32>
  func.return
}

// -----

func.func @empty() {
  // expected-error@+1 {{'tile.empty' op a memory is hbm or sbuf, not psum}}
  %0 = tile.empty "psum" : tensor<4xf32>
  func.return
}

// -----

// expected-error@+1 {{a digit is SIZEpSTEP on partitions, SIZEfSTRIDE on the free axis, SIZEr}}
func.func @digit(%x: tensor<4xf32, #tile.layout<sbuf, [4q1]>>) {
  func.return
}

// -----

func.func @ints(%x: tensor<4x8xi32>) {
  // expected-error@+1 {{'tile.scan' op element type must be float, is i32}}
  %0 = "tile.scan"(%x) <{kind = "add"}> : (tensor<4x8xi32>) -> tensor<4x8xi32>
  func.return
}

// -----

func.func @ints(%x: tensor<4x8xi32>) {
  // expected-error@+1 {{'tile.scan' op element type must be float, is i32}}
  %0 = tile.scan "add" %x : (tensor<4x8xi32>) -> tensor<4x8xi32>
  func.return
}

// -----

func.func @index_of_pred(%i: index) {
  // expected-error@+1 {{'tile.index' op element type must be a number, is i1}}
  %0 = "tile.index"(%i) : (index) -> tensor<i1>
  func.return
}

// -----

func.func @index_of_pred(%i: index) {
  // expected-error@+1 {{'tile.index' op element type must be a number, is i1}}
  %0 = tile.index %i : tensor<i1>
  func.return
}

// -----

func.func @mask_of_preds(%x: tensor<4x8xi1>) {
  // expected-error@+1 {{'tile.mask' op element type must be a number, is i1}}
  %0 = "tile.mask"(%x) <{dimension = 0 : i64, kept = 3 : i64, value = 0.0 : f64}> : (tensor<4x8xi1>) -> tensor<4x8xi1>
  func.return
}

// -----

func.func @mask_of_preds(%x: tensor<4x8xi1>) {
  // expected-error@+1 {{'tile.mask' op element type must be a number, is i1}}
  %0 = tile.mask %x dimension = 0 kept = 3 value = 0.0 : tensor<4x8xi1> to tensor<4x8xi1>
  func.return
}
