// SPDX-License-Identifier: MIT
#include "worker/supervisor.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "core/json.hpp"
#include "core/process.hpp"
#include "core/secret.hpp"
#include "worker/failure.hpp"
#include "worker/first_calls.hpp"
#include "worker/forked.hpp"
#include "worker/run.hpp"

namespace wb::worker {
namespace {

using protocol::Verb;
using std::chrono::milliseconds;

/// Creating a context takes a third of a second. A process without one after this time waits for
/// memory that a subject holds, and is ended.
constexpr std::int64_t k_context_patience_ms = 10'000;

template <typename Args>
Outcome<Args> read_args(const protocol::Request& request) {
  Args args;
  if (const auto read = from_json(request.args, args); !read.ok()) {
    return environment(read.error().message());
  }
  return args;
}

Outcome<std::int64_t> read_handle(const Json& args, std::string_view what, bool more) {
  ObjectReader reader(args, std::string(what));
  const std::int64_t handle = reader.integer("handle", 0, std::int64_t{1} << 53);
  if (const auto read = reader.finish(more); !read.ok()) return environment(read.error().message());
  return handle;
}

std::int64_t resident_bytes(pid_t pid) {
  const auto text = RealFileSystem().read(fmt::format("/proc/{}/statm", pid), 256);
  const std::size_t space = text.ok() ? text->find(' ') : std::string::npos;
  if (space == std::string::npos) return 0;
  std::int64_t pages = 0;
  std::from_chars(text->data() + space + 1, text->data() + text->size(), pages);
  return pages * ::sysconf(_SC_PAGESIZE);
}

}  // namespace

Result<Supervisor> Supervisor::create(std::string own_program, CancelSource cancel) {
  WB_TRY_ASSIGN(Store store, Store::create());
  return Supervisor(std::move(own_program), cancel, std::move(store));
}

Wait Supervisor::wait_for(std::int64_t deadline_ms) const {
  return {deadline_in(std::min<milliseconds>(milliseconds(deadline_ms), protocol::k_longest_hold)),
          m_cancel};
}

TurnContext Supervisor::context(std::string subject) {
  return {.judge = m_greeted->judge,
          .clock = on_gpu() ? Clock::device : Clock::host,
          .threads = m_greeted->factory.setting().threads,
          .empty_native = m_greeted->empty_native,
          .empty_python = m_greeted->empty_python,
          .fresh = m_fresh,
          .subject = std::move(subject),
          .gpu = m_greeted->gpu ? &*m_greeted->gpu : nullptr,
          .hot_us = &m_hot_us,
          .run_us = &m_run_us,
          .place = {.allowed = m_greeted->limits.allowed,
                    .siblings = m_greeted->limits.siblings,
                    .cores = on_gpu() ? 0 : m_greeted->cores}};
}

Outcome<DeviceLock::Held> Supervisor::take_device() {
  m_leaving.clear();  // a process that has not ended may still use the device or its memory
  return as_outcome(m_greeted->lock.acquire(deadline_in(protocol::k_lock_patience), m_cancel));
}

Outcome<DeviceLock::Held> Supervisor::take_device_alone(std::int64_t deadline_ms) {
  m_greeted->factory.await_spares(wait_for(std::min(deadline_ms, k_context_patience_ms)));
  return take_device();
}

Outcome<LoadedSubject*> Supervisor::find_subject(std::int64_t handle) {
  const auto found = m_subjects.find(handle);
  if (found != m_subjects.end()) return &found->second;
  return environment(fmt::format(
      "no subject has handle {}: it was never loaded, or unloaded after a failure", handle));
}

template <typename T>
Outcome<T> Supervisor::judged(std::int64_t handle, const problem::Problem& problem,
                              Outcome<T> outcome) {
  if (!outcome.ok() && outcome.error().invalidity == Invalidity::environment) {
    if (auto failure = memory_hog(handle, problem)) outcome = *std::move(failure);
  }
  return noted(handle, std::move(outcome));
}

Outcome<LoadedSubject*> Supervisor::find_unprofiled(std::int64_t handle) {
  auto subject = find_subject(handle);
  if (!subject.ok() || !(*subject)->profiled) return subject;
  return environment(
      fmt::format("the process of subject {} was under {}, which slows its calls: load it anew",
                  handle, protocol::k_kernel_names_tool));
}

Outcome<Json> Supervisor::build(const protocol::BuildArgs& args) {
  BuildTask task;
  task.variant_name = args.variant_name;
  task.build_id = args.build_id;
  for (const protocol::FileRef& file : args.files) {
    WB_TRY_ASSIGN(auto bytes, as_outcome(m_store.verified_bytes(file.sha256)));
    task.files[file.path] = std::move(bytes);
  }
  task.configuration.insert(args.configuration.begin(), args.configuration.end());
  task.options.target = args.target;
  task.options.deadline = std::chrono::ceil<std::chrono::seconds>(milliseconds(args.deadline_ms));
  WB_TRY_ASSIGN(const auto folder, as_outcome(ScratchFolder::create(m_store.folder(), "build")));
  task.output = folder.path() / "artifact.so";
  WB_TRY_ASSIGN(auto record, build_in_child(*m_registry, task,
                                            deadline_in(milliseconds(args.deadline_ms)), m_cancel));
  WB_TRY_ASSIGN(const auto bytes, as_outcome(RealFileSystem().read(task.output, k_max_file_bytes)));
  WB_TRY_ASSIGN(auto sha256, as_outcome(m_store.add(bytes)));
  return to_json(protocol::BuildResult{std::move(sha256), std::move(record)});
}

Outcome<Json> Supervisor::load(const protocol::LoadArgs& args) {
  WB_TRY(ensure_healthy());
  if (args.backend == "python") {
    m_greeted->factory.start_python_spares(static_cast<std::size_t>(args.python_follows) + 1);
    WB_TRY(need_empty_python());
  }
  const auto begin = std::chrono::steady_clock::now();
  const Wait wait = wait_for(args.deadline_ms);
  auto subject = m_greeted->factory.load(args, wait);
  if (!subject.ok() && subject.error().invalidity == Invalidity::environment && on_gpu()) {
    // The waiting process may have been started beside one that held all of the device's memory.
    // Once that has ended, a new process shows whether the machine is at fault.
    m_leaving.clear();
    m_greeted->factory.drop_spares();
    subject = m_greeted->factory.load(args, wait);
  }
  subject = noted(0, std::move(subject));
  if (!subject.ok()) return std::move(subject).error();
  protocol::LoadResult result;
  result.handle = m_next_handle++;
  result.pid = subject->process.pid();
  result.versions = subject->versions;
  m_subjects.emplace(result.handle, *std::move(subject));
  result.load_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return to_json(result);
}

Outcome<Json> Supervisor::run(const protocol::RunArgs& args) {
  WB_TRY_ASSIGN(auto subject, find_unprofiled(args.handle));
  WB_TRY(ensure_healthy());
  WB_TRY_ASSIGN(const auto held, take_device());
  return as_json(judged(
      args.handle, args.problem,
      conduct_run(subject->process, args, context(subject->label), wait_for(args.deadline_ms))));
}

Outcome<Json> Supervisor::verdict(const protocol::VerdictArgs& args) {
  WB_TRY_ASSIGN(auto subject, find_unprofiled(args.handle));
  WB_TRY(ensure_healthy());
  WB_TRY_ASSIGN(const auto held, take_device());
  // Judging takes a while and times nothing, so the next loads' processes are started meanwhile.
  m_greeted->factory.start_spares(0);
  if (!args.drawn.empty()) return to_json(drawn_runs(args));
  const bool has_edge = args.problem.mask != problem::MaskKind::none && args.rows_without_keys;
  const Wait wait = wait_for(args.deadline_ms);
  protocol::VerdictResult result;
  for (const VerdictRun& run : draw_verdict_runs(has_edge, args.want_lse)) {
    protocol::RunArgs one;
    one.handle = args.handle;
    one.problem = args.problem;
    one.draw = run.draw;
    one.want_lse = run.want_lse;
    WB_TRY_ASSIGN(auto outcome,
                  judged(args.handle, args.problem,
                         conduct_run(subject->process, one, context(subject->label), wait)));
    result.runs.emplace_back(run.draw, std::move(outcome));
    result.pass = result.runs.back().second.verdict.pass;
    if (!result.pass) break;
  }
  return to_json(result);
}

protocol::VerdictResult Supervisor::drawn_runs(const protocol::VerdictArgs& args) {
  const Wait wait = wait_for(args.deadline_ms);
  protocol::VerdictResult result;
  for (protocol::RunArgs one : args.drawn) {
    one.handle = args.handle;
    auto subject = find_subject(args.handle);
    auto outcome =
        subject.ok()
            ? judged(args.handle, one.problem,
                     conduct_run((*subject)->process, one, context((*subject)->label), wait))
            : Outcome<protocol::RunResult>(subject.error());
    if (!outcome.ok()) {
      result.pass = false;
      result.failure = std::move(outcome).error();
      return result;
    }
    result.runs.emplace_back(one.draw, *std::move(outcome));
    result.pass = result.runs.back().second.verdict.pass;
    if (!result.pass) break;
  }
  return result;
}

std::size_t Supervisor::loaded_python() const {
  return static_cast<std::size_t>(std::count_if(
      m_subjects.begin(), m_subjects.end(),
      [](const auto& entry) { return entry.second.process.kind() == SubjectKind::python; }));
}

Outcome<Json> Supervisor::turn(const protocol::TurnArgs& args) {
  WB_TRY_ASSIGN(auto subject, find_unprofiled(args.handle));
  WB_TRY(ensure_healthy());
  // Ends announced processes that were not loaded, and prepares as many as were loaded, since each
  // round of turns needs fresh ones.
  m_greeted->factory.let_python_sleep(loaded_python());
  WB_TRY_ASSIGN(const auto held, take_device_alone(args.deadline_ms));
  auto turn = judged(
      args.handle, args.problem,
      conduct_turn(subject->process, args, context(subject->label), wait_for(args.deadline_ms)));
  if (turn.ok()) turn->device = higher_peaks(args, *turn);
  return as_json(turn);
}

Outcome<Json> Supervisor::first_calls(const protocol::FirstCallsArgs& args) {
  std::vector<FirstCaller> callers;
  WB_TRY(ensure_healthy());
  for (const std::int64_t handle : args.handles) {
    WB_TRY_ASSIGN(auto subject, find_unprofiled(handle));
    callers.push_back({subject->process, context(subject->label)});
  }
  WB_TRY_ASSIGN(const auto held, take_device_alone(args.deadline_ms));
  const auto result = conduct_first_calls(callers, args, wait_for(args.deadline_ms));
  if (result.ok() && result->failed) {
    const std::int64_t handle = args.handles[static_cast<std::size_t>(*result->failed)];
    const auto failure = judged(handle, args.problem, Outcome<Json>(*result->failure));
    auto told = *result;
    told.failure = failure.error();
    return to_json(told);
  }
  return as_json(result);
}

Outcome<Json> Supervisor::unload(const Json& args) {
  WB_TRY_ASSIGN(const auto handle, read_handle(args, "unload", false));
  const auto found = m_subjects.find(handle);
  // A subject that failed is already gone; the host need not track that.
  if (found == m_subjects.end()) return Json::object();
  // A CPU process ends in 1 or 2 ms. A GPU's driver takes long to end one, so that continues beside
  // the host's next request.
  if (!found->second.process.kill_by(deadline_in(milliseconds(10)))) {
    m_leaving.push_back(std::move(found->second));
  }
  m_subjects.erase(found);
  return Json::object();
}

Outcome<Json> Supervisor::status() const {
  protocol::StatusResult result;
  for (const auto& [handle, subject] : m_subjects) {
    const pid_t pid = subject.process.pid();
    result.subjects.push_back({handle, pid, subject.label, resident_bytes(pid)});
  }
  result.judge_pid = m_greeted->judge.pid();
  result.supervisor_rss_bytes = resident_bytes(::getpid());
  return to_json(result);
}

Outcome<Json> Supervisor::dispatch(const protocol::Request& request) {
  const auto with = [&request]<typename Args>(Args, const auto& body) -> Outcome<Json> {
    WB_TRY_ASSIGN(const auto args, read_args<Args>(request));
    return body(args);
  };
  switch (request.verb) {
    case Verb::hello:
      return with(protocol::HelloArgs{}, [this](const auto& args) { return hello(args); });
    case Verb::has:
      return with(protocol::HasArgs{}, [this](const auto& args) -> Outcome<Json> {
        protocol::HasResult result;
        for (const std::string& sha256 : args.sha256) {
          if (!m_store.has(sha256)) result.missing.push_back(sha256);
        }
        return to_json(result);
      });
    case Verb::put:
      return with(protocol::PutArgs{},
                  [this](const auto& args) { return as_json(as_outcome(m_store.put(args))); });
    case Verb::build:
      return with(protocol::BuildArgs{}, [this](const auto& args) { return build(args); });
    case Verb::load:
      return with(protocol::LoadArgs{}, [this](const auto& args) { return load(args); });
    case Verb::run:
      return with(protocol::RunArgs{}, [this](const auto& args) { return run(args); });
    case Verb::verdict:
      return with(protocol::VerdictArgs{}, [this](const auto& args) { return verdict(args); });
    case Verb::turn:
      return with(protocol::TurnArgs{}, [this](const auto& args) { return turn(args); });
    case Verb::first_calls:
      return with(protocol::FirstCallsArgs{},
                  [this](const auto& args) { return first_calls(args); });
    case Verb::profile:
      return with(protocol::ProfileArgs{}, [this](const auto& args) { return profile(args); });
    case Verb::unload:
      return unload(request.args);
    case Verb::canary: {
      WB_TRY_ASSIGN(const auto held, take_device());
      return to_json(run_canary());
    }
    case Verb::status:
      return status();
    case Verb::bye:
      return Json::object();
  }
  return environment("an unknown verb");
}

Outcome<Json> Supervisor::handle(const protocol::Request& request) {
  const bool before_hello = request.verb == Verb::hello || request.verb == Verb::bye;
  if (!m_greeted && !before_hello) {
    return environment(fmt::format("\"{}\" came before hello", to_string(request.verb)));
  }
  try {
    return dispatch(request);
  } catch (const std::exception& fault) {
    m_canary_due = m_greeted.has_value();
    const auto* of_system = dynamic_cast<const std::system_error*>(&fault);
    const bool refused =
        of_system != nullptr && of_system->code() == std::errc::resource_unavailable_try_again;
    return environment(fmt::format("the worker failed at \"{}\": {}{}", to_string(request.verb),
                                   printable(fault.what(), 400),
                                   refused ? fmt::format("; {}", k_more_processes) : ""));
  }
}

void Supervisor::idle() {
  if (m_greeted) m_greeted->factory.start_spares(m_subjects.size());
}

}  // namespace wb::worker
