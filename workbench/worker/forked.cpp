// SPDX-License-Identifier: MIT
#include "worker/forked.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <utility>

#include "core/json.hpp"
#include "core/process.hpp"
#include "worker/failure.hpp"

namespace wb::worker {
namespace {

Json answer_of(const std::function<Outcome<Json>()>& work) {
  Outcome<Json> result = work();
  if (result.ok()) return {{"result", *std::move(result)}};
  const Failure& failure = result.error();
  return {{"invalidity", to_string(failure.invalidity)},
          {"message", failure.message},
          {"untrusted_output", failure.untrusted_output}};
}

[[noreturn]] void run_and_answer(const std::function<Outcome<Json>()>& work, const Channel& channel,
                                 pid_t parent) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  Json answer;
  try {
    answer = answer_of(work);
  } catch (const std::exception& fault) {
    answer = {{"invalidity", "environment"}, {"message", fault.what()}};
  }
  ::_exit(channel.send(answer).ok() ? 0 : 1);
}

Outcome<Json> read_answer(const Message& message, const std::string& who) {
  if (const auto result = message.body.find("result"); result != message.body.end()) {
    return Json(*result);
  }
  ObjectReader reader(message.body, who + "'s answer");
  Failure failure;
  failure.invalidity =
      parse_invalidity(reader.string("invalidity")).value_or(Invalidity::environment);
  failure.message = reader.string("message");
  failure.untrusted_output = reader.string_or("untrusted_output", "");
  return failure;
}

}  // namespace

Outcome<Json> run_forked(ChildRegistry& registry, const std::function<Outcome<Json>()>& work,
                         const std::string& who, Deadline deadline, CancelSource cancel) {
  auto ends = Channel::make_pair();
  if (!ends.ok()) return environment(ends.error().message());
  const Channel ours(std::move(ends->first));
  Channel theirs(std::move(ends->second));
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) run_and_answer(work, theirs, parent);
  if (pid < 0) {
    return environment(process_refused("start a process for", who, errno).message());
  }
  theirs.close();
  registry.add(pid);
  const auto message = ours.receive(deadline, cancel);
  ::kill(pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  registry.remove(pid);
  registry.sweep_strays();  // a process that outlived its deadline leads its own group
  if (message.ok()) return read_answer(*message, who);
  if (message.error() == ChannelFault::timeout) {
    return Failure{
        Invalidity::timeout, fmt::format("{} did not finish before the deadline", who), {}};
  }
  if (message.error() == ChannelFault::canceled) {
    return environment("canceled: the wire was closed");
  }
  return environment(fmt::format("{} ended without an answer", who));
}

namespace {

constexpr std::size_t k_log_bytes = 24u << 10;  // of the compiler's output: a message has 64 KiB

std::string shortened(const std::string& text) {
  if (text.size() <= k_log_bytes) return text;
  return text.substr(0, k_log_bytes / 2) + "\n[… cut …]\n" +
         text.substr(text.size() - k_log_bytes / 2);
}

Outcome<variant::BuildRecord> compile(const BuildTask& task) {
  Result<variant::Variant> variant = variant::variant_from_files(task.variant_name, task.files);
  if (!variant.ok()) {
    return Failure{Invalidity::constraints, variant.error().message(), {}};
  }
  if (variant->manifest.backend == variant::Backend::cuda) {
    return variant::CudaToolchain(variant::CudaPlaces{})
        .compile(*variant, task.configuration, task.options, task.build_id, task.output);
  }
  for (const char* compiler : {"g++", "clang++"}) {
    const variant::CpuToolchain toolchain(compiler);
    if (!toolchain.identity().ok()) continue;
    return toolchain.compile(*variant, task.configuration, task.options, task.build_id,
                             task.output);
  }
  return environment("no g++ or clang++ on the worker's machine; install one, or build elsewhere");
}

}  // namespace

Outcome<Json> build_in_child(ChildRegistry& registry, const BuildTask& task, Deadline deadline,
                             CancelSource cancel) {
  const auto work = [&task]() -> Outcome<Json> {
    Outcome<variant::BuildRecord> record = compile(task);
    if (!record.ok()) {
      Failure failure = std::move(record).error();
      failure.untrusted_output = shortened(failure.untrusted_output);
      return failure;
    }
    record->log = shortened(record->log);
    return to_json(*record);
  };
  return run_forked(registry, work, "the compiler", deadline, cancel);
}

}  // namespace wb::worker
