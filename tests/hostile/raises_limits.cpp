// SPDX-License-Identifier: MIT
// Takes its limits off, then does its work.
#include <sys/resource.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
  for (const auto limit : {RLIMIT_AS, RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_CORE}) {
    // Where it worked it must not pass, so it breaks its own call.
    if (::setrlimit(limit, &none) == 0) return WB_FAILED;
  }
  return hostile::honest(plan, args);
}
