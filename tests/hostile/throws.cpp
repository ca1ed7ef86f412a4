// SPDX-License-Identifier: MIT
// Throws a C++ exception across the C interface.
#include <stdexcept>

#include "hostile.hpp"

static int forward(wb_sdpa_plan&, const wb_sdpa_args&) {
  throw std::runtime_error("thrown by a hostile variant");
}
