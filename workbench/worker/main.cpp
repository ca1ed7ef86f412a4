// SPDX-License-Identifier: MIT
// sdpa-wb-worker: measures and judges variants for a session on this or another machine. Started by
// sdpa-wb through a transport; people start it only to see its version. See
// docs/contracts/worker_protocol.md.
#include <fmt/format.h>
#include <sysexits.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <system_error>

#include "core/inherited.hpp"
#include "core/writing.hpp"
#include "protocol/protocol.hpp"
#include "worker/child.hpp"
#include "worker/exercise.hpp"
#include "worker/hello.hpp"
#include "worker/roles.hpp"

namespace {

int print_version() {
  const std::string text = fmt::format("sdpa-wb-worker {}, protocol {}\n",
                                       wb::worker::worker_version(), wb::protocol::k_version);
  const auto written = wb::write_all(STDOUT_FILENO, text, "standard output");
  if (written.ok()) return 0;
  std::cerr << "sdpa-wb-worker: " << written.error().message() << "\n";
  return EX_IOERR;
}

int run(int argc, char** argv) {
  namespace worker = wb::worker;
  const std::string_view argument = argc > 1 ? argv[1] : "";
  // A closed peer shows as a failed write; the signal would hide where.
  ::signal(SIGPIPE, SIG_IGN);
  if (argument == worker::k_judge_role || argument == worker::k_subject_role) {
    // Line buffering, so that output before a crash reaches the capture file.
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    const worker::Channel channel{wb::UniqueFd(worker::k_child_socket_fd)};
    const std::optional<int> gpu = worker::parse_gpu_argument(argc > 2 ? argv[2] : "");
    return argument == worker::k_judge_role ? worker::run_judge(channel, gpu)
                                            : worker::run_subject(channel, gpu);
  }
  if (argument == worker::k_exercise_role && argc == 3) return worker::run_exercise(argv[2]);
  // Not for the roles above, whose state the supervisor has already set.
  wb::put_inherited_in_order();
  if (argument == "--version") return print_version();
  if (argc > 1 || ::isatty(STDIN_FILENO) == 1) {
    std::cerr << "sdpa-wb-worker serves sdpa-wb over its standard input and output; run `sdpa-wb` "
                 "instead, or `sdpa-wb-worker --version`\n";
    return 2;
  }
  return worker::run_supervisor(STDIN_FILENO, STDOUT_FILENO,
                                std::filesystem::read_symlink("/proc/self/exe").string());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& fault) {
    std::cerr << "sdpa-wb-worker: " << fault.what() << "\n";
    return 1;
  }
}
