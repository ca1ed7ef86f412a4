// SPDX-License-Identifier: MIT
#include "variant/compile_flags.hpp"

#include <algorithm>
#include <array>

namespace wb::variant {

namespace {

/// Excluded on purpose: -Ofast and -ffast-math (they assume no infinities, which masks contain, and
/// linking with them changes the rounding mode of the whole process); -fopenmp (its threads spin
/// after a call); everything that names a file or a program.
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

/// Excluded on purpose: -O (ptxas has its own level below), -std and -arch, which every build sets;
/// -rdc and -dlto (one file is one library); -Xcompiler and -Xlinker, which could name anything;
/// everything that names a file or a program.
constexpr std::array<std::string_view, 36> k_cuda_flags = {
    "--expt-extended-lambda",
    "--expt-relaxed-constexpr",
    "--extra-device-vectorization",
    "--use_fast_math",
    "-Xptxas=--allow-expensive-optimizations=true",
    "-Xptxas=--def-load-cache=ca",
    "-Xptxas=--def-load-cache=cg",
    "-Xptxas=--disable-optimizer-constants",
    "-Xptxas=-O1",
    "-Xptxas=-O2",
    "-Xptxas=-O3",
    "-fmad=false",
    "-fmad=true",
    "-ftz=false",
    "-ftz=true",
    "-lineinfo",
    "-maxrregcount=104",
    "-maxrregcount=112",
    "-maxrregcount=128",
    "-maxrregcount=144",
    "-maxrregcount=160",
    "-maxrregcount=168",
    "-maxrregcount=192",
    "-maxrregcount=216",
    "-maxrregcount=224",
    "-maxrregcount=232",
    "-maxrregcount=240",
    "-maxrregcount=255",
    "-maxrregcount=64",
    "-maxrregcount=80",
    "-maxrregcount=96",
    "-prec-div=false",
    "-prec-div=true",
    "-prec-sqrt=false",
    "-prec-sqrt=true",
    "-restrict",
};
static_assert(std::is_sorted(k_cuda_flags.begin(), k_cuda_flags.end()));

}  // namespace

std::span<const std::string_view> allowed_cuda_flags() {
  return k_cuda_flags;
}

bool is_allowed_cuda_flag(std::string_view flag) {
  return std::binary_search(k_cuda_flags.begin(), k_cuda_flags.end(), flag);
}

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

}  // namespace wb::variant
