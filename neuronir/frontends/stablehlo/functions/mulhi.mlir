// The expansion of chlo.mulhi in XLA (Apache-2.0), for scalars; written by tools/chlo_functions.py.
module @mulhi {
  func.func @s8(%arg0: tensor<i8>, %arg1: tensor<i8>) -> tensor<i8> {
    %c = stablehlo.constant dense<8> : tensor<i16>
    %0 = stablehlo.convert %arg0 : (tensor<i8>) -> tensor<i16>
    %1 = stablehlo.convert %arg1 : (tensor<i8>) -> tensor<i16>
    %2 = stablehlo.multiply %0, %1 : tensor<i16>
    %3 = stablehlo.shift_right_arithmetic %2, %c : tensor<i16>
    %4 = stablehlo.convert %3 : (tensor<i16>) -> tensor<i8>
    return %4 : tensor<i8>
  }
  func.func @s16(%arg0: tensor<i16>, %arg1: tensor<i16>) -> tensor<i16> {
    %c = stablehlo.constant dense<16> : tensor<i32>
    %0 = stablehlo.convert %arg0 : (tensor<i16>) -> tensor<i32>
    %1 = stablehlo.convert %arg1 : (tensor<i16>) -> tensor<i32>
    %2 = stablehlo.multiply %0, %1 : tensor<i32>
    %3 = stablehlo.shift_right_arithmetic %2, %c : tensor<i32>
    %4 = stablehlo.convert %3 : (tensor<i32>) -> tensor<i16>
    return %4 : tensor<i16>
  }
  func.func @s32(%arg0: tensor<i32>, %arg1: tensor<i32>) -> tensor<i32> {
    %c = stablehlo.constant dense<32> : tensor<i64>
    %0 = stablehlo.convert %arg0 : (tensor<i32>) -> tensor<i64>
    %1 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<i64>
    %2 = stablehlo.multiply %0, %1 : tensor<i64>
    %3 = stablehlo.shift_right_arithmetic %2, %c : tensor<i64>
    %4 = stablehlo.convert %3 : (tensor<i64>) -> tensor<i32>
    return %4 : tensor<i32>
  }
  func.func @s64(%arg0: tensor<i64>, %arg1: tensor<i64>) -> tensor<i64> {
    %c = stablehlo.constant dense<0> : tensor<ui64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %c_1 = stablehlo.constant dense<4294967295> : tensor<ui64>
    %c_2 = stablehlo.constant dense<32> : tensor<ui64>
    %0 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<ui64>
    %1 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<ui64>
    %2 = stablehlo.shift_right_logical %0, %c_2 : tensor<ui64>
    %3 = stablehlo.shift_right_logical %1, %c_2 : tensor<ui64>
    %4 = stablehlo.multiply %2, %3 : tensor<ui64>
    %5 = stablehlo.and %0, %c_1 : tensor<ui64>
    %6 = stablehlo.multiply %5, %3 : tensor<ui64>
    %7 = stablehlo.and %1, %c_1 : tensor<ui64>
    %8 = stablehlo.multiply %5, %7 : tensor<ui64>
    %9 = stablehlo.shift_right_logical %8, %c_2 : tensor<ui64>
    %10 = stablehlo.add %6, %9 : tensor<ui64>
    %11 = stablehlo.shift_right_logical %10, %c_2 : tensor<ui64>
    %12 = stablehlo.add %4, %11 : tensor<ui64>
    %13 = stablehlo.multiply %2, %7 : tensor<ui64>
    %14 = stablehlo.and %10, %c_1 : tensor<ui64>
    %15 = stablehlo.add %13, %14 : tensor<ui64>
    %16 = stablehlo.shift_right_logical %15, %c_2 : tensor<ui64>
    %17 = stablehlo.add %12, %16 : tensor<ui64>
    %18 = stablehlo.compare LT, %arg0, %c_0 : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %19 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<ui64>
    %20 = stablehlo.select %18, %19, %c : tensor<i1>, tensor<ui64>
    %21 = stablehlo.subtract %17, %20 : tensor<ui64>
    %22 = stablehlo.compare LT, %arg1, %c_0 : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %23 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<ui64>
    %24 = stablehlo.select %22, %23, %c : tensor<i1>, tensor<ui64>
    %25 = stablehlo.subtract %21, %24 : tensor<ui64>
    %26 = stablehlo.convert %25 : (tensor<ui64>) -> tensor<i64>
    return %26 : tensor<i64>
  }
  func.func @u8(%arg0: tensor<ui8>, %arg1: tensor<ui8>) -> tensor<ui8> {
    %c = stablehlo.constant dense<8> : tensor<ui16>
    %0 = stablehlo.convert %arg0 : (tensor<ui8>) -> tensor<ui16>
    %1 = stablehlo.convert %arg1 : (tensor<ui8>) -> tensor<ui16>
    %2 = stablehlo.multiply %0, %1 : tensor<ui16>
    %3 = stablehlo.shift_right_logical %2, %c : tensor<ui16>
    %4 = stablehlo.convert %3 : (tensor<ui16>) -> tensor<ui8>
    return %4 : tensor<ui8>
  }
  func.func @u16(%arg0: tensor<ui16>, %arg1: tensor<ui16>) -> tensor<ui16> {
    %c = stablehlo.constant dense<16> : tensor<ui32>
    %0 = stablehlo.convert %arg0 : (tensor<ui16>) -> tensor<ui32>
    %1 = stablehlo.convert %arg1 : (tensor<ui16>) -> tensor<ui32>
    %2 = stablehlo.multiply %0, %1 : tensor<ui32>
    %3 = stablehlo.shift_right_logical %2, %c : tensor<ui32>
    %4 = stablehlo.convert %3 : (tensor<ui32>) -> tensor<ui16>
    return %4 : tensor<ui16>
  }
  func.func @u32(%arg0: tensor<ui32>, %arg1: tensor<ui32>) -> tensor<ui32> {
    %c = stablehlo.constant dense<32> : tensor<ui64>
    %0 = stablehlo.convert %arg0 : (tensor<ui32>) -> tensor<ui64>
    %1 = stablehlo.convert %arg1 : (tensor<ui32>) -> tensor<ui64>
    %2 = stablehlo.multiply %0, %1 : tensor<ui64>
    %3 = stablehlo.shift_right_logical %2, %c : tensor<ui64>
    %4 = stablehlo.convert %3 : (tensor<ui64>) -> tensor<ui32>
    return %4 : tensor<ui32>
  }
  func.func @u64(%arg0: tensor<ui64>, %arg1: tensor<ui64>) -> tensor<ui64> {
    %c = stablehlo.constant dense<4294967295> : tensor<ui64>
    %c_0 = stablehlo.constant dense<32> : tensor<ui64>
    %0 = stablehlo.shift_right_logical %arg0, %c_0 : tensor<ui64>
    %1 = stablehlo.shift_right_logical %arg1, %c_0 : tensor<ui64>
    %2 = stablehlo.multiply %0, %1 : tensor<ui64>
    %3 = stablehlo.and %arg0, %c : tensor<ui64>
    %4 = stablehlo.multiply %3, %1 : tensor<ui64>
    %5 = stablehlo.and %arg1, %c : tensor<ui64>
    %6 = stablehlo.multiply %3, %5 : tensor<ui64>
    %7 = stablehlo.shift_right_logical %6, %c_0 : tensor<ui64>
    %8 = stablehlo.add %4, %7 : tensor<ui64>
    %9 = stablehlo.shift_right_logical %8, %c_0 : tensor<ui64>
    %10 = stablehlo.add %2, %9 : tensor<ui64>
    %11 = stablehlo.multiply %0, %5 : tensor<ui64>
    %12 = stablehlo.and %8, %c : tensor<ui64>
    %13 = stablehlo.add %11, %12 : tensor<ui64>
    %14 = stablehlo.shift_right_logical %13, %c_0 : tensor<ui64>
    %15 = stablehlo.add %10, %14 : tensor<ui64>
    return %15 : tensor<ui64>
  }
}
