// SPDX-License-Identifier: MIT
// The command sdpa-wb: reads the command line, calls one verb, prints its result. Signals stop the
// session in order: what is in flight is closed as abandoned, the lock is released.
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include "cli/command_line.hpp"
#include "cli/detach.hpp"
#include "cli/exit_code.hpp"
#include "cli/mcp.hpp"
#include "cli/output.hpp"
#include "cli/progress_line.hpp"
#include "cli/services.hpp"
#include "engine/verb.hpp"
#include "playbook/playbook.hpp"

namespace {

/// How long running requests get after a stop before the children that hold them up are ended.
constexpr auto k_stop_grace = std::chrono::seconds(3);
/// How long --detach waits for the job to open an iteration; a playbook may think first.
constexpr auto k_job_patience = std::chrono::seconds(5);

/// Ends our direct children (worker, playbook host, compilers of builder threads): their closing
/// wires wake whoever waits for them.
void end_children() {
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream children(task.path() / "children");
    for (pid_t pid = 0; children >> pid;) kill(pid, SIGTERM);
  }
}

/// Waits for SIGTERM, SIGHUP and SIGINT on a thread of its own. The signals must be blocked.
void watch_signals(const sigset_t signals, std::atomic<bool>& stop) {
  int number = 0;
  if (sigwait(&signals, &number) != 0) return;
  stop = true;
  std::this_thread::sleep_for(k_stop_grace);
  end_children();
}

int print_error(const wb::Error& error, bool json) {
  if (json) {
    const wb::Json object{
        {"error", {{"code", to_string(error.code)}, {"message", error.message()}}}};
    std::puts(wb::cli::json_text(object).c_str());
  }
  std::fputs(("sdpa-wb: " + error.message() + "\n").c_str(), stderr);
  return static_cast<int>(wb::cli::exit_code_of(error.code));
}

int run(const wb::cli::Command& command, const std::atomic<bool>& stop) {
  const bool terminal = isatty(STDERR_FILENO) == 1;
  wb::cli::ProgressLine line(terminal);
  wb::engine::ProgressSink sink;
  if (!command.options.quiet) {
    sink = [&](const wb::engine::Progress& progress) { line.show(progress); };
  }
  wb::RealFileSystem file_system;
  const wb::RealClock clock;
  wb::engine::Engine engine(wb::cli::make_services(command.options, wb::cli::Environment::read(),
                                                   file_system, clock, sink, &stop));
  wb::playbook::register_playbook_verbs(engine, {wb::cli::executable_folder() / "sdpa-wb", {}});
  std::optional<std::string> request_id;
  if (!command.options.request_id.empty()) request_id = command.options.request_id;
  const auto result = engine.call(command.verb, command.args, command.options.session, request_id);
  line.finish();
  if (!result) {
    if (result.error().code == wb::ErrorCode::canceled) {
      if (const auto paused = engine.pause("stopped by a signal"); !paused) {
        std::fputs(("sdpa-wb: " + paused.error().message() + "\n").c_str(), stderr);
      }
    }
    return print_error(result.error(), command.options.json);
  }
  const std::string text = command.options.json ? wb::cli::json_text(*result) + "\n"
                                                : wb::cli::render_result(command.verb, *result);
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    std::fputs("sdpa-wb: cannot write the result to standard output; the verb itself is done\n",
               stderr);
    return static_cast<int>(wb::cli::ExitCode::io);
  }
  return static_cast<int>(wb::cli::exit_code_of(command.verb, *result));
}

/// Starts the job, then says which iteration it works on, as soon as there is one.
int run_detached(const wb::cli::Command& command, const std::vector<std::string>& words) {
  wb::RealFileSystem file_system;
  const auto job = wb::cli::start_detached(wb::cli::executable_folder() / "sdpa-wb", command, words,
                                           file_system);
  if (!job) return print_error(job.error(), command.options.json);
  if (!job->holds) {
    // A message, or with --json an object, of the child's own.
    std::fputs(job->output.c_str(), command.options.json ? stdout : stderr);
    return job->exit_code;
  }
  const wb::RealClock clock;
  wb::engine::Engine engine(wb::cli::make_services(command.options, wb::cli::Environment::read(),
                                                   file_system, clock, {}, nullptr));
  const auto begin = clock.steady_now();
  wb::Result<wb::Json> answer = wb::Json();
  do {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    answer = engine.call("get_job", wb::Json::object(), job->session);
    if (!answer) return print_error(answer.error(), command.options.json);
    const wb::Json& iteration = (*answer)["iteration"];
    const bool in_flight = iteration.is_object() && iteration["outcome"].is_null();
    if (in_flight || (*answer)["done"] == true) break;
  } while (clock.steady_now() - begin < k_job_patience);
  (*answer)["output"] = job->output_file.string();
  const std::string text = command.options.json ? wb::cli::json_text(*answer) + "\n"
                                                : (*answer)["text"].get<std::string>();
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == "playbook-host") return wb::playbook::playbook_host_main();
  if (!words.empty() && words[0] == "mcp") {
    return wb::cli::mcp_main({words.begin() + 1, words.end()}, wb::cli::Environment::read());
  }
  if (!words.empty() && words[0] == "command-reference") {
    std::fputs(wb::cli::command_reference().c_str(), stdout);
    return 0;
  }
  if (!words.empty() && words[0] == "verb-table") {
    std::puts(wb::cli::json_text(wb::engine::verb_table_json(), 1).c_str());
    return 0;
  }
  const wb::RealFileSystem file_system;
  const auto parsed = wb::cli::parse_command_line(words, file_system);
  if (const auto* text = std::get_if<wb::cli::PrintAndExit>(&parsed)) {
    std::fputs(text->out.c_str(), stdout);
    std::fputs(text->err.c_str(), stderr);
    return text->exit_code;
  }
  if (const auto& command = std::get<wb::cli::Command>(parsed); command.options.detach) {
    return run_detached(command, words);
  }
  signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGHUP, SIGINT}) sigaddset(&signals, number);
  // Blocked before any thread or child starts; children get an empty mask from the spawner.
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::atomic<bool> stop{false};
  try {
    std::thread([signals, &stop] { watch_signals(signals, stop); }).detach();
    return run(std::get<wb::cli::Command>(parsed), stop);
  } catch (const std::system_error& error) {
    std::fputs(fmt::format("sdpa-wb: cannot start a thread: {}; end other processes or raise the "
                           "process limit\n",
                           error.what())
                   .c_str(),
               stderr);
    return static_cast<int>(wb::cli::ExitCode::environment);
  } catch (const std::exception& error) {
    std::fputs(fmt::format("sdpa-wb: internal fault: {}\n", error.what()).c_str(), stderr);
    return static_cast<int>(wb::cli::ExitCode::internal);
  }
}
