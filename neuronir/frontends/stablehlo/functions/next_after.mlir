// The expansion of chlo.next_after in XLA (Apache-2.0), for scalars; written by tools/chlo_functions.py.
module @next_after {
  func.func @f16(%arg0: tensor<f16>, %arg1: tensor<f16>) -> tensor<f16> {
    %c = stablehlo.constant dense<-1> : tensor<i16>
    %c_0 = stablehlo.constant dense<1> : tensor<i16>
    %c_1 = stablehlo.constant dense<0> : tensor<i16>
    %c_2 = stablehlo.constant dense<32767> : tensor<i16>
    %c_3 = stablehlo.constant dense<-32768> : tensor<i16>
    %cst = stablehlo.constant dense<0x7E00> : tensor<f16>
    %0 = stablehlo.bitcast_convert %arg0 : (tensor<f16>) -> tensor<i16>
    %1 = stablehlo.bitcast_convert %arg1 : (tensor<f16>) -> tensor<i16>
    %2 = stablehlo.compare NE, %arg0, %arg0 : (tensor<f16>, tensor<f16>) -> tensor<i1>
    %3 = stablehlo.compare NE, %arg1, %arg1 : (tensor<f16>, tensor<f16>) -> tensor<i1>
    %4 = stablehlo.or %2, %3 : tensor<i1>
    %5 = stablehlo.bitcast_convert %cst : (tensor<f16>) -> tensor<i16>
    %6 = stablehlo.and %0, %c_2 : tensor<i16>
    %7 = stablehlo.and %1, %c_2 : tensor<i16>
    %8 = stablehlo.compare EQ, %arg0, %arg1 : (tensor<f16>, tensor<f16>) -> tensor<i1>
    %9 = stablehlo.compare EQ, %6, %c_1 : (tensor<i16>, tensor<i16>) -> tensor<i1>
    %10 = stablehlo.compare EQ, %7, %c_1 : (tensor<i16>, tensor<i16>) -> tensor<i1>
    %11 = stablehlo.and %0, %c_3 : tensor<i16>
    %12 = stablehlo.and %1, %c_3 : tensor<i16>
    %13 = stablehlo.or %12, %c_0 : tensor<i16>
    %14 = stablehlo.compare NE, %11, %12 : (tensor<i16>, tensor<i16>) -> tensor<i1>
    %15 = stablehlo.compare GT, %6, %7 : (tensor<i16>, tensor<i16>) -> tensor<i1>
    %16 = stablehlo.or %15, %14 : tensor<i1>
    %17 = stablehlo.select %16, %c, %c_0 : tensor<i1>, tensor<i16>
    %18 = stablehlo.add %0, %17 : tensor<i16>
    %19 = stablehlo.select %10, %1, %13 : tensor<i1>, tensor<i16>
    %20 = stablehlo.select %9, %19, %18 : tensor<i1>, tensor<i16>
    %21 = stablehlo.select %8, %1, %20 : tensor<i1>, tensor<i16>
    %22 = stablehlo.select %4, %5, %21 : tensor<i1>, tensor<i16>
    %23 = stablehlo.bitcast_convert %22 : (tensor<i16>) -> tensor<f16>
    return %23 : tensor<f16>
  }
  func.func @bf16(%arg0: tensor<bf16>, %arg1: tensor<bf16>) -> tensor<bf16> {
    %c = stablehlo.constant dense<-1> : tensor<i16>
    %c_0 = stablehlo.constant dense<1> : tensor<i16>
    %c_1 = stablehlo.constant dense<0> : tensor<i16>
    %c_2 = stablehlo.constant dense<32767> : tensor<i16>
    %c_3 = stablehlo.constant dense<-32768> : tensor<i16>
    %cst = stablehlo.constant dense<0x7FC0> : tensor<bf16>
    %0 = stablehlo.bitcast_convert %arg0 : (tensor<bf16>) -> tensor<i16>
    %1 = stablehlo.bitcast_convert %arg1 : (tensor<bf16>) -> tensor<i16>
    %2 = stablehlo.compare NE, %arg0, %arg0 : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
    %3 = stablehlo.compare NE, %arg1, %arg1 : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
    %4 = stablehlo.or %2, %3 : tensor<i1>
    %5 = stablehlo.bitcast_convert %cst : (tensor<bf16>) -> tensor<i16>
    %6 = stablehlo.and %0, %c_2 : tensor<i16>
    %7 = stablehlo.and %1, %c_2 : tensor<i16>
    %8 = stablehlo.compare EQ, %arg0, %arg1 : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
    %9 = stablehlo.compare EQ, %6, %c_1 : (tensor<i16>, tensor<i16>) -> tensor<i1>
    %10 = stablehlo.compare EQ, %7, %c_1 : (tensor<i16>, tensor<i16>) -> tensor<i1>
    %11 = stablehlo.and %0, %c_3 : tensor<i16>
    %12 = stablehlo.and %1, %c_3 : tensor<i16>
    %13 = stablehlo.or %12, %c_0 : tensor<i16>
    %14 = stablehlo.compare NE, %11, %12 : (tensor<i16>, tensor<i16>) -> tensor<i1>
    %15 = stablehlo.compare GT, %6, %7 : (tensor<i16>, tensor<i16>) -> tensor<i1>
    %16 = stablehlo.or %15, %14 : tensor<i1>
    %17 = stablehlo.select %16, %c, %c_0 : tensor<i1>, tensor<i16>
    %18 = stablehlo.add %0, %17 : tensor<i16>
    %19 = stablehlo.select %10, %1, %13 : tensor<i1>, tensor<i16>
    %20 = stablehlo.select %9, %19, %18 : tensor<i1>, tensor<i16>
    %21 = stablehlo.select %8, %1, %20 : tensor<i1>, tensor<i16>
    %22 = stablehlo.select %4, %5, %21 : tensor<i1>, tensor<i16>
    %23 = stablehlo.bitcast_convert %22 : (tensor<i16>) -> tensor<bf16>
    return %23 : tensor<bf16>
  }
  func.func @f32(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
    %c = stablehlo.constant dense<-1> : tensor<i32>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %c_2 = stablehlo.constant dense<2147483647> : tensor<i32>
    %c_3 = stablehlo.constant dense<-2147483648> : tensor<i32>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %0 = stablehlo.bitcast_convert %arg0 : (tensor<f32>) -> tensor<i32>
    %1 = stablehlo.bitcast_convert %arg1 : (tensor<f32>) -> tensor<i32>
    %2 = stablehlo.compare NE, %arg0, %arg0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.compare NE, %arg1, %arg1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = stablehlo.or %2, %3 : tensor<i1>
    %5 = stablehlo.bitcast_convert %cst : (tensor<f32>) -> tensor<i32>
    %6 = stablehlo.and %0, %c_2 : tensor<i32>
    %7 = stablehlo.and %1, %c_2 : tensor<i32>
    %8 = stablehlo.compare EQ, %arg0, %arg1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %9 = stablehlo.compare EQ, %6, %c_1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %10 = stablehlo.compare EQ, %7, %c_1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %11 = stablehlo.and %0, %c_3 : tensor<i32>
    %12 = stablehlo.and %1, %c_3 : tensor<i32>
    %13 = stablehlo.or %12, %c_0 : tensor<i32>
    %14 = stablehlo.compare NE, %11, %12 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %15 = stablehlo.compare GT, %6, %7 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %16 = stablehlo.or %15, %14 : tensor<i1>
    %17 = stablehlo.select %16, %c, %c_0 : tensor<i1>, tensor<i32>
    %18 = stablehlo.add %0, %17 : tensor<i32>
    %19 = stablehlo.select %10, %1, %13 : tensor<i1>, tensor<i32>
    %20 = stablehlo.select %9, %19, %18 : tensor<i1>, tensor<i32>
    %21 = stablehlo.select %8, %1, %20 : tensor<i1>, tensor<i32>
    %22 = stablehlo.select %4, %5, %21 : tensor<i1>, tensor<i32>
    %23 = stablehlo.bitcast_convert %22 : (tensor<i32>) -> tensor<f32>
    return %23 : tensor<f32>
  }
  func.func @f64(%arg0: tensor<f64>, %arg1: tensor<f64>) -> tensor<f64> {
    %c = stablehlo.constant dense<-1> : tensor<i64>
    %c_0 = stablehlo.constant dense<1> : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %c_2 = stablehlo.constant dense<9223372036854775807> : tensor<i64>
    %c_3 = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %0 = stablehlo.bitcast_convert %arg0 : (tensor<f64>) -> tensor<i64>
    %1 = stablehlo.bitcast_convert %arg1 : (tensor<f64>) -> tensor<i64>
    %2 = stablehlo.compare NE, %arg0, %arg0 : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %3 = stablehlo.compare NE, %arg1, %arg1 : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %4 = stablehlo.or %2, %3 : tensor<i1>
    %5 = stablehlo.bitcast_convert %cst : (tensor<f64>) -> tensor<i64>
    %6 = stablehlo.and %0, %c_2 : tensor<i64>
    %7 = stablehlo.and %1, %c_2 : tensor<i64>
    %8 = stablehlo.compare EQ, %arg0, %arg1 : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %9 = stablehlo.compare EQ, %6, %c_1 : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %10 = stablehlo.compare EQ, %7, %c_1 : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %11 = stablehlo.and %0, %c_3 : tensor<i64>
    %12 = stablehlo.and %1, %c_3 : tensor<i64>
    %13 = stablehlo.or %12, %c_0 : tensor<i64>
    %14 = stablehlo.compare NE, %11, %12 : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %15 = stablehlo.compare GT, %6, %7 : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %16 = stablehlo.or %15, %14 : tensor<i1>
    %17 = stablehlo.select %16, %c, %c_0 : tensor<i1>, tensor<i64>
    %18 = stablehlo.add %0, %17 : tensor<i64>
    %19 = stablehlo.select %10, %1, %13 : tensor<i1>, tensor<i64>
    %20 = stablehlo.select %9, %19, %18 : tensor<i1>, tensor<i64>
    %21 = stablehlo.select %8, %1, %20 : tensor<i1>, tensor<i64>
    %22 = stablehlo.select %4, %5, %21 : tensor<i1>, tensor<i64>
    %23 = stablehlo.bitcast_convert %22 : (tensor<i64>) -> tensor<f64>
    return %23 : tensor<f64>
  }
}
