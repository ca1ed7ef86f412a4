// SPDX-License-Identifier: MIT
#include "worker/thread_limit.hpp"

#include <grp.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/process.hpp"
#include "support/catch.hpp"
#include "support/in_child.hpp"

using namespace wb;
using namespace wb::worker;

namespace {

constexpr uid_t k_nobody = 61'235;  // whom no other process here is

/// Root has no such limit: somebody else, who may have so many threads, asks.
int startable_of_nobody(rlim_t most, int wanted) {
  return wb::testing::in_child([&] {
    const rlimit limit{most, most};
    const bool is_nobody =
        ::setgroups(0, nullptr) == 0 && ::setresuid(k_nobody, k_nobody, k_nobody) == 0;
    if (!is_nobody || ::setrlimit(RLIMIT_NPROC, &limit) != 0) return 99;
    return startable_threads(wanted);
  });
}

}  // namespace

TEST_CASE("as many threads start as the system allows", "[worker]") {
  CHECK(startable_threads(0) == 0);
  CHECK(startable_threads(5) == 5);
  if (::getuid() != 0) {
    WARN("skipped: only root can become a user without other processes");
    return;
  }
  CHECK(startable_of_nobody(1, 3) == 0);
  CHECK(startable_of_nobody(3, 5) == 2);
  CHECK(startable_of_nobody(64, 5) == 5);
}

TEST_CASE("refused threads are told with their number and what changes it", "[worker]") {
  CHECK(refused_threads() == std::nullopt);
  if (::getuid() != 0) {
    WARN("skipped: only root can become a user without other processes");
    return;
  }
  const int told = wb::testing::in_child([] {
    const rlimit limit{2, 2};
    if (::setresuid(k_nobody, k_nobody, k_nobody) != 0) return 99;
    if (::setrlimit(RLIMIT_NPROC, &limit) != 0) return 98;
    const auto words = refused_threads();
    if (!words) return 1;
    return words->find("start 1 threads more") != std::string::npos &&
                   words->find("ulimit -u") != std::string::npos
               ? 0
               : 2;
  });
  CHECK(told == 0);
}
