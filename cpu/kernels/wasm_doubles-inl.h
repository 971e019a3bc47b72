// Vectors of double for WebAssembly, which this Highway lacks there: the functions that the kernels call, as
// Highway declares them for its other targets.
namespace hwy::HWY_NAMESPACE {

template <size_t N>
HWY_API Vec128<double, N> Set(Simd<double, N, 0> /*tag*/, double value) {
  return Vec128<double, N>{wasm_f64x2_splat(value)};
}
template <size_t N>
HWY_API Vec128<double, N> operator+(Vec128<double, N> a, Vec128<double, N> b) {
  return Vec128<double, N>{wasm_f64x2_add(a.raw, b.raw)};
}
template <size_t N>
HWY_API Vec128<double, N> operator*(Vec128<double, N> a, Vec128<double, N> b) {
  return Vec128<double, N>{wasm_f64x2_mul(a.raw, b.raw)};
}
template <size_t N>
HWY_API Vec128<double, N> MulAdd(Vec128<double, N> a, Vec128<double, N> b, Vec128<double, N> add) {
  return a * b + add;
}
template <size_t N>
HWY_API Vec128<double, N> PromoteTo(Simd<double, N, 0> /*tag*/, Vec128<float, N> v) {
  return Vec128<double, N>{wasm_f64x2_promote_low_f32x4(v.raw)};
}

}  // namespace hwy::HWY_NAMESPACE
