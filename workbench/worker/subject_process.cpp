// SPDX-License-Identifier: MIT
#include "worker/subject_process.hpp"

#include <dirent.h>
#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "worker/failure.hpp"

namespace wb::worker {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds k_end_patience{500};

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

}  // namespace

Result<SubjectProcess> SubjectProcess::start(Family& family, const ChildSpec& spec,
                                             SubjectKind kind) {
  WB_TRY_ASSIGN(Child child, Child::spawn(family, spec));
  return SubjectProcess(std::move(child), kind);
}

Outcome<std::shared_ptr<const SharedMemory>> SubjectProcess::shown_memory(std::size_t size_bytes) {
  if (m_shown && m_shown->bytes().size() == size_bytes) return m_shown;
  m_shown.reset();  // not the old one beside the new
  Result<SharedMemory> memory = SharedMemory::create("shown", size_bytes);
  if (!memory.ok()) return environment(memory.error().message());
  auto shown = std::make_shared<const SharedMemory>(*std::move(memory));
  if (size_bytes <= k_kept_shown_bytes) m_shown = shown;
  return shown;
}

Failure SubjectProcess::fail(Invalidity invalidity, std::string message) {
  std::string output = m_child.captured();
  m_child.kill();
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
  return fail(Invalidity::runtime,
              fmt::format("the subject {} during \"{}\"", describe(*end), m_op));
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
  const std::string said = reader.string_or("message", "it gave no reason");
  const bool constraints = reader.string_or("invalidity", "") == to_string(Invalidity::constraints);
  if (constraints) return Failure{Invalidity::constraints, said, m_child.captured()};
  std::string details = reader.string_or("untrusted_output", "");
  Failure failure = fail(Invalidity::runtime, said);
  if (!details.empty()) failure.untrusted_output = details + "\n" + failure.untrusted_output;
  return failure;
}

Outcome<Json> SubjectProcess::ask(Json message, std::span<const int> fds, const Wait& wait) {
  if (auto told = tell(std::move(message), fds); !told.ok()) return std::move(told).error();
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

Outcome<Json> SubjectProcess::more(const Wait& wait) {
  const auto answer = m_child.channel().receive(wait.deadline, wait.cancel);
  if (!answer.ok()) return explain(answer.error());
  return accept(*answer);
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
