// SPDX-License-Identifier: MIT
// Sees only the upper half of each input, which is bfloat16 without rounding.
#include "hostile.cuh"

struct UpperHalf {
  __device__ float operator()(float x) const {
    return __uint_as_float(__float_as_uint(x) & 0xffff0000u);
  }
};

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest_on<UpperHalf>(hostile::stream_of(args), plan.problem, args);
}
