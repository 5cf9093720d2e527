// RUN: neuron-opt %s -p canonicalize | filecheck %s

// A conversion to the same type is the operand.
// CHECK-LABEL: func.func @same
// CHECK-NEXT:    func.return %x
func.func @same(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tile.convert_layout %x : tensor<4x8xf32> to tensor<4x8xf32>
  func.return %0 : tensor<4x8xf32>
}

// A conversion that undoes another is the operand of the first one.
// CHECK-LABEL: func.func @back
// CHECK-NEXT:    func.return %x
func.func @back(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tile.convert_layout %x : tensor<4x8xf32> to tensor<4x8xf32, #tile.layout<sbuf, [4p1], [8f1]>>
  %1 = tile.convert_layout %0 : tensor<4x8xf32, #tile.layout<sbuf, [4p1], [8f1]>> to tensor<4x8xf32>
  func.return %1 : tensor<4x8xf32>
}

// The first conversion rounds to bf16, so the second one does not undo it.
// CHECK-LABEL: func.func @rounded
// CHECK-NEXT:    %0 = tile.convert_layout %x
// CHECK-NEXT:    %1 = tile.convert_layout %0
// CHECK-NEXT:    %2 = tile.convert_layout %1
// CHECK-NEXT:    func.return %2
func.func @rounded(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tile.convert_layout %x : tensor<4x8xf32> to tensor<4x8xbf16, #tile.layout<sbuf, [4p1], [8f1]>>
  %1 = tile.convert_layout %0 : tensor<4x8xbf16, #tile.layout<sbuf, [4p1], [8f1]>> to tensor<4x8xbf16>
  %2 = tile.convert_layout %1 : tensor<4x8xbf16> to tensor<4x8xf32>
  func.return %2 : tensor<4x8xf32>
}

// A store and a load become a conversion on the chip.
// CHECK-LABEL: func.func @through_hbm
// CHECK-NEXT:    %0 = tile.convert_layout %x : tensor<4x8xf32, #tile.layout<sbuf, [4p1], [8f1]>> to tensor<4x8xf32, #tile.layout<sbuf, [4f1], [8p1]>>
// CHECK-NEXT:    func.return %0
func.func @through_hbm(%x: tensor<4x8xf32, #tile.layout<sbuf, [4p1], [8f1]>>) -> tensor<4x8xf32, #tile.layout<sbuf, [4f1], [8p1]>> {
  %0 = tile.convert_layout %x : tensor<4x8xf32, #tile.layout<sbuf, [4p1], [8f1]>> to tensor<4x8xf32>
  %1 = tile.convert_layout %0 : tensor<4x8xf32> to tensor<4x8xf32, #tile.layout<sbuf, [4f1], [8p1]>>
  func.return %1 : tensor<4x8xf32, #tile.layout<sbuf, [4f1], [8p1]>>
}

// Only a load converts elements, so these two stay.
// CHECK-LABEL: func.func @through_hbm_to_bf16
// CHECK-NEXT:    tile.convert_layout
// CHECK-NEXT:    tile.convert_layout
func.func @through_hbm_to_bf16(%x: tensor<4x8xf32, #tile.layout<sbuf, [4p1], [8f1]>>) -> tensor<4x8xbf16, #tile.layout<sbuf, [4f1], [8p1]>> {
  %0 = tile.convert_layout %x : tensor<4x8xf32, #tile.layout<sbuf, [4p1], [8f1]>> to tensor<4x8xf32>
  %1 = tile.convert_layout %0 : tensor<4x8xf32> to tensor<4x8xbf16, #tile.layout<sbuf, [4f1], [8p1]>>
  func.return %1 : tensor<4x8xbf16, #tile.layout<sbuf, [4f1], [8p1]>>
}

// Two conversions on the chip stay: the passes chose that way.
// CHECK-LABEL: func.func @on_chip
// CHECK-NEXT:    tile.convert_layout
// CHECK-NEXT:    tile.convert_layout
func.func @on_chip(%x: tensor<4x8xf32>) -> tensor<4x8xf32, #tile.layout<sbuf, [4f1], [8p1]>> {
  %0 = tile.convert_layout %x : tensor<4x8xf32> to tensor<4x8xf32, #tile.layout<sbuf, [4p1], [8f1]>>
  %1 = tile.convert_layout %0 : tensor<4x8xf32, #tile.layout<sbuf, [4p1], [8f1]>> to tensor<4x8xf32, #tile.layout<sbuf, [4f1], [8p1]>>
  func.return %1 : tensor<4x8xf32, #tile.layout<sbuf, [4f1], [8p1]>>
}

// CHECK-LABEL: func.func @to_index
// CHECK-NEXT:    %n = arith.constant 7 : index
// CHECK-NEXT:    %m = arith.constant 0 : index
// CHECK-NEXT:    func.return %n, %m
func.func @to_index() -> (index, index) {
  %0 = hlo.constant dense<7> : tensor<i32>
  %n = tile.to_index %0 : tensor<i32>
  %1 = hlo.constant dense<-7> : tensor<i32>
  %m = tile.to_index %1 : tensor<i32>
  func.return %n, %m : index, index
}

// CHECK-LABEL: func.func @index
// CHECK-NEXT:    %0 = hlo.constant dense<7> : tensor<i32>
// CHECK-NEXT:    func.return %0
func.func @index() -> tensor<i32> {
  %n = arith.constant 7 : index
  %0 = tile.index %n : tensor<i32>
  func.return %0 : tensor<i32>
}

// A mask that keeps everything, and a recurrence of one step.
// CHECK-LABEL: func.func @neutral
// CHECK-NEXT:    func.return %x
func.func @neutral(%x: tensor<4x1xf32>) -> tensor<4x1xf32> {
  %0 = tile.mask %x dimension = 0 kept = 4 value = 0.0 : tensor<4x1xf32> to tensor<4x1xf32>
  %1 = tile.scan "add" %0 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  func.return %1 : tensor<4x1xf32>
}

// CHECK-LABEL: func.func @effective
// CHECK-NEXT:    tile.mask
// CHECK-NEXT:    tile.scan
func.func @effective(%x: tensor<4x1xf32>, %h: tensor<4xf32>) -> tensor<4x1xf32> {
  %0 = tile.mask %x dimension = 0 kept = 3 value = 0.0 : tensor<4x1xf32> to tensor<4x1xf32>
  %1 = tile.scan "add" %0, %h : (tensor<4x1xf32>, tensor<4xf32>) -> tensor<4x1xf32>
  func.return %1 : tensor<4x1xf32>
}

// Ops without users go, and so does a loop without iterations; a loop of one becomes its body.
// CHECK-LABEL: func.func @loops
// CHECK-NEXT:    %init = tile.empty "hbm"
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %n = tensor.insert_slice %x into %init[%c0, 0]
// CHECK-NEXT:    func.return %n
func.func @loops(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %unused = tile.empty "sbuf" : tensor<4x8xf32>
  %init = tile.empty "hbm" : tensor<4x8xf32>
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %none = scf.for %i = %c0 to %c0 step %c4 iter_args(%acc = %init) -> (tensor<4x8xf32>) {
    %n = tensor.insert_slice %x into %acc[%i, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<4x8xf32>
    scf.yield %n : tensor<4x8xf32>
  }
  %one = scf.for %i = %c0 to %c4 step %c4 iter_args(%acc = %none) -> (tensor<4x8xf32>) {
    %n = tensor.insert_slice %x into %acc[%i, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<4x8xf32>
    scf.yield %n : tensor<4x8xf32>
  }
  func.return %one : tensor<4x8xf32>
}
