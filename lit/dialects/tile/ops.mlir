// RUN: neuron-opt %s | neuron-opt | filecheck %s

builtin.module {
  func.func @main(%x: tensor<1024x64xf32>, %i: index) -> tensor<1024x64xf32> {
    // CHECK: tile.convert_layout %x : tensor<1024x64xf32> to tensor<1024x64xbf16, #tile.layout<sbuf, [128p1, 8f64], [64f1]>>
    %0 = tile.convert_layout %x : tensor<1024x64xf32> to tensor<1024x64xbf16, #tile.layout<sbuf, [128p1, 8f64], [64f1]>>
    // CHECK-NEXT: to tensor<1024x64xbf16, #tile.layout<sbuf, [1024f1], [64p1] x [2p64]>>
    %1 = tile.convert_layout %0 : tensor<1024x64xbf16, #tile.layout<sbuf, [128p1, 8f64], [64f1]>> to tensor<1024x64xbf16, #tile.layout<sbuf, [1024f1], [64p1] x [2p64]>>
    // Digits that lie across dimensions: one list numbers all elements.
    // CHECK-NEXT: to tensor<1024x64xf32, #tile.layout<sbuf, [64p1, 1024f1]>>
    %2 = tile.convert_layout %x : tensor<1024x64xf32> to tensor<1024x64xf32, #tile.layout<sbuf, [64p1, 1024f1]>>
    // CHECK-NEXT: tile.index %i : tensor<i32>
    %3 = tile.index %i : tensor<i32>
    // CHECK-NEXT: tile.to_index %{{.*}} : tensor<i32>
    %n = tile.to_index %3 : tensor<i32>
    // CHECK-NEXT: tile.convert_layout %{{.*}} : tensor<1024x64xf32, #tile.layout<sbuf, [64p1, 1024f1]>> to tensor<1024x64xf32>
    %4 = tile.convert_layout %2 : tensor<1024x64xf32, #tile.layout<sbuf, [64p1, 1024f1]>> to tensor<1024x64xf32>
    // CHECK-NEXT: tile.empty "hbm" : tensor<4096x512xf32>
    %5 = tile.empty "hbm" : tensor<4096x512xf32>
    func.return %4 : tensor<1024x64xf32>
  }
}
