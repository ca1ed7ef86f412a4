// SPDX-License-Identifier: MIT
// Puts pages of its own in the place of its output: what it writes there later, nobody but itself
// would see, and reading it would be its own handler's matter.
#include <sys/mman.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const auto first = reinterpret_cast<std::uintptr_t>(args.out) & ~std::uintptr_t{4095};
  const auto last = reinterpret_cast<std::uintptr_t>(args.out) +
                    static_cast<std::uintptr_t>(hostile::out_elements(plan.problem)) * 4;
  const std::size_t size = ((last + 4095) & ~std::uintptr_t{4095}) - first;
  std::vector<char> before(size);  // the margins stay what they were
  std::copy_n(reinterpret_cast<const char*>(first), size, before.begin());
  ::mmap(reinterpret_cast<void*>(first), size, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  std::copy_n(before.begin(), size, reinterpret_cast<char*>(first));
  return hostile::honest(plan, args);
}
