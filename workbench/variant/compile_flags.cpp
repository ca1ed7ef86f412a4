// SPDX-License-Identifier: MIT
#include "variant/compile_flags.hpp"

#include <algorithm>
#include <array>

namespace wb {

namespace {

/// Not here, on purpose: -Ofast and -ffast-math (they assume that there are no infinities, which
/// masks are made of, and linking with them changes the rounding mode of the whole process);
/// -fopenmp (its threads spin after a call); everything that names a file or a program.
constexpr std::array<std::string_view, 52> k_flags = {
    "-O1",
    "-O2",
    "-O3",
    "-fassociative-math",
    "-ffp-contract=fast",
    "-ffp-contract=off",
    "-ffp-contract=on",
    "-fno-exceptions",
    "-fno-math-errno",
    "-fno-rtti",
    "-fno-signed-zeros",
    "-fno-trapping-math",
    "-fno-tree-vectorize",
    "-fomit-frame-pointer",
    "-fopenmp-simd",
    "-fprefetch-loop-arrays",
    "-freciprocal-math",
    "-fstrict-aliasing",
    "-ftree-vectorize",
    "-funroll-all-loops",
    "-funroll-loops",
    "-fvect-cost-model=cheap",
    "-fvect-cost-model=dynamic",
    "-fvect-cost-model=unlimited",
    "-mamx-bf16",
    "-mamx-int8",
    "-mamx-tile",
    "-march=native",
    "-march=x86-64",
    "-march=x86-64-v2",
    "-march=x86-64-v3",
    "-march=x86-64-v4",
    "-mavx",
    "-mavx2",
    "-mavx512bf16",
    "-mavx512bw",
    "-mavx512cd",
    "-mavx512dq",
    "-mavx512f",
    "-mavx512fp16",
    "-mavx512vbmi",
    "-mavx512vl",
    "-mavx512vnni",
    "-mbmi",
    "-mbmi2",
    "-mf16c",
    "-mfma",
    "-mpopcnt",
    "-mprefer-vector-width=128",
    "-mprefer-vector-width=256",
    "-mprefer-vector-width=512",
    "-mtune=native",
};
static_assert(std::is_sorted(k_flags.begin(), k_flags.end()));

}  // namespace

std::span<const std::string_view> allowed_cpu_flags() {
  return k_flags;
}

bool is_allowed_cpu_flag(std::string_view flag) {
  return std::binary_search(k_flags.begin(), k_flags.end(), flag);
}

bool is_cpu_target(std::string_view target) {
  if (target.empty() || target.size() > 32 || target[0] == '-') return false;
  return std::all_of(target.begin(), target.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '+';
  });
}

}  // namespace wb
