// SPDX-License-Identifier: MIT
#include "core/process.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/spawn.hpp"
#include "support/catch.hpp"
#include "support/processes.hpp"

using namespace std::chrono_literals;
using wb::ErrorCode;
using wb::ProcessOutcome;
using wb::ProcessSpec;
using wb::run_process;
using wb::testing::ends_soon;
using wb::testing::shell;

namespace {

ProcessOutcome run(const ProcessSpec& spec) {
  auto result = run_process(spec);
  REQUIRE(result.ok());
  return *std::move(result);
}

/// With the first of these deadlines that leaves the program the time to start and to print that
/// many bytes: under load a short one may be over before.
ProcessOutcome run_until_it_printed(ProcessSpec spec,
                                    std::initializer_list<std::chrono::milliseconds> deadlines,
                                    std::size_t bytes = 1) {
  ProcessOutcome outcome;
  for (const auto deadline : deadlines) {
    spec.deadline = deadline;
    outcome = run(spec);
    if (outcome.out.size() >= bytes) break;
  }
  return outcome;
}

std::string output_of(std::string script) {
  const ProcessOutcome outcome = run(shell(std::move(script)));
  REQUIRE(outcome.success());
  return outcome.out;
}

ErrorCode start_fault(const ProcessSpec& spec) {
  const auto result = run_process(spec);
  REQUIRE_FALSE(result.ok());
  INFO(result.error().message());
  CHECK_FALSE(result.error().cause.empty());
  return result.error().code;
}

wb::TempDirectory temporary() {
  auto folder = wb::TempDirectory::create("wb-process-");
  REQUIRE(folder.ok());
  return *std::move(folder);
}

}  // namespace

TEST_CASE("exit codes, signals and both streams are reported", "[core][process]") {
  const ProcessOutcome good = run(shell("echo out; echo err >&2"));
  CHECK(good.success());
  CHECK(good.out == "out\n");
  CHECK(good.err == "err\n");
  CHECK(good.wall_s > 0);
  CHECK(good.max_rss_bytes > 0);
  const ProcessOutcome bad = run(shell("exit 7"));
  CHECK(bad.exit_code == 7);
  CHECK_FALSE(bad.signal.has_value());
  CHECK_FALSE(bad.success());
  const ProcessOutcome killed = run(shell("kill -SEGV $$"));
  CHECK(killed.signal == SIGSEGV);
  CHECK_FALSE(killed.exit_code.has_value());
}

TEST_CASE("arguments reach the program as they are", "[core][process]") {
  const ProcessOutcome outcome = run({.argv = {"printf", "%s|", "a b", "$HOME", "*", "", "'\"\n"}});
  CHECK(outcome.out == "a b|$HOME|*||'\"\n|");
}

TEST_CASE("standard input is empty", "[core][process]") {
  CHECK(output_of("cat; echo end") == "end\n");
}

TEST_CASE("the environment is added to, or the whole", "[core][process]") {
  ProcessSpec spec = shell("echo $WB_ONE-${PATH:+path}");
  spec.env = {{"WB_ONE", "1"}};
  CHECK(run(spec).out == "1-path\n");
  spec.argv = {"env"};
  spec.env = {{"ONLY", "this"}};
  spec.clear_env = true;
  CHECK(run(spec).out == "ONLY=this\n");
  spec.clear_env = false;
  spec.env = {{"PATH", "/replaced"}};
  const std::string all = run(spec).out;
  CHECK(all.find("PATH=/replaced\n") != std::string::npos);
  CHECK(("\n" + all).find("\nPATH=", all.find("PATH=/replaced") + 2) == std::string::npos);
}

TEST_CASE("the working directory is entered", "[core][process]") {
  const auto folder = temporary();
  ProcessSpec spec = shell("pwd -P");
  spec.working_directory = folder.path();
  CHECK(run(spec).out == wb::fs::canonical(folder.path()).string() + "\n");
  spec.working_directory = folder.path() / "none";
  CHECK(start_fault(spec) == ErrorCode::not_found);
}

TEST_CASE("what cannot be started is an error with its reason", "[core][process]") {
  const auto folder = temporary();
  const auto script = [&](const char* name, const char* text, mode_t mode) {
    const wb::fs::path path = folder.path() / name;
    std::ofstream(path) << text;
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    return ProcessSpec{.argv = {path.string()}};
  };
  CHECK(start_fault({.argv = {"wb-no-such-program"}}) == ErrorCode::not_found);
  CHECK(start_fault({.argv = {"/wb/no/such/program"}}) == ErrorCode::not_found);
  CHECK(start_fault({.argv = {folder.path().string()}}) == ErrorCode::not_found);
  CHECK(start_fault(script("plain", "echo", 0644)) == ErrorCode::not_found);
  CHECK(start_fault(script("orphan", "#!/wb/no/interpreter\n", 0755)) == ErrorCode::not_found);
  CHECK(start_fault(script("format", "no magic\n", 0755)) == ErrorCode::io);
  CHECK(start_fault({}) == ErrorCode::usage);
  CHECK(start_fault({.argv = {""}}) == ErrorCode::usage);
  CHECK(start_fault({.argv = {"echo", std::string("a\0b", 3)}}) == ErrorCode::invalid);
  ProcessSpec spec = shell("true");
  spec.keep_fds = {987};
  CHECK(start_fault(spec) == ErrorCode::invalid);
  CHECK(run(script("good", "#!/bin/sh\necho hi\n", 0755)).out == "hi\n");
}

TEST_CASE("programs are looked up in PATH", "[core][process]") {
  const auto found = wb::find_program("sh");
  REQUIRE(found.ok());
  CHECK(found->is_absolute());
  CHECK(wb::find_program("/bin/sh").ok());
  for (const char* name : {"", "wb-no-such-program", "/bin", "./wb-none"}) {
    CHECK(wb::find_program(name).error().code == ErrorCode::not_found);
  }
}

TEST_CASE("long output keeps its head and its tail", "[core][process]") {
  ProcessSpec spec = shell("seq 1 200000; seq 1 200000 >&2");
  spec.capture_bytes = 1000;
  const ProcessOutcome outcome = run(spec);
  std::ostringstream whole;
  for (int i = 1; i <= 200000; ++i) whole << i << '\n';
  const std::string text = whole.str();
  const std::string wanted = text.substr(0, 500) + "\n[... " + std::to_string(text.size() - 1000) +
                             " bytes cut ...]\n" + text.substr(text.size() - 500);
  CHECK(outcome.out == wanted);
  CHECK(outcome.err == wanted);
}

TEST_CASE("head and tail are right for every length and cut", "[core][process]") {
  std::string text;
  for (int i = 0; i < 60; ++i) text += static_cast<char>('!' + i);
  for (const std::size_t cap : {0u, 1u, 2u, 7u, 10u}) {
    for (std::size_t length = 0; length <= text.size(); ++length) {
      for (const std::size_t step : {1u, 3u, 11u, 100u}) {
        wb::detail::HeadTail kept(cap);
        for (std::size_t at = 0; at < length; at += step) {
          kept.add(std::string_view(text).substr(at, std::min(step, length - at)));
        }
        std::string wanted = text.substr(0, length);
        if (length > cap) {
          wanted = text.substr(0, cap - cap / 2) + "\n[... " + std::to_string(length - cap) +
                   " bytes cut ...]\n" + text.substr(length - cap / 2, cap / 2);
        }
        REQUIRE(kept.text() == wanted);
      }
    }
  }
}

TEST_CASE("the deadline kills the whole group", "[core][process][deadline]") {
  const ProcessOutcome outcome = run_until_it_printed(
      shell("trap '' TERM INT HUP; sleep 300 & echo $!; sleep 300"), {300ms, 3s, 30s});
  REQUIRE(outcome.timed_out);
  CHECK_FALSE(outcome.success());
  CHECK(outcome.signal == SIGKILL);
  CHECK(outcome.wall_s >= 0.3);
  CHECK(outcome.wall_s < 200);  // the sleep is 300
  CHECK(ends_soon(std::stoi(outcome.out)));
}

TEST_CASE("a flood of output does not outlive the deadline", "[core][process][deadline]") {
  const ProcessOutcome outcome = run_until_it_printed({.argv = {"yes"}}, {200ms, 2s, 20s}, 60'000);
  CHECK(outcome.timed_out);
  CHECK(outcome.out.find("bytes cut") != std::string::npos);
  CHECK(outcome.out.size() < (65u << 10));
}

TEST_CASE("a program that closes its streams is still waited for", "[core][process]") {
  const ProcessOutcome outcome = run(shell("exec >&- 2>&-; sleep 0.2; exit 5"));
  CHECK(outcome.exit_code == 5);
  CHECK(outcome.wall_s >= 0.2);
}

TEST_CASE("a descendant that keeps the streams open is not waited for", "[core][process]") {
  const ProcessOutcome same_group = run(shell("sleep 300 & echo $!"));
  CHECK(same_group.success());
  CHECK(same_group.wall_s < 200);
  CHECK(ends_soon(std::stoi(same_group.out)));

  // In a session of its own no group signal reaches it; it must not hold us up, either.
  const auto folder = temporary();
  const std::string fifo = (folder.path() / "started").string();
  const ProcessOutcome escaped = run(shell("mkfifo " + fifo + "; setsid sh -c 'echo $$; echo > " +
                                           fifo + "; exec sleep 300' & read nothing < " + fifo));
  CHECK(escaped.success());
  CHECK(escaped.wall_s < 200);
  const pid_t stray = std::stoi(escaped.out);
  ::kill(stray, SIGKILL);
  CHECK(ends_soon(stray));
}

TEST_CASE("resource limits bind the child", "[core][process][limits]") {
  const auto folder = temporary();
  ProcessSpec spec = shell("ulimit -v; ulimit -n; ulimit -c; ulimit -f; ulimit -t");
  spec.limits.address_space_bytes = 512u << 20;
  spec.limits.open_files = 32;
  spec.limits.file_size_bytes = 8192;
  spec.limits.cpu_s = 3;
  CHECK(run(spec).out == "524288\n32\n0\n16\n3\n");

  ProcessSpec big = shell("exec head -c 100000 /dev/zero > big");
  big.working_directory = folder.path();
  big.limits.file_size_bytes = 5000;
  CHECK(run(big).signal == SIGXFSZ);
  CHECK(wb::fs::file_size(folder.path() / "big") == 5000);
}

TEST_CASE("processor time is limited and counted with that of descendants",
          "[core][process][limits]") {
  ProcessSpec spec = shell("sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; true");
  spec.deadline = 60s;
  const ProcessOutcome counted = run(spec);
  CHECK(counted.cpu_s > 0.01);
  spec = shell("trap '' XCPU; while :; do :; done");
  spec.limits.cpu_s = 1;
  spec.deadline = 60s;
  const ProcessOutcome outcome = run(spec);
  CHECK_FALSE(outcome.timed_out);
  CHECK(outcome.signal == SIGKILL);  // it ignored SIGXCPU; the hard limit came a second later
}

TEST_CASE("only the named descriptors are inherited", "[core][process]") {
  // Neither is close-on-exec, as those of a careless library.
  const wb::UniqueFd leaked(::fcntl(0, F_DUPFD, 40));
  const wb::UniqueFd kept(::fcntl(0, F_DUPFD, 50));
  const wb::UniqueFd kept_too(::fcntl(0, F_DUPFD_CLOEXEC, 45));
  REQUIRE(kept_too.valid());
  ProcessSpec spec = shell("exec ls /proc/self/fd");
  CHECK(run(spec).out == "0\n1\n2\n3\n");  // 3 is ls's own
  spec.keep_fds = {kept.get(), kept_too.get(), kept.get()};
  CHECK(run(spec).out ==
        "0\n1\n2\n3\n" + std::to_string(kept_too.get()) + "\n" + std::to_string(kept.get()) + "\n");
}

TEST_CASE("the child starts with a clean signal state", "[core][process]") {
  struct sigaction before {};
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  REQUIRE(::sigaction(SIGPIPE, &ignore, &before) == 0);
  // One that libc reserves: only the system call sets it, as a start under another libc may.
  constexpr int reserved = 33;
  constexpr std::size_t sigset_bytes = 8;
  std::array<unsigned long, 8> kernel_before{};
  const std::array<unsigned long, 8> kernel_ignore{1};
  REQUIRE(::syscall(SYS_rt_sigaction, reserved, kernel_ignore.data(), kernel_before.data(),
                    sigset_bytes) == 0);
  sigset_t all, mask;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &mask);
  const std::string state = output_of("exec grep -E 'Sig(Blk|Ign)' /proc/self/status");
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  ::sigaction(SIGPIPE, &before, nullptr);
  ::syscall(SYS_rt_sigaction, reserved, kernel_before.data(), nullptr, sigset_bytes);
  CHECK(state == "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_CASE("the child leads a group, or a session", "[core][process]") {
  const auto ids = [](bool new_session) {
    ProcessSpec spec{.argv = {"cat", "/proc/self/stat"}};
    spec.new_session = new_session;
    std::istringstream words(run(spec).out);
    std::string name, state;
    pid_t pid = 0, parent = 0, group = 0, session = 0;
    words >> pid >> name >> state >> parent >> group >> session;
    CHECK(parent == ::getpid());
    CHECK(group == pid);
    return session == pid;
  };
  CHECK_FALSE(ids(false));
  CHECK(ids(true));
}

TEST_CASE("it works where standard descriptors are closed", "[core][process]") {
  const int step = wb::testing::in_child([] {
    for (const int fd : {0, 1, 2}) ::close(fd);
    const auto result = run_process(shell("cat; echo out; echo err >&2"));
    if (!result.ok()) return 1;
    return result->out == "out\n" && result->err == "err\n" ? 0 : 2;
  });
  CHECK(step == 0);
}

TEST_CASE("many threads may run programs at once", "[core][process]") {
  std::vector<int> faults(6, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < faults.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 15; ++i) {
        const std::string word = std::to_string(t) + "." + std::to_string(i);
        const auto result = run_process({.argv = {"echo", word}});
        if (!result.ok() || !result->success() || result->out != word + "\n") ++faults[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(faults == std::vector<int>(6, 0));
}
