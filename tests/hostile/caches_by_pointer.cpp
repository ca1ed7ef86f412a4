// SPDX-License-Identifier: MIT
// Works once for each address of Q and gives the old result afterwards.
#include <map>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static std::map<const void*, std::vector<float>> results;
  auto* out = static_cast<float*>(args.out);
  const auto size = static_cast<std::size_t>(hostile::out_elements(plan.problem));
  std::vector<float>& result = results[args.q];
  if (result.size() == size) {
    std::copy(result.begin(), result.end(), out);
    return WB_OK;
  }
  hostile::honest(plan, args);
  result.assign(out, out + size);
  return WB_OK;
}
