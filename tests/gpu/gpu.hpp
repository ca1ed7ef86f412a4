// SPDX-License-Identifier: MIT
// The GPU of the tests in this folder. Every test begins with WB_NEED_GPU(gpu): without a driver, a
// device or embedded device code it warns and returns, unless WB_REQUIRE_GPU is set.
#pragma once

#include <optional>

#include "support/catch.hpp"
#include "worker/cuda/context.hpp"
#include "worker/cuda/device_code.hpp"

namespace wb::testing {

/// The first device, or nothing, with the reason in `why`.
std::optional<worker::cuda::ContextPtr> find_gpu(std::string& why);
/// True where a missing GPU is a failure.
bool gpu_is_required();

}  // namespace wb::testing

#define WB_NEED_GPU(name)                                           \
  std::string wb_why;                                               \
  const auto wb_found = wb::testing::find_gpu(wb_why);              \
  if (!wb_found) {                                                  \
    if (wb::testing::gpu_is_required()) FAIL("no GPU: " << wb_why); \
    WARN("skipped: " << wb_why);                                    \
    return;                                                         \
  }                                                                 \
  [[maybe_unused]] const wb::worker::cuda::ContextPtr& name = *wb_found
