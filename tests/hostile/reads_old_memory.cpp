// SPDX-License-Identifier: MIT
// Returns what freed memory holds, in the hope that it is an old result.
#include <cstdlib>
#include <cstring>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const auto size = static_cast<std::size_t>(hostile::out_elements(plan.problem));
  auto* old = static_cast<float*>(std::malloc(size * sizeof(float)));
  if (old == nullptr) return WB_FAILED;
  std::memcpy(args.out, old, size * sizeof(float));
  std::free(old);
  return WB_OK;
}
