// SPDX-License-Identifier: MIT
#include "runner/transport.hpp"

#include "measure/quantiles.hpp"
#include "runner/worker_client.hpp"
#include "support/catch.hpp"
#include "support/fake_transport.hpp"

using namespace std::chrono_literals;
using namespace wb;
using namespace wb::runner;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::variant;
using wb::testing::FakeWorker;

TEST_CASE("a transport is a command with a prefix", "[runner][transport]") {
  auto local = open_command_transport({{}, "cat"});
  REQUIRE(local.ok());
  CHECK((*local)->description() == "local");
  REQUIRE((*local)->send("{\"a\":1}", 60s).ok());
  const auto answer = (*local)->receive(60s);
  REQUIRE(answer.ok());
  CHECK(*answer == "{\"a\":1}");

  auto prefixed = open_command_transport({{"env", "-u", "WB_NOTHING"}, "cat"});
  REQUIRE(prefixed.ok());
  CHECK((*prefixed)->description() == "env -u WB_NOTHING");
  REQUIRE((*prefixed)->send("over there", 60s).ok());
  const auto there = (*prefixed)->receive(60s);
  REQUIRE(there.ok());
  CHECK(*there == "over there");
  (*prefixed)->close();
  CHECK((*prefixed)->receive(60s).error().code == ErrorCode::canceled);
}

TEST_CASE("a missing worker is named with where it was looked for", "[runner][transport]") {
  const auto absent = open_command_transport({{}, "no-such-worker-program"});
  REQUIRE_FALSE(absent.ok());
  CHECK(absent.error().code == ErrorCode::not_found);
  CHECK(absent.error().message().find("no-such-worker-program") != std::string::npos);
  CHECK(absent.error().message().find("PATH") != std::string::npos);
}

TEST_CASE("what a dying transport said stands in the failure", "[runner][transport]") {
  auto transport =
      open_command_transport({{"sh", "-c", "echo host key changed >&2; exit 255"}, "w"});
  REQUIRE(transport.ok());
  WorkerClient client(*std::move(transport));
  const auto hello = client.hello({});
  REQUIRE_FALSE(hello.ok());
  CHECK(hello.error().invalidity == Invalidity::environment);
  CHECK(hello.error().message.find("host key changed") != std::string::npos);
  CHECK_FALSE(client.alive());
}

TEST_CASE("a peer that writes no protocol is given up", "[runner][transport][hostile]") {
  for (const std::string script :
       {"echo '{\"v\":1,\"id\":9,\"ok\":true,\"result\":{}}'; cat", "echo garbage; cat",
        "head -c 3000000 /dev/zero | tr '\\0' x; cat", "exec 1>&-; sleep 5"}) {
    INFO(script);
    auto transport = open_command_transport({{"sh", "-c", script}, "w"});
    REQUIRE(transport.ok());
    WorkerClient client(*std::move(transport));
    const auto hello = client.hello({});
    REQUIRE_FALSE(hello.ok());
    CHECK(hello.error().invalidity == Invalidity::environment);
    CHECK_FALSE(client.alive());
  }
}

// The fake that other modules test with must itself behave like a worker.

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
