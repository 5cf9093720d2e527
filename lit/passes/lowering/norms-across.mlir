// RUN: neuron-opt %s -p 'hlo-assign-layouts{target=trn1}' | filecheck %s --check-prefix=ASSIGNED
// RUN: neuron-opt %s -p 'hlo-assign-layouts{target=trn1 norms=false}' | filecheck %s --check-prefix=NONE
// RUN: neuron-opt %s -p 'hlo-assign-layouts{target=trn1},lower-hlo-to-nc{target=trn1}' | filecheck %s
// RUN: neuron-opt %s -p 'hlo-assign-layouts{target=trn1}' --pass-statistics 2>&1 >%t | filecheck %s --check-prefix=STATS

// 144 rows are two tiles where they are stationary, but one moving operand. So the first product has its
// weights stationary and the norm its rows along partitions: a product with ones leaves the sums of
// squares on all of them, POOL takes the root, and nothing is transposed but x.

// ASSIGNED:     hlo.dot {{.*}} {nc.stationary = "rhs"} :
// ASSIGNED:     hlo.composite {{.*}} {nc.partition_dim = 1 : i64} (
// NONE-NOT:     nc.partition_dim

// CHECK-LABEL: nc.func "main"
// CHECK-COUNT-2: nc.transpose
// CHECK-NOT:     nc.transpose
// CHECK:         %[[SUMS:.*]] = nc.alloc : memref<128x144xf32, #nc.space<"psum">>
// CHECK:         nc.activation {{.*}}func = "square"
// CHECK:         nc.matmul (%[[SUMS]]
// CHECK:         nc.tensor_scalar {{.*}}op1 = "rsqrt"{{.*}} on pool
// CHECK:         nc.tensor_tensor {{.*}}{op = "multiply"} on dve
// CHECK-NOT:     nc.transpose
// CHECK:         nc.return

// STATS: 1 normalisations along partitions
func.func @main(%x: tensor<144x128xbf16>) -> tensor<144x1024xf32> {
  %u = hlo.constant dense<5.000000e-01> : tensor<128x128xbf16>
  %v = hlo.constant dense<2.500000e-01> : tensor<128x1024xbf16>
  %s = hlo.dot %x, %u lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<144x128xbf16>, tensor<128x128xbf16>) -> tensor<144x128xf32>
  %n = hlo.composite %s kind = rms_norm, params = {axes = array<i64: 1>, axis = 1 : i64, epsilon = 9.999999747378752e-06 : f64, has_scale = false, has_offset = false} ({
  ^bb0(%a: tensor<144x128xf32>):
    %zero = hlo.constant dense<0.000000e+00> : tensor<f32>
    %length = hlo.constant dense<1.280000e+02> : tensor<f32>
    %lengths = hlo.broadcast %length dimensions = [] : (tensor<f32>) -> tensor<144xf32>
    %epsilon = hlo.constant dense<9.99999974E-6> : tensor<f32>
    %epsilons = hlo.broadcast %epsilon dimensions = [] : (tensor<f32>) -> tensor<144xf32>
    %squares = hlo.multiply %a, %a : tensor<144x128xf32>
    %total = hlo.reduce %squares, %zero dimensions = [1] ({
    ^bb0(%b: tensor<f32>, %c: tensor<f32>):
      %d = hlo.add %b, %c : tensor<f32>
      hlo.return %d : tensor<f32>
    }) : (tensor<144x128xf32>, tensor<f32>) -> tensor<144xf32>
    %mean = hlo.divide %total, %lengths : tensor<144xf32>
    %sure = hlo.add %mean, %epsilons : tensor<144xf32>
    %root = hlo.rsqrt %sure : tensor<144xf32>
    %roots = hlo.broadcast %root dimensions = [0] : (tensor<144xf32>) -> tensor<144x128xf32>
    %normal = hlo.multiply %a, %roots : tensor<144x128xf32>
    hlo.return %normal : tensor<144x128xf32>
  }) : tensor<144x128xf32>
  %c = hlo.convert %n : (tensor<144x128xf32>) -> tensor<144x128xbf16>
  %p = hlo.dot %c, %v lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<144x128xbf16>, tensor<128x1024xbf16>) -> tensor<144x1024xf32>
  func.return %p : tensor<144x1024xf32>
}
