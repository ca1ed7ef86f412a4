// SPDX-License-Identifier: MIT
#include "worker/build_process.hpp"
#include "worker/failure.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <utility>

namespace wb::worker {
namespace {

constexpr std::size_t k_log_bytes = 24u << 10;  // of the compiler's words: a message has 64 KiB

std::string shortened(const std::string& text) {
  if (text.size() <= k_log_bytes) return text;
  return text.substr(0, k_log_bytes / 2) + "\n[… cut …]\n" +
         text.substr(text.size() - k_log_bytes / 2);
}

Outcome<BuildRecord> compile(const BuildTask& task) {
  Result<Variant> variant = variant_from_files(task.variant_name, task.files);
  if (!variant.ok()) {
    return Failure{Invalidity::constraints, variant.error().message(), {}};
  }
  if (variant->manifest.backend == Backend::cuda) {
    return CudaToolchain(CudaPlaces{})
        .compile(*variant, task.configuration, task.options, task.build_id, task.output);
  }
  for (const char* compiler : {"g++", "clang++"}) {
    const CpuToolchain toolchain(compiler);
    if (!toolchain.identity().ok()) continue;
    return toolchain.compile(*variant, task.configuration, task.options, task.build_id,
                             task.output);
  }
  return environment("no g++ or clang++ on the worker's machine; install one, or build elsewhere");
}

Json answer_of(const BuildTask& task) {
  Outcome<BuildRecord> record = compile(task);
  if (record.ok()) {
    record->log = shortened(record->log);
    return {{"record", to_json(*record)}};
  }
  const Failure& failure = record.error();
  return {{"invalidity", to_string(failure.invalidity)},
          {"message", failure.message},
          {"untrusted_output", shortened(failure.untrusted_output)}};
}

[[noreturn]] void run_builder(const BuildTask& task, const Channel& channel, pid_t parent) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  Json answer;
  try {
    answer = answer_of(task);
  } catch (const std::exception& fault) {
    answer = {{"invalidity", "environment"}, {"message", fault.what()}};
  }
  ::_exit(channel.send(answer).ok() ? 0 : 1);
}

Outcome<Json> read_answer(const Message& message) {
  if (const auto record = message.body.find("record"); record != message.body.end()) {
    return Json(*record);
  }
  ObjectReader reader(message.body, "the build's answer");
  Failure failure;
  failure.invalidity =
      parse_invalidity(reader.string("invalidity")).value_or(Invalidity::environment);
  failure.message = reader.string("message");
  failure.untrusted_output = reader.string_or("untrusted_output", "");
  return failure;
}

}  // namespace

Outcome<Json> build_in_child(Family& family, const BuildTask& task, Deadline deadline,
                             CancelSource cancel) {
  auto ends = Channel::make_pair();
  if (!ends.ok()) return environment(ends.error().message());
  const Channel ours(std::move(ends->first));
  Channel theirs(std::move(ends->second));
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) run_builder(task, theirs, parent);
  if (pid < 0) return environment("cannot fork for the compiler: the process limit is reached");
  theirs.close();
  family.add(pid);
  const auto message = ours.receive(deadline, cancel);
  ::kill(pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  family.remove(pid);
  family.sweep_strays();  // a compiler that outlived its deadline leads a group of its own
  if (message.ok()) return read_answer(*message);
  if (message.error() == ChannelFault::timeout) {
    return Failure{Invalidity::timeout, "the compiler did not finish before the deadline", {}};
  }
  if (message.error() == ChannelFault::canceled) {
    return environment("canceled: the wire was closed");
  }
  return environment("the build process ended without an answer");
}

}  // namespace wb::worker
