// SPDX-License-Identifier: MIT
// The command sdpa-wb: parses the command line, calls one verb, prints its result. Signals stop the
// session in order: work in flight is closed as abandoned, and the lock is released.
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include "cli/command_line.hpp"
#include "cli/detach.hpp"
#include "cli/mcp.hpp"
#include "cli/printing.hpp"
#include "cli/services.hpp"
#include "core/inherited.hpp"
#include "core/json.hpp"
#include "core/process.hpp"
#include "core/writing.hpp"
#include "engine/engine.hpp"
#include "playbook/playbook.hpp"
#include "verbs/answer_forms.hpp"
#include "verbs/table.hpp"

namespace {

using wb::cli::print;
using wb::cli::say;

/// How long running requests may take after a stop, before the children that block them are ended.
constexpr auto k_stop_grace = std::chrono::seconds(3);
/// How long --detach waits for the job to open an iteration, since a playbook may compute first.
constexpr auto k_job_patience = std::chrono::seconds(5);

/// Ends our direct children (worker, playbook host, compilers of build threads), whose closing
/// wires wake the waiting threads.
void end_children() {
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream children(task.path() / "children");
    for (pid_t pid = 0; children >> pid;) kill(pid, SIGTERM);
  }
}

/// State shared by the main thread and the one that waits for signals.
struct Stopping {
  std::atomic<bool> is_requested{false};
  std::atomic<bool> is_printing{false};  ///< the verb is done
};

/// Waits for those signals, which must be blocked, on its own thread. While an unread answer is
/// being printed, a signal ends the process as it would by default.
void watch_signals(const sigset_t signals, Stopping& stopping) {
  int number = 0;
  while (sigwait(&signals, &number) == 0) {
    const bool was_printing = stopping.is_printing;
    stopping.is_requested = true;
    std::this_thread::sleep_for(k_stop_grace);
    if (was_printing && stopping.is_printing) {
      pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
      raise(number);
    }
    end_children();
  }
}

int print_error(const wb::Error& error, bool json) {
  const int code = static_cast<int>(wb::verbs::exit_code_of(error.code));
  say("sdpa-wb: " + error.message() + "\n");
  if (!json) return code;
  const wb::Json object{{"error", {{"code", to_string(error.code)}, {"message", error.message()}}}};
  return print(wb::verbs::json_text(object) + "\n", code);
}

/// True when the verb has written its output to standard output, as `report --output -` does, so
/// that its answer must go elsewhere.
bool has_written_to_standard_output(const wb::cli::Command& command, const wb::Json& result) {
  const auto output = command.args.find("output");
  const auto file = result.find("file");
  return output != command.args.end() && file != result.end() && file->is_string() &&
         wb::is_standard_output(output->get<std::string>());
}

/// Prints the verb's result and returns the exit code.
int print_answer(const wb::cli::Command& command, const wb::Result<wb::Json>& result) {
  if (!result) return print_error(result.error(), command.options.json);
  const wb::verbs::Verb& verb = *wb::verbs::find_verb(command.verb);
  const std::string text = command.options.json ? wb::verbs::json_text(*result) + "\n"
                                                : wb::verbs::text_of_answer(verb, *result);
  const int code = static_cast<int>(wb::verbs::exit_code_of(verb, *result));
  if (!has_written_to_standard_output(command, *result)) {
    return print(text, code, "the verb itself is done");
  }
  say(text);
  return code;
}

int run(const wb::cli::Command& command, Stopping& stopping) {
  const bool terminal = isatty(STDERR_FILENO) == 1;
  wb::cli::ProgressLine line(terminal);
  wb::engine::ProgressSink sink;
  if (!command.options.quiet) {
    sink = [&](const wb::engine::Progress& progress) { line.show(progress); };
  }
  wb::RealFileSystem file_system;
  const wb::RealClock clock;
  wb::engine::Engine engine(
      wb::cli::make_services(command.options, wb::cli::Environment::read(), file_system, clock,
                             sink, &stopping.is_requested),
      wb::verbs::runnable());
  wb::playbook::register_playbook_verbs(engine, {wb::cli::executable_folder() / "sdpa-wb", {}});
  std::optional<std::string> request_id;
  if (!command.options.request_id.empty()) request_id = command.options.request_id;
  const auto result = engine.call(command.verb, command.args, command.options.session, request_id);
  line.finish();
  if (!result && result.error().code == wb::ErrorCode::canceled) {
    if (const auto paused = engine.pause("stopped by a signal"); !paused) {
      say("sdpa-wb: " + paused.error().message() + "\n");
    }
  }
  stopping.is_printing = true;
  const int code = print_answer(command, result);
  stopping.is_printing = false;
  return code;
}

/// Starts the job, and reports its iteration as soon as there is one.
int run_detached(const wb::cli::Command& command, const std::vector<std::string>& words) {
  wb::RealFileSystem file_system;
  const auto job = wb::cli::start_detached(wb::cli::executable_folder() / "sdpa-wb", command, words,
                                           file_system);
  if (!job) return print_error(job.error(), command.options.json);
  if (!job->holds) {
    // The child's own message, or object with --json.
    if (command.options.json) return print(job->output, job->exit_code);
    say(job->output);
    return job->exit_code;
  }
  const wb::RealClock clock;
  wb::engine::Engine engine(wb::cli::make_services(command.options, wb::cli::Environment::read(),
                                                   file_system, clock, {}, nullptr),
                            wb::verbs::runnable());
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
  const std::string text = command.options.json ? wb::verbs::json_text(*answer) + "\n"
                                                : (*answer)["text"].get<std::string>();
  return print(text, 0, "the job goes on");
}

int run_in_order(const wb::cli::Command& command) {
  const sigset_t signals = wb::stop_signals();
  // Blocked before any thread or child starts; the spawner gives children an empty mask.
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // Static, since the thread may outlive this call.
  static Stopping stopping;
  std::thread([signals] { watch_signals(signals, stopping); }).detach();
  return run(command, stopping);
}

int run_words(const std::vector<std::string>& words) {
  const std::string first = words.empty() ? std::string() : words[0];
  if (first == "playbook-host") return wb::playbook::playbook_host_main();
  if (first == "command-reference") return print(wb::cli::command_reference(), 0);
  if (first == "verb-table") {
    return print(wb::verbs::json_text(wb::verbs::verb_table_json(), 1) + "\n", 0);
  }
  if (first == "mcp") {
    if (const auto here = wb::check_working_folder(); !here) {
      return print_error(here.error(), false);
    }
    return wb::cli::mcp_main({words.begin() + 1, words.end()}, wb::cli::Environment::read());
  }
  const wb::RealFileSystem file_system;
  const auto parsed = wb::cli::parse_command_line(words, file_system);
  if (const auto* text = std::get_if<wb::cli::PrintAndExit>(&parsed)) {
    say(text->err);
    return print(text->out, text->exit_code);
  }
  const auto& command = std::get<wb::cli::Command>(parsed);
  if (const auto here = wb::check_working_folder(); !here) {
    return print_error(here.error(), command.options.json);
  }
  if (const auto fit = wb::cli::check_options(command.options); !fit) {
    return print_error(fit.error(), command.options.json);
  }
  return command.options.detach ? run_detached(command, words) : run_in_order(command);
}

}  // namespace

int main(int argc, char** argv) {
  wb::put_inherited_in_order();
  try {
    // A program may be started without its own name.
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    return run_words(words);
  } catch (const std::filesystem::filesystem_error& error) {
    return print_error(wb::errno_error("work with", error.path1(), error.code().value()), false);
  } catch (const std::system_error& error) {
    say(fmt::format("sdpa-wb: cannot start a thread: {}; {}\n", error.what(),
                    wb::k_more_processes));
    return static_cast<int>(wb::verbs::ExitCode::environment);
  } catch (const std::exception& error) {
    say(fmt::format("sdpa-wb: internal fault: {}\n", error.what()));
    return static_cast<int>(wb::verbs::ExitCode::internal);
  }
}
