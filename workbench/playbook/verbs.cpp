// SPDX-License-Identifier: MIT
// The bodies of `run`, `resume` and `playbook_check`.
#include <fmt/format.h>

#include "playbook/fake_engine.hpp"
#include "playbook/owner.hpp"

namespace wb {
namespace {

std::vector<std::string> playbook_verbs() {
  std::vector<std::string> names;
  for (const VerbSpec& verb : verb_table()) {
    if (verb.in_playbook) names.emplace_back(verb.name);
  }
  return names;
}

/// The arguments of `open`: the playbook's own, overridden by the command line. Problems named on
/// the command line replace all of the playbook's.
Json open_arguments(const PlaybookMeta& meta, const Json& run_args) {
  Json args = meta.open;
  if (run_args.contains("suite") || run_args.contains("problem")) {
    args.erase("suite");
    args.erase("problem");
  }
  for (const auto& [key, value] : run_args.items()) {
    if (key != "playbook" && key != "arguments" && key != "seed") args[key] = value;
  }
  if (!args.contains("title")) args["title"] = meta.about;
  return args;
}

std::string summary_of(Engine& engine, const fs::path& session) {
  const auto status = engine.call("status", Json::object(), session);
  if (!status) return "";
  const Json best = status->value("best_speedup", Json());
  return fmt::format("{} iterations closed; incumbent {}; {}",
                     status->value("iterations", std::int64_t{0}), status->value("incumbent", ""),
                     best.is_number()
                         ? fmt::format("{:.3f}x over the start, confirmed", best.get<double>())
                         : std::string("no confirmed gain"));
}

/// Runs the host against the engine and closes the session at the end. A failing playbook leaves
/// the session paused, with everything logged so far.
Result<Json> drive(Engine& engine, HostProcess& host, const Json& args) {
  const fs::path folder = engine.session()->folder();
  const auto answer = [&](const std::string& verb, const Json& verb_args) {
    return engine.playbook_call(verb, verb_args);
  };
  const auto print = [&](const std::string& text) {
    if (engine.replaying()) return;  // logged by the run that is being replayed
    // A print is a note, but no call of the playbook: replay does not count it.
    (void)engine.call("note", {{"text", "print: " + text}}, folder);
  };
  Result<Json> result = host.run(args, answer, print);
  if (!result) {
    if (result.error().code != ErrorCode::canceled) {
      WB_TRY(engine.pause("the playbook failed: " + result.error().cause));
    }
    return result;
  }
  const auto view = engine.session()->view(FoldDepth::brief);
  if (view && view->status != SessionStatus::closed) {
    const auto status = engine.call("status", Json::object(), folder);
    const Json stop = status ? status->value("stop_reason", Json()) : Json();
    WB_TRY(engine.call("close",
                       {{"reason", stop.is_string() ? stop.get<std::string>()
                                                    : std::string("the playbook finished")}},
                       folder));
  }
  return Json{{"session", folder.string()},
              {"result", *std::move(result)},
              {"summary", summary_of(engine, folder)}};
}

Result<Json> run_body(Engine& engine, const PlaybookOptions& options, const Json& args,
                      const fs::path& session) {
  const Services& services = engine.services();
  WB_TRY_ASSIGN(const PlaybookSource source,
                find_playbook(services.file_system, services.search_path,
                              args["playbook"].get<std::string>()));
  const auto seed = args.value("seed", std::uint64_t{0});
  WB_TRY_ASSIGN(HostProcess host, HostProcess::start(options, source, playbook_verbs(), seed,
                                                     services.stop_requested));
  WB_TRY_ASSIGN(const Json arguments,
                complete_arguments(host.meta(), args.value("arguments", Json::object())));
  const Json open = open_arguments(host.meta(), args);
  if (!open.contains("start")) {
    return Error{ErrorCode::usage, "start the playbook", host.meta().name,
                 "neither it nor the command line names a kernel to start from",
                 "give --start KERNEL"};
  }
  // Recorded before the baseline, so that a session killed during it knows its playbook.
  engine.on_opened([&]() -> Result<void> {
    return engine.start_playbook(source.path, source.whole(), arguments, seed, false);
  });
  WB_TRY(engine.call("open", open, session));
  return drive(engine, host, arguments);
}

Result<Json> resume_body(Engine& engine, const PlaybookOptions& options, const Json& args,
                         const fs::path& session) {
  WB_TRY_ASSIGN(const std::int64_t abandoned, engine.resume_session(session));
  WB_TRY_ASSIGN(const auto recorded, engine.recorded_playbook());
  if (!recorded) return Json{{"session", session.string()}, {"abandoned", abandoned}};
  const Services& services = engine.services();
  WB_TRY_ASSIGN(
      const PlaybookSource source,
      find_playbook(services.file_system, services.search_path, recorded->value("path", "")));
  const Json arguments = recorded->value("args", Json::object());
  const auto seed = recorded->value("seed", std::uint64_t{0});
  WB_TRY(engine.start_playbook(source.path, source.whole(), arguments, seed,
                               args.value("replan", false)));
  WB_TRY_ASSIGN(HostProcess host, HostProcess::start(options, source, playbook_verbs(), seed,
                                                     services.stop_requested));
  WB_TRY_ASSIGN(Json result, drive(engine, host, arguments));
  result["abandoned"] = abandoned;
  return result;
}

Result<Json> check_body(Engine& engine, const PlaybookOptions& options, const Json& args) {
  constexpr std::uint64_t k_seed = 1;
  constexpr std::int64_t k_evaluations = 8;
  const Services& services = engine.services();
  WB_TRY_ASSIGN(const PlaybookSource source,
                find_playbook(services.file_system, services.search_path,
                              args["playbook"].get<std::string>()));
  WB_TRY_ASSIGN(HostProcess host, HostProcess::start(options, source, playbook_verbs(), k_seed,
                                                     services.stop_requested));
  WB_TRY_ASSIGN(const Json arguments, complete_arguments(host.meta(), Json::object()));
  Json open = host.meta().open;
  // What `open` would refuse is refused here too; a start may still come from the command line.
  if (!open.contains("start")) open["start"] = "cpu_unfused";
  WB_TRY(check_arguments(*find_verb("open"), open));
  FakeEngine fake(engine, k_seed, open.value("evaluations", k_evaluations));
  std::string printed;
  WB_TRY_ASSIGN(const Json result, host.run(
                                       arguments,
                                       [&](const std::string& verb, const Json& verb_args) {
                                         return fake.answer(verb, verb_args);
                                       },
                                       [&](const std::string& text) { printed += text + "\n"; }));
  return Json{{"about", host.meta().about},
              {"calls", fake.calls()},
              {"result", result},
              {"printed", printed}};
}

}  // namespace

void register_playbook_verbs(Engine& engine, PlaybookOptions options) {
  engine.register_body("run", [options](Engine& e, const Json& args, const fs::path& session) {
    return run_body(e, options, args, session);
  });
  engine.register_body("resume", [options](Engine& e, const Json& args, const fs::path& session) {
    return resume_body(e, options, args, session);
  });
  engine.register_body("playbook_check", [options](Engine& e, const Json& args, const fs::path&) {
    return check_body(e, options, args);
  });
}

}  // namespace wb
