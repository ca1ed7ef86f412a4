// SPDX-License-Identifier: MIT
// The bodies of `run`, `resume`, `playbook_check` and `playbooks`.
#include "playbook/playbook.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "engine/engine.hpp"
#include "engine/services.hpp"
#include "playbook/agent_file.hpp"
#include "playbook/owner.hpp"
#include "playbook/static_check.hpp"
#include "problem/problem.hpp"
#include "session/session.hpp"
#include "verbs/fake_engine.hpp"
#include "verbs/table.hpp"

namespace wb::playbook {

using engine::Engine;
using engine::Services;
using session::FoldDepth;
using session::SessionView;
using verbs::Call;
using verbs::Course;

std::vector<std::string> playbook_verbs(verbs::Table table) {
  std::vector<std::string> names;
  for (const verbs::Verb* verb : table) {
    if (verb->spec.in_playbook) names.emplace_back(verb->spec.name);
  }
  return names;
}

namespace {

/// The arguments of `open`: the playbook's own, overridden by the command line. Problems on the
/// command line replace all of the playbook's.
Json open_arguments(const PlaybookMeta& meta, const Json& run_args) {
  Json args = meta.open;
  const bool goes_on = run_args.contains("after");
  if (goes_on) args.erase("start");
  if (goes_on || run_args.contains("suite") || run_args.contains("problem")) {
    args.erase("suite");
    args.erase("problem");
  }
  for (const auto& [key, value] : run_args.items()) {
    if (key == "playbook" || key == "arguments" || key == "seed" || key == "resume_or_start")
      continue;
    args[key] = value;
  }
  if (!args.contains("title")) args["title"] = meta.about;
  return args;
}

std::string summary_of(Engine& engine, const fs::path& session) {
  const auto status = engine.call("status", Json::object(), session);
  if (!status) return "";
  const Json best = status->value("best_speedup", Json());
  const auto closed = status->value("iterations", std::int64_t{0});  // the baseline is one of them
  return fmt::format("{} iterations after the baseline; incumbent {}; {}",
                     std::max<std::int64_t>(closed - 1, 0), status->value("incumbent", ""),
                     best.is_number()
                         ? fmt::format("{:.3f}x over the start, confirmed", best.get<double>())
                         : std::string("no confirmed gain"));
}

/// Leaves the session paused, with everything logged so far, and says how to continue. After a stop
/// the command line pauses.
Error leave_paused(Engine& engine, Error error) {
  if (engine.session() == nullptr || error.code == ErrorCode::canceled) return error;
  const std::string folder = engine.session()->folder().string();
  if (!engine.session()->check_place().ok()) return error;  // there is nothing to continue
  const bool paused = engine.pause("stopped by an error: " + error.cause).ok();
  error.next += fmt::format(
      "{}{}`sdpa-wb resume --session {}` goes on, with --replan after a change of the playbook",
      error.next.empty() ? "" : "; ", paused ? "the session is paused: " : "", folder);
  return error;
}

constexpr std::string_view k_print_mark = "print: ";

/// The number of lines that earlier runs of the playbook printed into the log.
Result<std::int64_t> count_prints(const Engine& engine) {
  WB_TRY_ASSIGN(const SessionView* current, engine.session()->current(FoldDepth::full));
  const SessionView& view = *current;
  return std::count_if(view.notes.begin(), view.notes.end(), [](const session::Fact& note) {
    return note.payload.value("text", "").starts_with(k_print_mark);
  });
}

/// Runs the host with the engine and closes the session at the end. The first `printed` lines are
/// in the log already, since a replay prints them again.
Result<Json> drive(Engine& engine, HostProcess& host, const Json& args, std::int64_t printed) {
  const fs::path folder = engine.session()->folder();
  const auto answer = [&](const std::string& verb, const Json& verb_args) {
    return engine.playbook_call(verb, verb_args);
  };
  const auto print = [&](const std::string& text) {
    if (printed-- > 0) return;
    // A print is a note but no call of the playbook, so replay does not count it. If it cannot be
    // written, the next call fails with the reason.
    (void)engine.call("note", {{"text", std::string(k_print_mark) + text}}, folder);
  };
  Result<Json> result = host.run(args, answer, print);
  if (!result) return result;
  if (engine.session() != nullptr) {  // the playbook did not close it
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
  if (!open.contains("start") && !open.contains("after")) {
    return Error{ErrorCode::usage, "start the playbook", host.meta().name,
                 "neither it nor the command line names a kernel to start from",
                 "give --start KERNEL or --after SESSION"};
  }
  // Recorded before the baseline, so that a session killed during it has its playbook in the log.
  engine.on_opened([&]() -> Result<void> {
    return engine.start_playbook(source.path, source.whole(), arguments, seed, false);
  });
  if (auto opened = engine.call("open", open, session); !opened) {
    return leave_paused(engine, std::move(opened).error());
  }
  auto result = drive(engine, host, arguments, 0);
  if (!result) return leave_paused(engine, std::move(result).error());
  return result;
}

/// The recorded playbook: at its old path or, for a session resumed from another folder, by its
/// name on the search path. The engine compares its hash.
Result<PlaybookSource> find_recorded(const Services& services, const std::string& path) {
  std::error_code error;
  if (fs::exists(path, error)) {
    return find_playbook(services.file_system, services.search_path, path);
  }
  auto by_name =
      find_playbook(services.file_system, services.search_path, fs::path(path).stem().string());
  return by_name ? by_name : find_playbook(services.file_system, services.search_path, path);
}

Result<Json> resume(Engine& engine, const PlaybookOptions& options, const Json& args,
                    const fs::path& session) {
  WB_TRY_ASSIGN(const std::int64_t abandoned, engine.resume_session(session));
  WB_TRY_ASSIGN(const SessionView view, engine.session()->view(FoldDepth::brief));
  const Json changed = view.resumes.empty() ? Json::array()
                                            : view.resumes.back().payload.value(
                                                  "environment_changed", Json::array());
  WB_TRY_ASSIGN(const auto recorded, engine.recorded_playbook());
  if (!recorded) {
    return Json{
        {"session", session.string()}, {"abandoned", abandoned}, {"environment_changed", changed}};
  }
  const std::string path = recorded->value("path", "");
  if (path.ends_with(".py")) {
    return Error{ErrorCode::usage, "resume the playbook", path, "it is a script of Python's",
                 "run it again with python3: it goes on where it was"};
  }
  const Services& services = engine.services();
  WB_TRY_ASSIGN(const PlaybookSource source, find_recorded(services, path));
  const Json arguments = recorded->value("args", Json::object());
  const auto seed = recorded->value("seed", std::uint64_t{0});
  const bool replan = args.value("replan", false);
  WB_TRY(engine.start_playbook(source.path, source.whole(), arguments, seed, replan));
  WB_TRY_ASSIGN(HostProcess host, HostProcess::start(options, source, playbook_verbs(), seed,
                                                     services.stop_requested));
  WB_TRY_ASSIGN(const std::int64_t printed, count_prints(engine));
  // After a change of the playbook, it is unknown which lines are new, so all are recorded again.
  WB_TRY_ASSIGN(Json result, drive(engine, host, arguments, replan ? 0 : printed));
  result["abandoned"] = abandoned;
  result["environment_changed"] = changed;
  return result;
}

Result<Json> resume_body(Engine& engine, const PlaybookOptions& options, const Json& args,
                         const fs::path& session) {
  auto result = resume(engine, options, args, session);
  if (!result) return leave_paused(engine, std::move(result).error());
  return result;
}

/// The playbook in the session's log must be the requested one.
Result<void> check_same_playbook(const SessionView& view, const std::string& asked) {
  const std::string recorded = view.playbook ? view.playbook->payload.value("path", "") : "";
  if (recorded == asked || fs::path(recorded).stem() == fs::path(asked).stem()) return {};
  return Error{ErrorCode::usage, "go on with", asked,
               recorded.empty() ? "the session was not opened by a playbook"
                                : fmt::format("the session runs {}", recorded),
               "name that playbook, or another session"};
}

/// `run --resume-or-start`: may be called repeatedly, for example by a scheduler. Starts,
/// continues, or finds nothing left to do.
Result<Json> resume_or_start(Engine& engine, const PlaybookOptions& options, const Json& args,
                             const fs::path& session) {
  if (session.empty()) {
    return Error{ErrorCode::usage, "resume or start", "a playbook", "no session was named",
                 "give --session DIR, the same each time"};
  }
  const auto reader = session::Session::open_reader(engine.services().file_system, session);
  if (!reader && reader.error().code == ErrorCode::not_found) {
    return run_body(engine, options, args, session);
  }
  if (!reader) return reader.error();
  WB_TRY_ASSIGN(const SessionView view, reader->view(FoldDepth::brief));
  WB_TRY(check_same_playbook(view, args["playbook"].get<std::string>()));
  if (view.status != session::SessionStatus::closed) {
    return resume_body(engine, options, Json::object(), session);
  }
  return Json{{"session", session.string()},
              {"result", nullptr},
              {"summary", "already closed; " + summary_of(engine, session)}};
}

/// Refuses in a dry run what `open` would refuse, before anything is built.
Result<void> check_open(Engine& engine, const Json& open) {
  WB_TRY(verbs::check_arguments(verbs::find_verb("open")->spec, open));
  WB_TRY(engine.call("kernels", {{"name", open["start"]}}));
  if (open.contains("suite")) WB_TRY(engine.call("suites", {{"suite", open["suite"]}}));
  const std::string problems = open.value("problem", "");
  for (std::size_t begin = 0; begin < problems.size();) {
    const std::size_t end = std::min(problems.find(';', begin), problems.size());
    WB_TRY(problem::parse_problem(std::string_view(problems).substr(begin, end - begin)));
    begin = end + 1;
  }
  return {};
}

struct DryRun {
  PlaybookMeta meta;
  Json calls, result;
  std::string printed;
};

Result<DryRun> dry_run(Engine& engine, const PlaybookOptions& options, const PlaybookSource& source,
                       Course course) {
  constexpr std::uint64_t k_seed = 1;
  constexpr std::int64_t k_evaluations = 8;
  WB_TRY_ASSIGN(HostProcess host, HostProcess::start(options, source, playbook_verbs(), k_seed,
                                                     engine.services().stop_requested));
  WB_TRY_ASSIGN(const Json arguments, complete_arguments(host.meta(), Json::object()));
  Json open = host.meta().open;
  // The command line of `run` may name the start.
  if (!open.contains("start")) open["start"] = "cpu_unfused";
  WB_TRY(check_open(engine, open));
  verbs::FakeEngine fake(engine, {.course = course,
                                  .seed = k_seed,
                                  .evaluations = open.value("evaluations", k_evaluations),
                                  .start = open["start"].get<std::string>()});
  DryRun run{.meta = host.meta(), .calls = {}, .result = {}, .printed = {}};
  WB_TRY_ASSIGN(run.result, host.run(
                                arguments,
                                [&](const std::string& verb, const Json& verb_args) {
                                  return fake.answer(verb, verb_args);
                                },
                                [&](const std::string& text) { run.printed += text + "\n"; }));
  run.calls = fake.calls();
  return run;
}

std::string_view when(Course course) {
  switch (course) {
    case Course::mixed:
      return "";
    case Course::winning:
      return "when every iteration wins";
    case Course::failing:
      return "when every iteration is invalid";
    case Course::stopped:
      return "when the budget is already spent";
  }
  return "";
}

/// Finds unknown names in branches that no dry run took. Returns why the text could not be
/// analyzed, or empty.
Result<std::string> check_text(const PlaybookSource& source, const PlaybookMeta& meta) {
  constexpr std::size_t k_most = 5;
  const auto faults = static_faults(source, meta);
  if (!faults) {
    return fmt::format("; branches that they did not take were not looked at ({})",
                       faults.error().cause);
  }
  if (faults->empty()) return std::string();
  std::string cause = faults->front();
  for (std::size_t i = 1; i < std::min(faults->size(), k_most); ++i) cause += "; " + (*faults)[i];
  if (faults->size() > k_most) cause += fmt::format("; and {} more", faults->size() - k_most);
  return Error{ErrorCode::invalid, "look through", "the playbook " + source.path,
               "no dry run came there, but " + cause, "correct it: a session would end there"};
}

Result<Json> check_body(Engine& engine, PlaybookOptions options, const Json& args) {
  constexpr auto k_lua_time = std::chrono::seconds(10);  // a dry run waits for nothing
  options.limits.lua_time =
      std::min<std::chrono::milliseconds>(options.limits.lua_time, k_lua_time);
  const Services& services = engine.services();
  WB_TRY_ASSIGN(const PlaybookSource source,
                find_playbook(services.file_system, services.search_path,
                              args["playbook"].get<std::string>()));
  Json answer;
  std::string text = "dry runs passed:";
  PlaybookMeta meta;
  for (const Course course : {Course::mixed, Course::winning, Course::failing, Course::stopped}) {
    auto run = dry_run(engine, options, source, course);
    if (!run) {
      Error error = std::move(run).error();
      if (course != Course::mixed) {
        error.cause = fmt::format("{}: {}", when(course), error.cause);
      }
      return error;
    }
    text += fmt::format(" {} ({} calls)", to_string(course), run->calls.size());
    meta = run->meta;
    if (course != Course::mixed) continue;
    answer = {{"about", run->meta.about},
              {"calls", std::move(run->calls)},
              {"result", std::move(run->result)},
              {"printed", std::move(run->printed)}};
  }
  WB_TRY_ASSIGN(const std::string unread, check_text(source, meta));
  answer["text"] = fmt::format("{}{}{}\n", answer["printed"].get<std::string>(), text, unread);
  return answer;
}

}  // namespace

void register_playbook_verbs(Engine& engine, PlaybookOptions options) {
  using verbs::register_body;
  register_body(engine, "run", [options](const Call& call) {
    return call.args.value("resume_or_start", false)
               ? resume_or_start(call.engine, options, call.args, call.folder)
               : run_body(call.engine, options, call.args, call.folder);
  });
  register_body(engine, "resume", [options](const Call& call) {
    return resume_body(call.engine, options, call.args, call.folder);
  });
  register_body(engine, "playbook_check", [options](const Call& call) {
    return check_body(call.engine, options, call.args);
  });
  register_body(engine, "playbooks", [options](const Call& call) {
    return list_playbooks(call.engine, options, call.args.value("name", ""));
  });
}

}  // namespace wb::playbook
