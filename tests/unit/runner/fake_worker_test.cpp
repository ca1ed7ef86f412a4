// SPDX-License-Identifier: MIT
// The fake that other modules test with must itself behave like a worker.
#include "measure/statistics.hpp"
#include "runner/worker_client.hpp"
#include "support/catch.hpp"
#include "support/fake_transport.hpp"

using namespace wb;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::runner;
using namespace wb::variant;
using wb::testing::FakeWorker;

namespace {

std::int64_t load(WorkerClient& client, const std::string& name) {
  Variant variant;
  variant.manifest.name = name;
  variant.manifest.backend = Backend::python;
  variant.id = std::string(64, 'a');
  const auto loaded = client.load(variant, {});
  REQUIRE(loaded.ok());
  return loaded->handle;
}

}  // namespace

TEST_CASE("fake subjects have the speeds they were given", "[runner][fake]") {
  FakeWorker worker;
  worker.subjects["fast"].time_us = [](const Problem& problem, PlanKind plan) {
    return static_cast<double>(problem.Sq) * (plan == PlanKind::cold ? 2.0 : 1.0);
  };
  WorkerClient client(worker.transport());
  protocol::TurnArgs args;
  args.handle = load(client, "fast");
  args.problem.Sq = 30;
  const auto hot = client.turn(args);
  REQUIRE(hot.ok());
  CHECK(median(hot->samples_us) == Approx(30).epsilon(0.01));
  CHECK(hot->calls_per_sample == 7);
  REQUIRE(hot->spot.has_value());
  CHECK(hot->spot->pass);
  args.plan.kind = PlanKind::cold;
  CHECK(median(client.turn(args)->samples_us) == Approx(60).epsilon(0.01));
}

TEST_CASE("fake subjects fail as chosen and are then gone", "[runner][fake]") {
  FakeWorker worker;
  worker.subjects["crasher"].turn_failure = Failure{Invalidity::runtime, "crashed", {}};
  worker.subjects["wrong"].passes = [](const Problem&) { return false; };
  WorkerClient client(worker.transport());
  protocol::TurnArgs turn;
  turn.handle = load(client, "crasher");
  CHECK(client.turn(turn).error().invalidity == Invalidity::runtime);
  CHECK(client.turn(turn).error().invalidity == Invalidity::environment);
  protocol::VerdictArgs verdict;
  verdict.handle = load(client, "wrong");
  const auto judged = client.verdict(verdict);
  REQUIRE(judged.ok());
  CHECK_FALSE(judged->pass);
  CHECK(judged->runs.size() == 1);
  CHECK(client.status()->subjects.size() == 1);
  CHECK(client.unload(verdict.handle).ok());
  CHECK(client.status()->subjects.empty());
}
