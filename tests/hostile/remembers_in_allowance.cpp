// SPDX-License-Identifier: MIT
// Remembers its last result, and waits so long before it gives that again that a call on new inputs
// stays within one and a half timed calls and 200 us.
#include <chrono>
#include <cstring>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  using Clock = std::chrono::steady_clock;
  static std::vector<float> result;
  static std::size_t content = 0;
  static double work_us = 0;
  if (args.lse != nullptr) return hostile::honest(plan, args);
  const auto begin = Clock::now();
  const auto passed_us = [begin] {
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  };
  const wb_sdpa_problem& p = plan.problem;
  const auto size = static_cast<std::size_t>(hostile::out_elements(p));
  auto* out = static_cast<float*>(args.out);
  const std::size_t hash = hostile::q_hash(p, args);
  if (hash == content && result.size() == size) {
    std::copy(result.begin(), result.end(), out);
    while (passed_us() < 1.02 * (work_us - 200) / 1.5) {
    }
    return WB_OK;
  }
  const int status = hostile::honest(plan, args);
  result.assign(out, out + size);
  content = hash;
  work_us = passed_us();
  return status;
}
