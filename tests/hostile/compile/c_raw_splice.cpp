// SPDX-License-Identifier: MIT
// A raw string that ends in a joined line hides an include.
static const char* s_hidden = R"(abc)\
" R"y( )";
#include "SECRET_FILE"
// )y"
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}
