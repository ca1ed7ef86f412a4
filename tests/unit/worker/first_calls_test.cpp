// SPDX-License-Identifier: MIT
// `first_calls` through the real worker: how much faster calls on repeated inputs are, and whose
// fault a failure is.
#include <algorithm>

#include "support/catch.hpp"
#include "worker_under_test.hpp"

using namespace wb;
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
