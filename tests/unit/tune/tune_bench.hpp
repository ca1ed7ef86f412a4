// SPDX-License-Identifier: MIT
// A kernel with a small space of its own, a toolchain whose code depends on the configuration, and
// a fake worker that knows the true time of each: sessions in which the best is planted.
#pragma once

#include <atomic>
#include <cmath>
#include <fstream>
#include <thread>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "engine/engine.hpp"
#include "engine/services.hpp"
#include "search/search_space.hpp"
#include "session/session.hpp"
#include "support/catch.hpp"
#include "support/fake_clock.hpp"
#include "support/fake_toolchain.hpp"
#include "support/fake_transport.hpp"
#include "support/places.hpp"
#include "verbs/table.hpp"

namespace wb::testing {

/// The "code" is what `code` says of the configuration, so that some may share theirs; kernels
/// without parameters, the start for one, always compile.
class TuneToolchain final : public variant::Toolchain {
 public:
  std::function<std::string(const variant::Configuration&)> code =
      [](const variant::Configuration& c) { return variant::to_text(c); };
  std::function<bool(const variant::Configuration&)> compiles = [](const variant::Configuration&) {
    return true;
  };
  mutable std::atomic<int> active{0}, builds{0};

  Result<variant::CompilerIdentity> identity() const override {
    return variant::CompilerIdentity{"fake-cc", "fake-cc 1.0", "fake-signature"};
  }
  Outcome<variant::BuildRecord> compile(const variant::Variant& variant,
                                        const variant::Configuration& configuration,
                                        const variant::BuildOptions&, std::string_view build_id,
                                        const fs::path& output) const override {
    ++active;
    ++builds;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // long enough to meet a turn
    --active;
    if (!configuration.empty() && !compiles(configuration)) {
      return Failure{Invalidity::compile, "the compiler refused it", "does not compile"};
    }
    std::ofstream(output) << build_id
                          << (configuration.empty() ? variant.manifest.name : code(configuration));
    variant::BuildRecord record;
    record.compiler = "fake-cc 1.0";
    record.wall_s = 0.005;
    record.cpu_s = 0.005;
    return record;
  }
};

struct TuneBench {
  using TrueTime = std::function<double(const variant::Configuration&)>;

  RealFileSystem file_system;
  FakeClock clock;  ///< a turn takes its planned time, all else none
  TempDirectory folder = *TempDirectory::create("wb-tune");
  FakeWorker worker;
  std::shared_ptr<TuneToolchain> toolchain = std::make_shared<TuneToolchain>();
  std::atomic<bool> stop{false};
  int workers_started = 0;
  std::int64_t stop_before = 0;  ///< sets `stop` when the tune starts this evaluation, from 1
  std::string stop_at = "=";     ///< and names so
  /// What the program around the engine answers (search/program.hpp).
  std::function<Result<Json>(const Json&)> ask_program = nullptr;
  fs::path session = folder.path() / "s";
  variant::Manifest manifest;
  std::unique_ptr<engine::Engine> engine = make();

  std::unique_ptr<engine::Engine> make() {
    worker.on_turn = [this](const protocol::TurnArgs& turn) { clock.advance(time_of(turn.plan)); };
    const auto watch = [this](const engine::Progress& progress) {
      if (progress.stage == "tune" && stop_before > 0 && progress.total > 0 &&
          progress.what.find(stop_at) != std::string::npos && progress.done + 1 == stop_before) {
        stop = true;
      }
    };
    return std::make_unique<engine::Engine>(
        engine::Services{.file_system = file_system,
                         .clock = clock,
                         .search_path = {{folder.path() / "own", source_dir()}},
                         .cache_root = folder.path() / "cache",
                         .sessions_root = folder.path() / "sessions",
                         .toolchain = toolchain,
                         .build_options = {},
                         .open_transport = [this]() -> Result<std::unique_ptr<runner::Transport>> {
                           ++workers_started;
                           if (workers_started > 1) worker.dies_at_request = 0;
                           return worker.transport();
                         },
                         .hello = {},
                         .progress = watch,
                         .on_milestone = {},
                         .ask_program = ask_program,
                         .stop_requested = &stop,
                         .workbench_version = "test"},
        verbs::runnable());
  }

  /// Writes kernels/cpu_space with this space.
  void plant(const std::map<std::string, std::vector<std::int64_t>>& lists,
             const std::vector<std::string>& restrictions = {}) {
    const fs::path kernel = folder.path() / "own" / "kernels" / "cpu_space";
    fs::create_directories(kernel);
    Json defaults = Json::object();
    for (const auto& [name, values] : lists) defaults[name] = values.front();
    const Json json{{"name", "cpu_space"},        {"about", "a space for tests"},
                    {"backend", "cpu"},           {"supports", Json::object()},
                    {"sources", {"kernel.cpp"}},  {"tune_params", lists},
                    {"defaults", defaults},       {"restrictions", restrictions},
                    {"techniques", Json::array()}};
    std::ofstream(kernel / "kernel.json") << json.dump();
    std::ofstream(kernel / "kernel.cpp") << "int nothing;\n";
    auto parsed = variant::parse_manifest(json.dump(), "the planted kernel");
    if (!parsed.ok()) FAIL(parsed.error().message());
    manifest = *std::move(parsed);
  }

  std::string label_of(const variant::Configuration& configuration) {
    const variant::Variant variant =
        *variant::read_variant(file_system, folder.path() / "own" / "kernels", "cpu_space");
    return "cpu_space@" + short_hash(*variant::artifact_id(
                              variant, configuration, variant::BuildOptions{}, toolchain.get()));
  }

  FakeSubject& subject(const variant::Configuration& configuration) {
    return worker.subjects[label_of(configuration)];
  }

  /// Every configuration of the space gets its true time; the start, cpu_unfused, 400 us.
  void set_times(const TrueTime& us) {
    worker.subjects["cpu_unfused"] = with_time(400);
    const search::SearchSpace space =
        *search::SearchSpace::make(manifest, suite_of(*problem::parse_problem(k_problem)));
    for (search::SearchSpace::Index i = 0; i < space.size(); ++i) {
      subject(space.at(i)) = with_time(us(space.at(i)));
    }
  }

  static FakeSubject with_time(double us) {
    FakeSubject made;
    made.time_us = [us](const problem::Problem&, measure::PlanKind) { return us; };
    made.noise_frac = 0.001;
    return made;
  }

  static problem::Suite suite_of(const problem::Problem& problem) {
    problem::Suite suite;
    suite.name = "one";
    suite.problems.push_back({problem, 1.0, false});
    return suite;
  }

  void open(Json args = Json::object()) {
    if (!args.contains("problem") && !args.contains("suite")) args["problem"] = k_problem;
    if (!args.contains("effort")) args["effort"] = "quick";
    args.merge_patch({{"start", "cpu_unfused"}, {"rivals", {"none"}}});
    const auto opened = engine->call("open", args, session);
    if (!opened.ok()) FAIL(opened.error().message());
  }

  Result<Json> try_tune(Json args = Json::object()) {
    if (!args.contains("variant")) args["variant"] = "cpu_space";
    args.merge_patch({{"hypothesis", "a better shape of the tiles"}});
    if (!args.contains("predicted_speedup")) args["predicted_speedup"] = 1.5;
    return engine->call("tune", args, session);
  }

  Json tune(Json args = Json::object()) {
    auto answer = try_tune(std::move(args));
    if (!answer.ok()) FAIL(answer.error().message());
    UNSCOPED_INFO(answer->dump());
    return *answer;
  }

  std::vector<session::Event> events(std::string_view type) const {
    std::vector<session::Event> found;
    const session::EventLog& log = engine->session()->log();
    for (std::int64_t seq = 1; seq <= log.size(); ++seq) {
      if (log.envelope(seq).type == type) found.push_back(*log.event(seq));
    }
    return found;
  }

  /// "stage configuration" of each evaluation, in order.
  std::vector<std::string> asked() const {
    std::vector<std::string> asked;
    for (const session::Event& event : events("evaluation")) {
      asked.push_back(event.payload["stage"].dump() + " " + event.payload["configuration"].dump());
    }
    return asked;
  }

  std::int64_t tune_turns(const std::string& label) const {
    std::int64_t n = 0;
    for (const session::Event& event : events("turn_measured")) {
      n += event.payload["phase"] == "tune" && event.payload["subject"] == label ? 1 : 0;
    }
    return n;
  }

  static constexpr const char* k_problem = "B=1 Hq=1 Sq=32 D=16 f32";
};

/// 12 configurations; the best is M0=4 N0=2 at 50 us, the others are 20 % apart and more.
inline double bowl(const variant::Configuration& c) {
  const double a = std::log2(static_cast<double>(c.at("M0"))) - 2;
  const double b = std::log2(static_cast<double>(c.at("N0"))) - 1;
  return 50 * (1 + 0.3 * a * a + 0.4 * b * b);
}

inline void plant_bowl(TuneBench& bench) {
  bench.plant({{"M0", {1, 2, 4, 8}}, {"N0", {1, 2, 4}}});
  bench.set_times(bowl);
}

/// Four configurations, for the tests that go through many sessions.
inline void plant_four(TuneBench& bench) {
  bench.plant({{"M0", {1, 2}}, {"N0", {1, 2}}});
  bench.set_times([](const variant::Configuration& c) {
    return 100.0 - 20.0 * static_cast<double>(c.at("M0")) - 10.0 * static_cast<double>(c.at("N0"));
  });
}

inline const Json k_best{{"M0", 4}, {"N0", 2}};

}  // namespace wb::testing
