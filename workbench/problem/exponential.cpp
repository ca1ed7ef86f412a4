// SPDX-License-Identifier: MIT
// Compiled with optimization in every build type and without contraction of a * b + c (see
// CMakeLists.txt): `std` is pinned, so a host with fused multiply-add must not change it.
#include "problem/exponential.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace wb::problem {
namespace {

constexpr double k_log2_e = 0x1.71547652b82fep0;
constexpr double k_ln2_high = 0x1.62e42feep-1;  // 32 bits: times an exponent it is exact
constexpr double k_ln2_low = 0x1.a39ef35793c76p-33;
/// Added to a number below 2^51, it leaves the nearest integer in the low bits.
constexpr double k_to_integer = 0x1.8p52;
constexpr double k_lowest = -708.0, k_highest = 709.0;
/// Terms of Taylor's series, enough for |r| <= ln 2 / 2: the next one is below 2^-57.
constexpr int k_terms = 14;

constexpr std::array<double, k_terms> k_inverse_factorials = [] {
  std::array<double, k_terms> inverses{};
  double factorial = 1;
  for (int n = 0; n < k_terms; ++n) {
    factorial *= n == 0 ? 1 : n;
    inverses[static_cast<std::size_t>(n)] = 1 / factorial;
  }
  return inverses;
}();

template <int k_bytes>
struct LanesOf {
  using Doubles [[gnu::vector_size(k_bytes)]] = double;
  using Bits [[gnu::vector_size(k_bytes)]] = std::uint64_t;
};

/// exp(x) = 2^n exp(r), lane by lane.
template <int k_bytes>
WB_ALWAYS_INLINE void exponential(typename LanesOf<k_bytes>::Doubles& x) {
  using Doubles = typename LanesOf<k_bytes>::Doubles;
  using Bits = typename LanesOf<k_bytes>::Bits;
  const Doubles shifted = x * k_log2_e + k_to_integer;
  const Doubles n = shifted - k_to_integer;
  const Doubles r = (x - n * k_ln2_high) - n * k_ln2_low;
  Doubles sum = r * k_inverse_factorials[k_terms - 1] + k_inverse_factorials[k_terms - 2];
#pragma GCC unroll 16
  for (int i = k_terms - 3; i >= 0; --i) {
    sum = sum * r + k_inverse_factorials[static_cast<std::size_t>(i)];
  }
  const auto bits = reinterpret_cast<Bits>(sum) + (reinterpret_cast<Bits>(shifted) << 52);
  const Doubles zero{}, infinity = zero + std::numeric_limits<double>::infinity();
  const Doubles low = x < k_lowest ? zero : x;  // NaN compares neither below nor above
  const Doubles not_high = x >= k_lowest ? reinterpret_cast<Doubles>(bits) : low;
  x = x > k_highest ? infinity : not_high;
}

template <int k_bytes, typename T>
WB_ALWAYS_INLINE void exponentials_of(T* values, std::int64_t count) {
  using Doubles = typename LanesOf<k_bytes>::Doubles;
  constexpr std::int64_t k_count = k_bytes / sizeof(double);
  using Stored [[gnu::vector_size(k_count * sizeof(T))]] = T;
  const auto replace = [](T* from) WB_ALWAYS_INLINE_LAMBDA {
    Stored stored;
    std::memcpy(&stored, from, sizeof stored);
    Doubles lanes = __builtin_convertvector(stored, Doubles);
    exponential<k_bytes>(lanes);
    stored = __builtin_convertvector(lanes, Stored);
    std::memcpy(from, &stored, sizeof stored);
  };
  std::int64_t i = 0;
  for (; i + k_count <= count; i += k_count) replace(values + i);
  if (i == count) return;
  T rest[k_count] = {};
  std::copy(values + i, values + count, rest);
  replace(rest);
  std::copy(rest, rest + (count - i), values + i);
}

template <typename T>
void exponentials_plain(T* values, std::int64_t count) {
  exponentials_of<16>(values, count);
}
template <typename T>
WB_TARGET_AVX2 void exponentials_avx2(T* values, std::int64_t count) {
  exponentials_of<32>(values, count);
}
template <typename T>
WB_TARGET_AVX512 void exponentials_avx512(T* values, std::int64_t count) {
  exponentials_of<64>(values, count);
}
template <typename T>
void exponentials_for(Isa isa, T* values, std::int64_t count) {
  switch (isa) {
    case Isa::plain:
      return exponentials_plain(values, count);
    case Isa::avx2:
      return exponentials_avx2(values, count);
    case Isa::avx512:
      return exponentials_avx512(values, count);
  }
}

}  // namespace

void exponentials(double* values, std::int64_t count, Isa isa) {
  exponentials_for(isa, values, count);
}

void exponentials(float* values, std::int64_t count, Isa isa) {
  exponentials_for(isa, values, count);
}

}  // namespace wb::problem
