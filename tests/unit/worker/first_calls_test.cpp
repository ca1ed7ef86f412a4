// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>
#include <random>

#include "measure/quantiles.hpp"
#include "support/catch.hpp"
#include "worker/block_figure.hpp"
#include "worker_under_test.hpp"

using namespace wb;
using namespace wb::measure;
using namespace wb::worker;

namespace {

constexpr Pings k_quick{18, 20, 30};   // 12 us apart: steady for blocks above 4 ms
constexpr Pings k_uneven{18, 30, 90};  // never steady here

std::vector<double> repeated(std::size_t count, double us) {
  return std::vector<double>(count, us);
}

}  // namespace

TEST_CASE("pings are summed up, and slow ones count for no more than an empty subject's",
          "[worker][figure]") {
  const Pings pings = pings_of({30, 10, 20, 500}, 100);
  CHECK(pings.least_us == 10);
  CHECK(pings.median_us == 25);
  CHECK(pings.most_us == 100);
  CHECK(pings_of({}, 100).most_us == 0);
  // A subject that answers pings slowly, to have that taken off its blocks.
  const Pings slow = pings_of(repeated(20, 1'000), most_ping_us(30));
  CHECK(slow.median_us == 80);
  CHECK(most_ping_us(0) == std::numeric_limits<double>::infinity());
}

TEST_CASE("no figure lies below the supervisor's bound", "[worker][figure]") {
  // Ten calls that took 200 us each, and are told as 180: a clock at 0.9.
  const std::vector<double> told = repeated(10, 180);
  const BlockFacts block{told, 10, 2'025};
  CHECK(block_bound_us(block, k_uneven, Clock::host) == Approx(193.5));
  CHECK(block_figure_us(block, k_uneven, Clock::host) == Approx(193.5));
  // An honest figure above the bound stands as it is.
  const std::vector<double> honest = repeated(10, 199);
  CHECK(block_figure_us({honest, 10, 2'025}, k_uneven, Clock::host) == 199);
  // What messages alone explain bounds nothing.
  CHECK(block_bound_us({honest, 10, 60}, k_uneven, Clock::host) == 0);
  // On a GPU a block's start and end lie between the messages, too.
  CHECK(block_bound_us({honest, 10, 2'290}, k_uneven, Clock::device) == Approx(200));
  const std::vector<double> lone{20};
  CHECK(block_bound_us({lone, 1, 900}, k_uneven, Clock::device) == 0);
}

TEST_CASE("a judge's copy that came late lengthens no figure on a GPU", "[worker][figure]") {
  // 400 calls of 13 us; the copy behind "done" came 800 us later than on an idle device.
  BlockTime time;
  time.wall_us = 5'200 + 40 + 800;
  time.around_us = 5'200 + 600 + 800;
  time.put_off_us = 800;
  CHECK(own_us_of(time, Clock::device) == Approx(5'240));
  const std::vector<double> told = repeated(5, 13.0);
  const BlockFacts block{told, 400, own_us_of(time, Clock::device)};
  CHECK(block_figure_us(block, k_quick, Clock::device) == 13.0);
  // Work that goes on until "done" still counts: here the device's clock told nine tenths of it.
  BlockTime longer = time;
  longer.wall_us += 600;
  const BlockFacts hidden{told, 400, own_us_of(longer, Clock::device)};
  CHECK(block_figure_us(hidden, k_quick, Clock::device) == Approx(14.025));
  // A CPU has no such copy, and messages are in its time.
  time.put_off_us = 0;
  CHECK(own_us_of(time, Clock::host) == time.around_us);
}

TEST_CASE("where pings are steady the supervisor's time is the figure", "[worker][figure]") {
  const std::vector<double> told = repeated(10, 900);  // a clock at 0.9
  CHECK(block_figure_us({told, 10, 10'020}, k_quick, Clock::host) == Approx(1'000));
  const std::vector<double> high = repeated(10, 1'100);  // nor does a slow clock matter
  CHECK(block_figure_us({high, 10, 10'020}, k_quick, Clock::host) == Approx(1'000));
  // Of a block of 3 ms 12 us are more than 0.3 %.
  const std::vector<double> some = repeated(3, 995);
  CHECK(block_figure_us({some, 3, 3'020}, k_quick, Clock::host) == Approx(996.6667));
}

TEST_CASE("a median well below the mean of its block counts as the mean", "[worker][figure]") {
  // Three of five seem to take 62, the other two pay it back: the block adds up.
  std::vector<double> told;
  for (int i = 0; i < 4; ++i) {
    for (const double us : {62.0, 62.0, 62.0, 157.0, 157.0}) told.push_back(us);
  }
  CHECK(median(told) == 62);
  CHECK(block_figure_us({told, 20, 0}, k_uneven, Clock::host) == Approx(100));
  // A few slow samples, as a busy machine makes them, do not move an honest figure.
  std::vector<double> honest = repeated(19, 100);
  honest.push_back(250);
  CHECK(block_figure_us({honest, 20, 2'050}, k_uneven, Clock::host) == 100);
}

TEST_CASE("the samples of a turn have the blocks' figure as their median", "[worker][figure]") {
  const std::vector<double> told = repeated(10, 180);
  const std::vector<BlockFacts> blocks(5, BlockFacts{told, 10, 2'090});
  CHECK(median(samples_of_blocks(blocks, k_uneven, Clock::host, 200)) == Approx(200));
  // Honest ones are left alone, all of their digits.
  std::mt19937 random(1);
  std::uniform_real_distribution<double> spread(199, 204);
  std::vector<double> all;
  for (int i = 0; i < 50; ++i) all.push_back(spread(random));
  std::vector<BlockFacts> honest;
  for (std::size_t i = 0; i < 5; ++i) {
    honest.push_back({std::span(all).subspan(10 * i, 10), 10, 2'010});
  }
  const auto kept = samples_of_blocks(honest, k_uneven, Clock::host, 200);
  REQUIRE(kept.size() == all.size());
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(kept[i] == Approx(all[i]));
  CHECK(samples_of_blocks({}, k_uneven, Clock::host, 200).empty());
}

TEST_CASE("the samples that are kept of many are not those that a subject chose",
          "[worker][figure][hostile]") {
  // Of 2,000 calls every tenth is kept, and told as nearly nothing.
  std::vector<double> told;
  for (int i = 0; i < 2'000; ++i) told.push_back(i % 10 == 0 ? 0.1 : 1.1);
  const std::vector<BlockFacts> blocks{{told, 2'000, 2'030}};
  const auto kept = samples_of_blocks(blocks, k_uneven, Clock::host, 200);
  REQUIRE(kept.size() == 200);
  CHECK(median(kept) >= 0.99 * 0.97);
}

TEST_CASE("whatever a subject tells, its figure is positive and no block beats its bound",
          "[worker][figure][hostile]") {
  std::mt19937 random(20'261'126);
  std::lognormal_distribution<double> any(3, 3);
  for (int i = 0; i < 500; ++i) {
    std::vector<double> told;
    for (int k = 0; k < 20; ++k) told.push_back(any(random));
    std::vector<BlockFacts> blocks;
    std::vector<double> bounds;
    for (std::size_t k = 0; k < 4; ++k) {
      blocks.push_back({std::span(told).subspan(5 * k, 5), 5, any(random) * 20});
      bounds.push_back(block_bound_us(blocks.back(), k_uneven, Clock::host));
      CHECK(block_figure_us(blocks.back(), k_uneven, Clock::host) >= bounds.back());
      CHECK(block_figure_us(blocks.back(), k_uneven, Clock::host) > 0);
    }
    CHECK(median(samples_of_blocks(blocks, k_uneven, Clock::host, 200)) >= 0.99 * median(bounds));
  }
}

TEST_CASE("a cold figure is held against the hot one", "[worker][figure]") {
  CHECK(is_below_hot(96.9, 100));
  CHECK_FALSE(is_below_hot(97, 100));
  CHECK_FALSE(is_below_hot(1, 0));  // none is known
}

// `first_calls` through the real worker: how much faster calls on repeated inputs are, and whose
// fault a failure is.

using namespace wb::problem;
using namespace wb::runner;
using namespace wb::testing;

namespace {

double least(const std::vector<double>& times_us) {
  return *std::min_element(times_us.begin(), times_us.end());
}

Outcome<protocol::FirstCallsResult> first_calls(WorkerClient& client,
                                                const std::vector<std::string>& names) {
  protocol::FirstCallsArgs args;
  for (const std::string& name : names) {
    const auto loaded = load_hostile(client, name);
    REQUIRE(loaded.ok());
    args.handles.push_back(loaded->handle);
  }
  args.problem = *parse_problem("B=1 Hq=4 Sq=128 Skv=256 D=32 f32");
  args.plan = quick_plan();
  args.least = args.most = 20;
  return client.first_calls(args);
}

}  // namespace

TEST_CASE("first calls are taken in rounds, on new inputs and again", "[worker][fresh]") {
  WorkerClient& client = shared_worker();
  const auto result = first_calls(client, {"honest", "remembers_in_allowance"});
  REQUIRE(result.ok());
  INFO((result->failure ? result->failure->message : std::string()));
  REQUIRE_FALSE(result->failed);
  REQUIRE(result->sides.size() == 2);
  for (const auto& side : result->sides) {
    CHECK(side.fresh_us.size() == 20);
    CHECK(side.again_us.size() == 20);
    CHECK(least(side.fresh_us) > 0);
    CHECK(least(side.again_us) > 0);
    CHECK(side.overhead_us > 0);
    CHECK(side.allowance_us == 0);
  }
}

// What their times mean is told from planted ones in tests/unit/measure/first_calls_test.cpp.
TEST_CASE("first calls tell who remembers its results", "[worker][fresh]") {
  WorkerClient& client = shared_worker();
  const auto result = first_calls(client, {"honest", "remembers_in_allowance"});
  REQUIRE(result.ok());
  REQUIRE_FALSE(result->failed);
  const auto& honest = result->sides[0];
  const auto& memo = result->sides[1];
  if (!result->flags.empty()) {
    WARN("this machine is too busy: " << result->flags.front());
    return;
  }
  CHECK(least(honest.again_us) > 0.75 * least(honest.fresh_us));
  CHECK(least(memo.again_us) < 0.9 * least(memo.fresh_us));
  // Its work is the honest one's.
  CHECK(least(memo.fresh_us) > 0.75 * least(honest.fresh_us));
}

TEST_CASE("a failure in first calls names whose it is", "[worker][fresh]") {
  WorkerClient& client = shared_worker();
  // On inputs that come again it leaves the poison in the output, and half of all requests end on
  // such.
  for (int i = 0; i < 20; ++i) {
    const auto result = first_calls(client, {"honest", "works_on_new_inputs"});
    REQUIRE(result.ok());
    if (!result->failed) continue;
    CHECK(*result->failed == 1);
    CHECK(result->failure->invalidity == Invalidity::correctness);
    return;
  }
  FAIL("never judged an output of inputs that came again");
}

TEST_CASE("first calls need two subjects that are loaded", "[worker][fresh]") {
  WorkerClient& client = shared_worker();
  protocol::FirstCallsArgs args;
  args.problem = small_problem();
  args.plan = quick_plan();
  args.handles = {7, 8};
  const auto unknown = client.first_calls(args);
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().invalidity == Invalidity::environment);
  args.handles = {7};
  CHECK_FALSE(client.first_calls(args).ok());
}
