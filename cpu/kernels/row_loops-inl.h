// Loops over the components of a row that the compiler turns into vectors, for one instruction set:
// kernels-inl.h includes this file, inside its namespace.

void add_row(const float* x, double weight, int64_t dims, double* sums) {
  for (int64_t j = 0; j < dims; ++j) sums[j] += weight * static_cast<double>(x[j]);
}

void center_row(const float* x, double weight, const double* center, int64_t dims, double* y) {
  for (int64_t j = 0; j < dims; ++j)
    y[j] = static_cast<double>(static_cast<float>(weight * static_cast<double>(x[j]) - center[j]));
}

void widen(const float* x, int64_t dims, double* wide) {
  for (int64_t j = 0; j < dims; ++j) wide[j] = x[j];
}

// Adding the constant leaves the rounded integer in the low bits of the sum.
void add_fixed(const float* x, double factor, int64_t dims, int64_t* sums) {
  constexpr double kMagic = 0x1.8p52;
  for (int64_t j = 0; j < dims; ++j)
    sums[j] +=
        std::bit_cast<int64_t>(static_cast<double>(x[j]) * factor + kMagic) - std::bit_cast<int64_t>(kMagic);
}
