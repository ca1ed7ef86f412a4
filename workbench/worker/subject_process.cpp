// SPDX-License-Identifier: MIT
#include "worker/subject_process.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <string_view>
#include <utility>

#include "core/json.hpp"
#include "worker/cpu_time.hpp"
#include "worker/failure.hpp"
#include "worker/memory.hpp"
#include "worker/roles.hpp"
#include "worker/seccomp.hpp"

namespace wb::worker {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds k_end_patience{500};
constexpr milliseconds k_stop_patience{2'000};
constexpr milliseconds k_stop_look{20};  ///< in case a signal is lost
constexpr std::size_t k_said_bytes = 4u << 10;
constexpr milliseconds k_destroy_patience{5'000};

/// True for ends caused by outsiders: an administrator, a system shutdown.
bool is_from_outside(const ChildEnd& end) {
  static constexpr int k_signals[] = {SIGKILL, SIGTERM, SIGHUP, SIGINT};
  return std::find(std::begin(k_signals), std::end(k_signals), end.signal) != std::end(k_signals);
}

/// The second number of a schedstat file: nanoseconds spent waiting for a CPU.
std::int64_t run_delay_of(const fs::path& schedstat) {
  const auto text = RealFileSystem().read(schedstat, 256);
  if (!text.ok()) return 0;
  const std::size_t space = text->find(' ');
  if (space == std::string::npos) return 0;
  std::int64_t delay_ns = 0;
  std::from_chars(text->data() + space + 1, text->data() + text->size(), delay_ns);
  return delay_ns;
}

/// The first number of a schedstat file: nanoseconds on a CPU.
std::optional<std::chrono::nanoseconds> run_time_of(const fs::path& schedstat) {
  const auto text = RealFileSystem().read(schedstat, 256);
  if (!text.ok()) return std::nullopt;
  std::int64_t time_ns = 0;
  const auto read = std::from_chars(text->data(), text->data() + text->size(), time_ns);
  if (read.ec != std::errc() || time_ns == 0) return std::nullopt;
  return std::chrono::nanoseconds(time_ns);
}

/// How often another thread took the CPU from this one while it was runnable.
long own_preemptions() {
  rusage usage{};
  return ::getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : -1;
}

/// For one sleep of this thread, until a subject stops or a deadline.
class OwnWait {
 public:
  explicit OwnWait(Deadline until)
      : m_until(until), m_preemptions(own_preemptions()), m_delay_ns(own_delay_ns()) {}
  /// The time at which the stop woke this thread, if certain, else `now`. Waiting for a CPU after
  /// the wake-up was after the stop; waiting before the sleep was not, since the subject may have
  /// had the CPU.
  [[nodiscard]] Deadline woken_before(Deadline now) const {
    const std::chrono::nanoseconds delay(std::max<std::int64_t>(own_delay_ns() - m_delay_ns, 0));
    const bool was_preempted = m_preemptions < 0 || own_preemptions() != m_preemptions;
    const bool came_by_time = now - delay >= m_until;
    return was_preempted || came_by_time ? now : now - delay;
  }

 private:
  Deadline m_until;
  long m_preemptions;
  std::int64_t m_delay_ns;
};

}  // namespace

Result<SubjectProcess> SubjectProcess::start(ChildRegistry& registry, const ChildSpec& spec,
                                             SubjectKind kind) {
  const std::int64_t kills_before = memory_kills();
  WB_TRY_ASSIGN(Child child, Child::spawn(registry, spec));
  return SubjectProcess(std::move(child), kind, kills_before);
}

Outcome<std::shared_ptr<const SharedMemory>> SubjectProcess::shown_memory(std::size_t size_bytes) {
  if (m_shown && m_shown->bytes().size() == size_bytes) return m_shown;
  m_shown.reset();  // frees the old memory before the new is made
  Result<SharedMemory> memory = SharedMemory::create("shown", size_bytes);
  if (!memory.ok()) return environment(memory.error().message());
  auto shown = std::make_shared<const SharedMemory>(*std::move(memory));
  if (size_bytes <= k_kept_shown_bytes) m_shown = shown;
  return shown;
}

Placing SubjectProcess::next_placing() {
  m_placing = m_placing == Placing::scattered ? Placing::flush_end : Placing::scattered;
  return m_placing;
}

Outcome<Standstill> SubjectProcess::stand_still() {
  static const bool k_filters = has_seccomp();
  const ProcessScope scope = m_kind == SubjectKind::native && k_filters ? ProcessScope::threads_only
                                                                        : ProcessScope::processes;
  auto still = Standstill::of(m_child.pid(), m_child.registry(), scope, k_stop_patience);
  if (still.ok()) return *std::move(still);
  return fail(Invalidity::runtime, fmt::format("its output cannot be read after \"{}\": {}", m_op,
                                               still.error().message()));
}

Failure SubjectProcess::fail(Invalidity invalidity, std::string message) {
  std::string output = m_child.captured();
  m_child.kill();
  // A variant whose threads are refused may fail in any way.
  if (invalidity == Invalidity::runtime) {
    if (const auto refused = refused_threads()) {
      return Failure{Invalidity::environment, fmt::format("{}; {}", message, *refused),
                     std::move(output)};
    }
  }
  return Failure{invalidity, std::move(message), std::move(output)};
}

Failure SubjectProcess::explain(ChannelFault fault) {
  switch (fault) {
    case ChannelFault::timeout:
      return fail(
          Invalidity::timeout,
          fmt::format("the subject did not answer \"{}\" before the deadline and was killed",
                      m_op));
    case ChannelFault::canceled:
      return fail(Invalidity::environment, "canceled: the wire was closed");
    case ChannelFault::garbage:
      return fail(Invalidity::runtime,
                  fmt::format("the subject answered \"{}\" with garbage on its private socket; "
                              "variants must leave descriptors alone",
                              m_op));
    case ChannelFault::closed:
      break;
  }
  const auto end = m_child.wait(deadline_in(k_end_patience));
  if (!end) {
    return fail(Invalidity::runtime,
                fmt::format("the subject closed its socket during \"{}\" but went on running; "
                            "variants must leave descriptors alone",
                            m_op));
  }
  const std::string how = fmt::format("the subject {} during \"{}\"", describe(*end), m_op);
  const OomCause for_memory = oom_cause(*end, m_memory_kills);
  if (for_memory == OomCause::of_others) {
    return fail(Invalidity::environment,
                fmt::format("{}; the kernel ended it as memory had run out, of which it held {} of "
                            "{} MiB",
                            how, end->max_rss_bytes >> 20, memory_bound() >> 20));
  }
  // Before its first call a variant could not cause this end, and compiled ones cannot send
  // themselves these signals.
  if (for_memory == OomCause::none && m_op == "load" && is_from_outside(*end)) {
    return fail(Invalidity::environment, how + "; it was ended from outside");
  }
  return fail(Invalidity::runtime, how);
}

Outcome<Json> SubjectProcess::accept(const Message& message) {
  const Json& body = message.body;
  ObjectReader reader(body, "an answer");
  const std::int64_t number = reader.integer("n", 0, std::int64_t{1} << 53);
  const bool ok = reader.boolean_or("ok", false);
  if (!reader.finish(true).ok() || !message.fds.empty()) return explain(ChannelFault::garbage);
  if (number != m_number) {
    return fail(Invalidity::runtime,
                fmt::format("the subject answered message {} when message {} (\"{}\") was asked: "
                            "an answer was forged or doubled",
                            number, m_number, m_op));
  }
  if (ok) return body;
  const std::string said =
      printable(reader.string_or("message", "it gave no reason"), k_said_bytes);
  const bool constraints = reader.string_or("invalidity", "") == to_string(Invalidity::constraints);
  if (constraints) return Failure{Invalidity::constraints, said, m_child.captured()};
  std::string details = reader.string_or("untrusted_output", "");
  Failure failure = fail(Invalidity::runtime, said);
  if (!details.empty()) failure.untrusted_output = details + "\n" + failure.untrusted_output;
  return failure;
}

Outcome<Json> SubjectProcess::ask(Json message, std::span<const int> fds, const Wait& wait) {
  WB_TRY(tell(std::move(message), fds));
  return more(wait);
}

Outcome<void> SubjectProcess::tell(Json message, std::span<const int> fds) {
  m_op = message.value("op", std::string());
  if (!alive()) {
    return Failure{Invalidity::runtime, fmt::format("the subject ended before \"{}\"", m_op), {}};
  }
  message["n"] = ++m_number;
  if (const auto sent = m_child.channel().send(message, fds); !sent.ok()) {
    return explain(sent.error());
  }
  return {};
}

Outcome<Deadline> SubjectProcess::ask_to_stop(Json message, const Wait& wait) {
  const int events = child_events_fd();
  message["stop"] = true;
  WB_TRY(tell(std::move(message), {}));
  Deadline stopped_by = wait.deadline;
  OwnWait own(std::chrono::steady_clock::now());
  while (true) {
    const bool woken_by_stop = drain_child_events(pid());
    const Deadline now = std::chrono::steady_clock::now();
    if (is_stopped_child(pid())) return woken_by_stop ? own.woken_before(now) : now;
    if (is_ended_child(pid())) return explain(ChannelFault::closed);
    if (now >= wait.deadline) return explain(ChannelFault::timeout);
    if (m_held && now >= stopped_by) {
      return fail(Invalidity::runtime,
                  fmt::format("the subject did not stand still behind its answer to \"{}\"; "
                              "variants must leave signals and timers alone",
                              m_op));
    }
    if (!m_held && m_child.channel().has_pending()) {
      auto early = m_child.channel().receive(wait.deadline, wait.cancel);
      if (!early.ok()) return explain(early.error());
      m_held.emplace(*std::move(early));
      stopped_by = now + k_stop_patience;
    }
    // Its answer alone does not wake us, since it is no end; waiting for a CPU since then would
    // count as its time.
    const Deadline look_at = std::min(wait.deadline, now + k_stop_look);
    own = OwnWait(look_at);
    const auto waited = m_child.channel().wait_beside(events, look_at, wait.cancel);
    if (!waited.ok()) return explain(waited.error());
  }
}

void SubjectProcess::go_on() const {
  if (!alive()) return;
  ::kill(-pid(), SIGCONT);
  ::kill(pid(), SIGCONT);
}

Outcome<Json> SubjectProcess::more(const Wait& wait) {
  if (m_held) return accept(*std::exchange(m_held, std::nullopt));
  Deadline deadline = wait.deadline;
  while (true) {
    const auto answer = m_child.channel().receive(deadline, wait.cancel);
    if (!answer.ok()) {
      const bool hangs = answer.error() == ChannelFault::timeout && deadline < wait.deadline;
      if (hangs) m_op = "wb_sdpa_plan_destroy";  // for the message
      return explain(answer.error());
    }
    // Destroying a plan has a limit of seconds, so that a hang does not hold the device for
    // minutes.
    const auto leaving = answer->body.find(k_leaving);
    if (leaving == answer->body.end() || !leaving->is_boolean()) return accept(*answer);
    deadline = leaving->get<bool>() ? std::min(wait.deadline, deadline_in(k_destroy_patience))
                                    : wait.deadline;
  }
}

Outcome<void> SubjectProcess::expect_silence() {
  if (!m_child.channel().has_pending()) return {};
  return fail(
      Invalidity::runtime,
      fmt::format("the subject sent more than one answer to \"{}\": an answer was forged", m_op));
}

std::int64_t own_delay_ns() {
  return run_delay_of("/proc/self/schedstat");
}

std::chrono::nanoseconds SubjectProcess::helpers_time() const {
  std::chrono::nanoseconds sum{0};
  for (const pid_t one : processes_of(pid(), m_child.registry())) {
    if (one != pid()) sum += cpu_time(one).value_or(std::chrono::nanoseconds(0));
  }
  return sum + children_time(pid());
}

std::optional<std::chrono::nanoseconds> SubjectProcess::main_thread_time() const {
  return run_time_of(fmt::format("/proc/{}/schedstat", m_child.pid()));
}

std::int64_t SubjectProcess::main_thread_delay_ns() const {
  return run_delay_of(fmt::format("/proc/{}/schedstat", m_child.pid()));
}

std::int64_t SubjectProcess::all_threads_delay_ns() const {
  const std::string folder = fmt::format("/proc/{}/task", m_child.pid());
  DIR* tasks = ::opendir(folder.c_str());
  if (tasks == nullptr) return 0;
  std::int64_t delay_ns = 0;
  while (const dirent* entry = ::readdir(tasks)) {
    if (entry->d_name[0] == '.') continue;
    delay_ns += run_delay_of(fmt::format("{}/{}/schedstat", folder, entry->d_name));
  }
  ::closedir(tasks);
  return delay_ns;
}

}  // namespace wb::worker
