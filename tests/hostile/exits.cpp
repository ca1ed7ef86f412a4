// SPDX-License-Identifier: MIT
// Ends the process with success in the middle of a call.
#include <cstdlib>

#include "hostile.hpp"

static int forward(wb_sdpa_plan&, const wb_sdpa_args&) {
  std::exit(0);
}
