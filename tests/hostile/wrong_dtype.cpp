// SPDX-License-Identifier: MIT
// Writes bfloat16 where f32 is wanted.
#include <cstring>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  hostile::honest(plan, args);
  auto* out = static_cast<float*>(args.out);
  auto* halves = reinterpret_cast<std::uint16_t*>(out);
  for (std::int64_t i = 0; i < hostile::out_elements(plan.problem); ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, out + i, sizeof bits);
    halves[i] = static_cast<std::uint16_t>(bits >> 16);
  }
  return WB_OK;
}
