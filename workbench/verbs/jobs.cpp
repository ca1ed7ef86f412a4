// SPDX-License-Identifier: MIT
#include "verbs/jobs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <limits>
#include <thread>

#include "core/json.hpp"
#include "engine/parts.hpp"
#include "engine/recorded.hpp"
#include "engine/recorded_calls.hpp"
#include "engine/services.hpp"
#include "session/log.hpp"
#include "session/storage.hpp"

namespace wb::verbs {

using engine::candidate_of;
using engine::Context;
using engine::member_of;
using engine::text_of;
using engine::with_blob;
using session::IterationView;
using session::Session;
using session::SessionView;
using session::VerbRecord;

namespace {

constexpr auto k_poll = std::chrono::milliseconds(50);
/// A stop closes the work in flight; a compiler or a turn may need its deadline to end.
constexpr auto k_cancel_patience = std::chrono::seconds(60);

fs::path log_of(const fs::path& folder) {
  return folder / session::k_log_name;
}

/// True when that process has the log open, unlike pids of other namespaces and reused pids.
bool has_open(long pid, const fs::path& path) {
  std::error_code error;
  const fs::path wanted = fs::canonical(path, error);
  if (error) return false;
  const fs::path folder = fmt::format("/proc/{}/fd", pid);
  for (fs::directory_iterator fd(folder, error), end; !error && fd != end; fd.increment(error)) {
    std::error_code unreadable;
    if (fs::read_symlink(fd->path(), unreadable) == wanted) return true;
  }
  return false;
}

/// The process that runs the session; nothing when it is this one, which only asks.
std::optional<long> runner_of(const fs::path& folder) {
  const auto pid = lock_holder(log_of(folder));
  return pid && *pid != ::getpid() ? pid : std::nullopt;
}

Result<std::int64_t> number_of_job(const std::string& id) {
  std::int64_t number = -1;
  const char* end = id.data() + id.size();
  if (id.size() > 1 && id.front() == 'i') {
    const auto [stop, fault] = std::from_chars(id.data() + 1, end, number);
    if (fault == std::errc() && stop == end && number >= 0) return number;
  }
  return Error{ErrorCode::usage, "look for the job", id, "it is not an iteration's id",
               "ids of jobs are those of iterations, such as i3"};
}

/// The known facts of one job: the iteration with that number, that of the call, or the latest.
struct JobFacts {
  std::string state;  ///< running, interrupted, idle or closed
  std::optional<long> pid;
  Json iteration = nullptr;
  Json call = nullptr;  ///< the requested one
  bool is_done = false;
};

/// The latest call with that request_id, answered ones first; nullptr: none.
const VerbRecord* find_call(const SessionView& view, const std::string& request) {
  const VerbRecord* last = nullptr;
  for (const VerbRecord& record : view.verbs) {
    if (record.request_id != request) continue;
    if (last == nullptr || record.answer || !last->answer) last = &record;
  }
  return last;
}

/// That call as {verb, args, n} with its result or error once answered; null: no such call yet.
/// Errors: not_found (no such call, and nothing runs that could make it).
Result<Json> call_of(const Session& session, const VerbRecord* call, const std::string& request,
                     bool runs) {
  if (call == nullptr && runs) return Json(nullptr);
  if (call == nullptr) {
    return Error{ErrorCode::not_found, "look for the call with the request_id", printable(request),
                 "the session's log has none, and nothing runs that could make it",
                 "make the call; it never began"};
  }
  WB_TRY_ASSIGN(const session::Event called, session.log().event(call->called_seq));
  WB_TRY_ASSIGN(const Json whole, with_blob(session, called.payload, "args"));
  Json told{{"verb", call->verb}, {"args", member_of(whole, "args")}, {"n", call->n}};
  if (!call->answer) return told;
  WB_TRY_ASSIGN(const Json answer, with_blob(session, *call->answer, "result"));
  for (const char* key : {"result", "error"}) {
    if (answer.contains(key)) told[key] = answer[key];
  }
  return told;
}

/// The last iteration opened after that call and before the next one, since calls of a session do
/// not overlap. nullptr: none yet.
const IterationView* iteration_of(const SessionView& view, const VerbRecord* call) {
  if (call == nullptr) return nullptr;
  auto next = std::numeric_limits<std::int64_t>::max();
  for (const VerbRecord& other : view.verbs) {
    if (other.called_seq > call->called_seq) next = std::min(next, other.called_seq);
  }
  const IterationView* found = nullptr;
  for (const IterationView& iteration : view.iterations) {
    const std::int64_t opened = iteration.opened.seq;
    if (opened > call->called_seq && opened < next) found = &iteration;
  }
  return found;
}

Json iteration_json(const IterationView& iteration) {
  const Json& closed = iteration.closed ? iteration.closed->payload : Json();
  return {{"iteration", iteration.number},
          {"variant", candidate_of(iteration)},
          {"since", iteration.opened.t},
          {"outcome", iteration.closed ? Json(text_of(closed, "outcome")) : Json(nullptr)},
          {"invalidity", member_of(closed, "invalidity")},
          {"speedup", member_of(closed, "speedup")},
          {"message", printable(text_of(closed, "message"), 400)}};
}

Result<JobFacts> look(Context& context, const fs::path& folder,
                      const std::optional<std::int64_t>& wanted, const std::string& request) {
  JobFacts facts;
  // Check the lock first: a process that ends between the two checks has written everything.
  facts.pid = runner_of(folder);
  WB_TRY_ASSIGN(const Session* session,
                recent_of(context).read(services_of(context).file_system, folder));
  WB_TRY_ASSIGN(const SessionView* current, session->current(session::FoldDepth::full));
  const SessionView& view = *current;
  const VerbRecord* call = find_call(view, request);
  const IterationView* iteration = nullptr;
  if (wanted) {
    iteration = view.find(*wanted);
    if (iteration == nullptr && !facts.pid) {
      return Error{ErrorCode::not_found, "look for the job", fmt::format("i{}", *wanted),
                   "there is no such iteration, and nothing runs that could open it",
                   "`sdpa-wb status` tells where the session stands"};
    }
  } else if (!request.empty()) {
    iteration = iteration_of(view, call);
  } else if (!view.iterations.empty()) {
    iteration = &view.iterations.back();
  }
  if (iteration != nullptr) facts.iteration = iteration_json(*iteration);
  facts.state = view.status == session::SessionStatus::closed ? "closed"
                : facts.pid                                   ? "running"
                : view.in_flight() != nullptr                 ? "interrupted"
                                                              : "idle";
  const bool is_closed = iteration != nullptr && iteration->is_closed();
  facts.is_done = wanted ? is_closed || !facts.pid : !facts.pid;
  if (!request.empty()) {
    WB_TRY_ASSIGN(facts.call, call_of(*session, call, request, facts.pid.has_value()));
    facts.is_done = facts.call.contains("result") || facts.call.contains("error") || !facts.pid;
  }
  return facts;
}

std::string text_of_job(const std::string& name, const JobFacts& facts) {
  std::string text = fmt::format("{}: {}", name, facts.state);
  if (facts.pid) text += fmt::format(", process {}", *facts.pid);
  if (!facts.iteration.is_null()) {
    const Json& outcome = facts.iteration["outcome"];
    text += fmt::format("; iteration {} of {}: {}", facts.iteration["iteration"].dump(),
                        facts.iteration["variant"].get<std::string>(),
                        outcome.is_null() ? "in flight" : outcome.get<std::string>());
    const std::string message = facts.iteration["message"].get<std::string>();
    if (!message.empty()) text += ", " + message;
  }
  if (facts.state == "interrupted") text += "; go on with `sdpa-wb resume`";
  return text + "\n";
}

}  // namespace

Result<Json> wait_for_job(Context& context, const Json& args, const fs::path& folder) {
  std::optional<std::int64_t> wanted;
  if (args.contains("job")) {
    WB_TRY_ASSIGN(wanted, number_of_job(args["job"].get<std::string>()));
  }
  const std::string request = args.value("request_id", "");
  const Clock& clock = services_of(context).clock;
  const auto patience = std::chrono::duration<double>(args.value("wait_s", 0.0));
  const auto begin = clock.steady_now();
  std::error_code ignored;
  WB_TRY_ASSIGN(JobFacts facts, look(context, folder, wanted, request));
  auto seen = fs::file_size(log_of(folder), ignored);
  while (!facts.is_done && clock.steady_now() - begin < patience) {
    WB_TRY(check_stop(context));
    std::this_thread::sleep_for(k_poll);
    // A long log is read again only when it grew or its writer ended.
    const auto size = fs::file_size(log_of(folder), ignored);
    if (size == seen && runner_of(folder)) continue;
    seen = size;
    WB_TRY_ASSIGN(facts, look(context, folder, wanted, request));
  }
  const std::string name = session::session_name(folder);
  return Json{
      {"session", folder.string()},
      {"job", facts.iteration.is_null()
                  ? Json(nullptr)
                  : Json(fmt::format("i{}", facts.iteration["iteration"].get<std::int64_t>()))},
      {"state", facts.state},
      {"done", facts.is_done},
      {"pid", facts.pid ? Json(*facts.pid) : Json(nullptr)},
      {"iteration", facts.iteration},
      {"call", facts.call},
      {"text", text_of_job(name, facts)}};
}

Result<Json> cancel_job_of(const Context& context, const fs::path& folder) {
  WB_TRY(Session::open_reader(services_of(context).file_system, folder));
  const auto pid = runner_of(folder);
  const auto answer = [&](bool ended, const std::string& text) {
    return Json{{"pid", pid ? Json(*pid) : Json(nullptr)}, {"ended", ended}, {"text", text + "\n"}};
  };
  if (!pid) return answer(true, "nothing runs in this session");
  const auto cannot = [&](const std::string& cause) {
    return Error{ErrorCode::invalid, "stop the job of", folder.string(), cause,
                 fmt::format("stop process {} where it runs, as its user", *pid)};
  };
  if (!has_open(*pid, log_of(folder))) {
    return cannot(fmt::format("process {} of this machine does not hold it", *pid));
  }
  if (::kill(static_cast<pid_t>(*pid), SIGTERM) != 0 && errno != ESRCH) {
    return cannot(fmt::format("process {}: {}", *pid, std::strerror(errno)));
  }
  const Clock& clock = services_of(context).clock;
  const auto begin = clock.steady_now();
  while (runner_of(folder) == pid && clock.steady_now() - begin < k_cancel_patience) {
    WB_TRY(check_stop(context));
    std::this_thread::sleep_for(k_poll);
  }
  const bool ended = runner_of(folder) != pid;
  return answer(ended, ended ? fmt::format("process {} stopped; `sdpa-wb resume` goes on", *pid)
                             : fmt::format("process {} was asked and still runs", *pid));
}

}  // namespace wb::verbs
