// SPDX-License-Identifier: MIT
#include "cli/detach.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "session/log.hpp"
#include "session/session.hpp"
#include "session/storage.hpp"
#include "verbs/table.hpp"

namespace wb::cli {
namespace {

constexpr auto k_poll = std::chrono::milliseconds(10);
constexpr std::uint64_t k_output_max_bytes = 1u << 20;
constexpr int k_most_closed = 4'096;  // where the system cannot close all at once

Error io_error(const std::string& what, const fs::path& path) {
  return Error{ErrorCode::io, what, path.string(), std::strerror(errno), ""};
}

/// In the child after fork: never returns, and makes only async-signal-safe calls.
[[noreturn]] void become(const char* program, char* const* argv, int output) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // `cancel job` uses this signal, whatever its starter did about it.
  signal(SIGTERM, SIG_DFL);
  setsid();
  const int nothing = open("/dev/null", O_RDONLY);
  const bool ready = nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 &&
                     dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0;
  // Closes inherited descriptors, so that nobody waits for a pipe or lock of the starter.
  if (syscall(SYS_close_range, 3U, UINT_MAX, 0) != 0) {
    for (int fd = 3; fd < k_most_closed; ++fd) close(fd);
  }
  if (ready) execv(program, argv);
  _exit(127);
}

/// Exit code once the child ended; 128 + signal, as in shells.
std::optional<int> ended(pid_t pid) {
  int status = 0;
  const pid_t got = waitpid(pid, &status, WNOHANG);
  if (got != pid) return std::nullopt;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// True when a session has its second event; before that its creation may still be undone.
bool is_begun(const fs::path& log) {
  std::ifstream file(log);
  std::string line;
  return std::getline(file, line) && std::getline(file, line) && !file.eof();
}

/// Moves the job's output into its session, once that exists.
Result<void> move_output(Detached& job, const fs::path& from, FileSystem& file_system) {
  const fs::path folder = job.session / "jobs";
  WB_TRY(file_system.make_directories(folder));
  job.output_file = folder / fmt::format("{}.log", job.pid);
  std::error_code error;
  fs::rename(from, job.output_file, error);
  if (!error) return {};
  errno = error.value();
  return io_error("move the job's output to", job.output_file);
}

}  // namespace

bool is_detachable(const verbs::VerbSpec& verb) {
  const bool drives = verb.name == "run" || verb.name == "resume";
  const bool holds =
      verb.session == verbs::SessionNeed::writes || verb.session == verbs::SessionNeed::creates;
  return verb.is_long && (drives || holds);
}

Result<Detached> start_detached(const fs::path& program, const Command& command,
                                std::vector<std::string> words, FileSystem& file_system) {
  const verbs::VerbSpec& verb = verbs::find_verb(command.verb)->spec;
  if (!is_detachable(verb)) {
    return Error{ErrorCode::usage, "detach", std::string(verb.name),
                 "it is no long work in a session of its own",
                 "iterate, tune, race, open, run and resume can be detached"};
  }
  Detached job;
  job.session = command.options.session;
  std::erase(words, "--detach");
  if (job.session.empty()) {
    job.session = session::next_session_folder(command.options.sessions_root);
    words.insert(words.end(), {"--session", job.session.string()});
  }
  // Beside the session, or in the nearest existing folder, so that a refused job makes no folder.
  fs::path parent = session::whole_path(job.session).parent_path();
  std::error_code error;
  while (!fs::exists(parent, error) && parent.has_relative_path()) parent = parent.parent_path();
  std::string file = (parent / ".sdpa-wb.job-XXXXXX").string();
  const int output = mkostemp(file.data(), O_CLOEXEC | O_APPEND);
  if (output < 0) return io_error("keep the job's output in", parent);
  std::string name = "sdpa-wb";
  std::vector<char*> argv{name.data()};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) become(program.c_str(), argv.data(), output);
  const int fork_errno = errno;
  close(output);
  if (pid < 0) {
    fs::remove(file);
    errno = fork_errno;
    return io_error("start the job in", job.session);
  }
  job.pid = pid;
  std::optional<int> exit_code;
  while (!job.holds && !exit_code) {
    std::this_thread::sleep_for(k_poll);
    exit_code = ended(pid);
    const fs::path log = job.session / session::k_log_name;
    job.holds = (lock_holder(log) == job.pid && is_begun(log)) || exit_code == 0;
  }
  if (job.holds) {
    WB_TRY(move_output(job, file, file_system));
    return job;
  }
  job.exit_code = *exit_code;
  WB_TRY_ASSIGN(job.output, file_system.read(file, k_output_max_bytes));
  fs::remove(file);
  return job;
}

}  // namespace wb::cli
