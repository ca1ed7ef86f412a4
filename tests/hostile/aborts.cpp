// SPDX-License-Identifier: MIT
// Aborts itself, as a failed assert does.
#include <cstdlib>

#include "hostile.hpp"

static int forward(wb_sdpa_plan&, const wb_sdpa_args&) {
  std::abort();
}
