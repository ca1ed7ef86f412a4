// SPDX-License-Identifier: MIT
// A whole engine beside a fake worker and a fake compiler, in a folder of its own: for tests of
// verbs that need a session.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "engine/engine.hpp"
#include "engine/services.hpp"
#include "session/session.hpp"
#include "support/catch.hpp"
#include "support/fake_clock.hpp"
#include "support/fake_toolchain.hpp"
#include "support/fake_transport.hpp"
#include "support/places.hpp"
#include "verbs/table.hpp"

namespace wb::testing {

struct Bench {
  RealFileSystem file_system;
  FakeClock clock;  ///< a turn takes its planned time, all else none
  TempDirectory folder = *TempDirectory::create("wb-engine");
  FakeWorker worker;
  std::atomic<bool> stop{false};
  int workers_started = 0;
  fs::path session = folder.path() / "s";
  std::vector<fs::path> roots{source_dir()};  ///< of the search path
  fs::path data_root = folder.path() / "data";
  std::shared_ptr<testing::FakeToolchain> toolchain = std::make_shared<testing::FakeToolchain>();
  std::shared_ptr<const variant::Toolchain> cuda_toolchain;  ///< taken by make()
  std::unique_ptr<engine::Engine> engine = make();

  std::unique_ptr<engine::Engine> make() {
    worker.on_turn = [this](const protocol::TurnArgs& turn) { clock.advance(time_of(turn.plan)); };
    return std::make_unique<engine::Engine>(
        engine::Services{.file_system = file_system,
                         .clock = clock,
                         .search_path = {roots},
                         .cache_root = folder.path() / "cache",
                         .sessions_root = folder.path() / "sessions",
                         .data_root = data_root,
                         .toolchain = toolchain,
                         .cuda_toolchain = cuda_toolchain,
                         .build_options = {},
                         .open_transport = [this]() -> Result<std::unique_ptr<runner::Transport>> {
                           ++workers_started;
                           return worker.transport();
                         },
                         .hello = {},
                         .progress = {},
                         .on_milestone = {},
                         .stop_requested = &stop,
                         .workbench_version = "test"},
        verbs::runnable());
  }

  static FakeSubject with_time(double us) {
    FakeSubject subject;
    subject.time_us = [us](const problem::Problem&, measure::PlanKind) { return us; };
    subject.noise_frac = 0.001;
    return subject;
  }

  /// From now on the fake worker measures on a GPU, which runs Python variants.
  void play_gpu() {
    device::Device& device = worker.hello_result.device;
    device.backend = "cuda";
    device.id = "GPU-fake";
    device.architecture = "sm_90";
    worker.hello_result.backends = {"cuda", "python"};
  }

  Json open(Json args = Json::object()) {
    args["effort"] = "quick";
    if (!args.contains("start")) args["start"] = "cpu_unfused";
    if (!args.contains("rivals")) args["rivals"] = {"none"};
    if (!args.contains("problem")) args["problem"] = "B=1 Hq=1 Sq=32 D=16 f32";
    auto opened = engine->call("open", args, session);
    if (!opened.ok()) FAIL(opened.error().message());
    return *opened;
  }

  Json iterate(Json args = Json::object()) {
    if (!args.contains("variant") && !args.contains("files")) args["variant"] = "cpu_tiled";
    if (!args.contains("hypothesis")) args["hypothesis"] = "a reason";
    if (!args.contains("predicted_speedup")) args["predicted_speedup"] = 1.5;
    auto answer = engine->call("iterate", args, session);
    if (!answer.ok()) FAIL(answer.error().message());
    UNSCOPED_INFO(answer->dump());
    return *answer;
  }

  /// A fresh process, so to speak: the session is let go.
  void restart() {
    engine.reset();
    engine = make();
  }

  Json call(std::string_view verb, const Json& args, const fs::path& at = {}) {
    auto answer = engine->call(verb, args, at);
    if (!answer.ok()) FAIL(answer.error().message());
    return *answer;
  }

  /// path below the folder -> content of every file, to see that nothing was touched.
  static std::map<std::string, std::string> snapshot(const fs::path& root) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (!entry.is_regular_file()) continue;
      files[entry.path().lexically_relative(root).string()] =
          RealFileSystem().read(entry.path(), 1u << 26).value();
    }
    return files;
  }

  std::vector<session::Event> events(std::string_view type) const {
    std::vector<session::Event> found;
    const auto* held = engine->session();  // none where it was closed
    RealFileSystem files;
    const auto reader =
        session::Session::open_reader(files, held != nullptr ? held->folder() : session);
    REQUIRE(reader.ok());
    const session::EventLog& log = reader->log();
    for (std::int64_t seq = 1; seq <= log.size(); ++seq) {
      if (log.envelope(seq).type == type) found.push_back(*log.event(seq));
    }
    return found;
  }
};

/// The kernel of an event's subject, without "@" and what follows.
inline std::string subject_name(const session::Event& event) {
  const std::string label = event.payload.value("subject", "");
  return label.substr(0, label.find('@'));
}

}  // namespace wb::testing
