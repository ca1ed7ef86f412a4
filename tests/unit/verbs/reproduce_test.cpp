// SPDX-License-Identifier: MIT
// `reproduce`: a recorded result is built, judged and measured again; the record stays unchanged.
#include <fstream>

#include "core/json.hpp"
#include "unit/engine/engine_world.hpp"
#include "verbs/standings.hpp"

using namespace wb;
using namespace wb::engine;
using namespace wb::verbs;
using namespace wb::measure;
using namespace wb::problem;
using testing::Bench;
using testing::FakeSubject;

namespace {

/// A session in which cpu_tiled won with twice the speed.
struct Won : Bench {
  explicit Won(const std::string& device_id = "") {
    if (!device_id.empty()) worker.hello_result.device.id = device_id;
    worker.subjects["cpu_unfused"] = with_time(200);
    worker.subjects["cpu_tiled"] = with_time(100);
    open();
    REQUIRE(iterate()["outcome"] == "win");
    restart();
    before = snapshot(session);
  }
  Json reproduce(Json args = Json::object()) {
    args["recorded"] = session.string();
    const Json answer = call("reproduce", args);
    UNSCOPED_INFO(answer["text"].get<std::string>());
    CHECK(snapshot(session) == before);
    return answer;
  }
  std::map<std::string, std::string> before;
};

}  // namespace

TEST_CASE("the same machine gives the same gain", "[engine][reproduce]") {
  Won won;
  const Json answer = won.reproduce();
  CHECK(answer["outcome"] == "reproduced");
  CHECK(answer["iteration"] == 1);
  CHECK(answer["same_artifact"] == true);
  CHECK(answer["changes"].empty());
  CHECK(answer["measured"]["speedup"].get<double>() == Approx(2.0).epsilon(0.02));
  CHECK(answer["against"].get<std::string>().rfind("cpu_unfused@", 0) == 0);
  REQUIRE(answer["problems"].size() == 1);
  CHECK(answer["problems"][0]["recorded"].get<double>() == Approx(2.0).epsilon(0.02));
}

TEST_CASE("the stored sources are measured, not those that lie in kernels/ now",
          "[engine][reproduce]") {
  Won won;
  won.roots = {won.folder.path() / "empty"};  // no kernel is there any more
  won.restart();
  CHECK(won.reproduce()["outcome"] == "reproduced");
}

TEST_CASE("sources that are not what their id says are never built", "[engine][reproduce]") {
  Won won;
  for (const auto& file : fs::recursive_directory_iterator(won.session / "kernels")) {
    if (file.path().filename() == "kernel.cpp") {
      std::ofstream(file.path(), std::ios::app) << "// faster\n";
    }
  }
  const auto answer = won.engine->call("reproduce", {{"recorded", won.session.string()}});
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code == ErrorCode::damaged);
  CHECK(answer.error().message().find("are not those it was built from") != std::string::npos);
}

TEST_CASE("a gain that is gone is not reproduced", "[engine][reproduce]") {
  Won won;
  won.worker.subjects["cpu_tiled"] = Bench::with_time(190);
  CHECK(won.reproduce()["outcome"] == "not_reproduced");
  // The other way round is not a gain either.
  won.worker.subjects["cpu_tiled"] = Bench::with_time(400);
  CHECK(won.reproduce()["outcome"] == "not_reproduced");
}

TEST_CASE("two sessions' figures differ beyond their intervals and noise floors, or not at all",
          "[engine][reproduce]") {
  const auto figure = [](double speedup, double floor_frac) {
    Comparison made;
    made.speedup = speedup;
    made.interval = {speedup * 0.995, speedup * 1.005, 0.99};
    made.noise_floor_frac = floor_frac;
    return made;
  };
  // The intervals do not touch, but machines of this noise floor differ by as much.
  CHECK(change_between(figure(2.0, 0.02), figure(1.97, 0.02)).outcome != ComparisonOutcome::slower);
  CHECK(change_between(figure(2.0, 0), figure(1.97, 0)).outcome == ComparisonOutcome::slower);
  CHECK(change_between(figure(2.0, 0.02), figure(1.9, 0.02)).outcome == ComparisonOutcome::slower);
  CHECK(change_between(figure(1.9, 0.02), figure(2.0, 0.02)).outcome == ComparisonOutcome::faster);
  Comparison unknown = figure(2.0, 0.02);
  unknown.interval.low = std::nan("");
  CHECK(change_between(unknown, figure(1.0, 0)).outcome == ComparisonOutcome::ambiguous);
}

TEST_CASE("elsewhere a gain that is gone is held against nobody", "[engine][reproduce]") {
  Won won;
  won.worker.hello_result.device.name = "Another CPU";
  won.worker.subjects["cpu_tiled"] = Bench::with_time(190);
  const Json answer = won.reproduce();
  CHECK(answer["outcome"] == "environment_differs");
  REQUIRE(answer["changes"].size() == 1);
  CHECK(answer["changes"][0]["what"] == "device");
  CHECK(answer["changes"][0]["after"] == "Another CPU");
  // A gain that stands elsewhere too is reproduced, with the difference named.
  won.worker.subjects["cpu_tiled"] = Bench::with_time(100);
  const Json again = won.reproduce();
  CHECK(again["outcome"] == "reproduced");
  CHECK(again["changes"].size() == 1);
}

TEST_CASE("another device of the same model may differ by two percent", "[engine][reproduce]") {
  // With these fakes the intervals are of no width to speak of, and so are the noise floors.
  Won won("GPU-1");
  won.worker.subjects["cpu_tiled"] = Bench::with_time(101.5);
  CHECK(won.reproduce()["outcome"] == "not_reproduced");
  won.worker.hello_result.device.id = "GPU-2";
  won.restart();
  const Json answer = won.reproduce();
  CHECK(answer["outcome"] == "reproduced");
  REQUIRE(answer["changes"].size() == 1);
  CHECK(answer["changes"][0]["what"] == "device id");
  won.worker.subjects["cpu_tiled"] = Bench::with_time(104);
  CHECK(won.reproduce()["outcome"] == "environment_differs");
  // Of another model it is another question.
  won.worker.subjects["cpu_tiled"] = Bench::with_time(101.5);
  won.worker.hello_result.device.name = "Another GPU";
  won.restart();
  CHECK(won.reproduce()["outcome"] == "environment_differs");
}

TEST_CASE("a variant that is wrong here is not timed", "[engine][reproduce]") {
  Won won;
  FakeSubject wrong = Bench::with_time(100);
  wrong.passes = [](const Problem&) { return false; };
  won.worker.subjects["cpu_tiled"] = wrong;
  const auto turns = won.worker.count(protocol::Verb::turn);
  const Json answer = won.reproduce();
  CHECK(answer["outcome"] == "not_reproduced");
  CHECK(answer["measured"].is_null());
  CHECK(answer["message"].get<std::string>().find("correctness") != std::string::npos);
  CHECK(won.worker.count(protocol::Verb::turn) == turns);
}

TEST_CASE("a variant that does not build any more has no figure, and the toolchain is named",
          "[engine][reproduce]") {
  Won won;
  won.toolchain->refused_text = "wb_sdpa_forward";  // every kernel has it
  fs::remove_all(won.folder.path() / "cache");
  CHECK(won.reproduce()["outcome"] == "not_reproduced");
  won.toolchain->version = "fake-cc 2.0";
  const Json answer = won.reproduce();
  CHECK(answer["outcome"] == "environment_differs");
  CHECK(answer["measured"].is_null());
  CHECK(answer["same_artifact"].is_null());
  CHECK(answer["message"].get<std::string>().find("does not build here") != std::string::npos);
  CHECK(answer["problems"].empty());
  REQUIRE(answer["changes"].size() == 1);
  CHECK(answer["changes"][0]["what"] == "compiler");
  // One that takes them makes another artifact; the gain may still be the same.
  won.toolchain->refused_text = "does not compile";
  const Json again = won.reproduce();
  CHECK(again["outcome"] == "reproduced");
  CHECK(again["same_artifact"] == false);
}

TEST_CASE("a busy or broken machine is an error of the machine", "[engine][reproduce]") {
  Won won;
  FakeSubject loaded = Bench::with_time(100);
  loaded.turn_flags = {"foreign_load"};
  won.worker.subjects["cpu_tiled"] = loaded;
  const auto answer = won.engine->call("reproduce", {{"recorded", won.session.string()}});
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code == ErrorCode::environment);
}

TEST_CASE("what has no figure cannot be reproduced", "[engine][reproduce]") {
  Won won;
  const auto refused = [&](const Json& args) {
    const auto answer = won.engine->call("reproduce", args);
    REQUIRE_FALSE(answer.ok());
    return answer.error().code;
  };
  const std::string session = won.session.string();
  CHECK(refused({{"recorded", session}, {"iteration", 0}}) == ErrorCode::invalid);
  CHECK(refused({{"recorded", session}, {"iteration", 9}}) == ErrorCode::not_found);
  CHECK(refused({{"recorded", "nope"}}) == ErrorCode::not_found);
  // A process that holds a session would log what it measures there.
  won.call("note", {{"text", "hold"}}, won.session);
  CHECK(refused({{"recorded", session}}) == ErrorCode::usage);
}
