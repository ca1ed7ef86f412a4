// SPDX-License-Identifier: MIT
// Outputs in memory of the supervisor, and the runs of a verdict.
#include <cstring>
#include <set>

#include "support/catch.hpp"
#include "worker/outputs.hpp"
#include "worker/turn.hpp"

using namespace wb;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::worker;

TEST_CASE("a subject writes into the supervisor's memory, between guard pages",
          "[worker][output]") {
  for (const Placing placing : {Placing::scattered, Placing::flush_end}) {
    auto output = OutputMemory::create(1'000, placing);
    REQUIRE(output.ok());
    CHECK(output->offset() % 256 == 0);
    auto theirs = GuardedMemory::of_file(output->fd(), output->offset(), 1'000);
    REQUIRE(theirs.ok());
    theirs->bytes()[7] = std::byte{42};
    CHECK(output->bytes()[7] == std::byte{42});
    REQUIRE(output->take().ok());
    theirs->bytes()[7] = std::byte{1};  // too late
    CHECK(output->taken().bytes()[7] == std::byte{42});
    CHECK(output->margins_intact());
    CHECK(theirs->margins_intact());
    theirs->bytes().data()[1'000] = std::byte{0};
    CHECK_FALSE(output->margins_intact());
    CHECK_FALSE(theirs->margins_intact());
  }
}

TEST_CASE("a place outside the file is refused", "[worker][output][hostile]") {
  auto output = OutputMemory::create(1'000, Placing::flush_end);
  REQUIRE(output.ok());
  CHECK_FALSE(GuardedMemory::of_file(output->fd(), 4'096, 1'000).ok());
  CHECK_FALSE(GuardedMemory::of_file(output->fd(), 0, 5'000).ok());
  CHECK_FALSE(GuardedMemory::of_file(output->fd(), 8, 1'000).ok());
  CHECK_FALSE(GuardedMemory::of_file(output->fd(), 0, 0).ok());
  CHECK_FALSE(GuardedMemory::of_file(-1, 0, 1'000).ok());
}

TEST_CASE("a verdict runs large and edge draws with and without an LSE, in secret order",
          "[worker][output]") {
  std::set<std::string> orders;
  for (int i = 0; i < 50; ++i) {
    const auto runs = draw_verdict_runs(true, true);
    CHECK(runs.size() == 7);
    std::string order;
    int normal = 0;
    std::set<std::pair<Draw, bool>> seen;
    for (const VerdictRun& run : runs) {
      seen.emplace(run.draw, run.want_lse);
      normal += run.draw == Draw::normal ? 1 : 0;
      order += to_string(run.draw).substr(0, 1);
      order += run.want_lse ? "+" : "-";
    }
    CHECK(seen.size() == 6);
    CHECK(normal == 3);
    orders.insert(order);
  }
  CHECK(orders.size() > 10);
  const auto without = draw_verdict_runs(false, false);
  CHECK(without.size() == 4);
  for (const VerdictRun& run : without) CHECK_FALSE(run.want_lse);
}
