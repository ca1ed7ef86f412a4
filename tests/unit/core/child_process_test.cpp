// SPDX-License-Identifier: MIT
#include <chrono>
#include <csignal>
#include <thread>

#include "core/process.hpp"
#include "support/catch.hpp"
#include "support/processes.hpp"

using namespace std::chrono_literals;
using wb::ChildProcess;
using wb::ErrorCode;
using wb::ProcessSpec;
using wb::testing::ends_soon;
using wb::testing::shell;

namespace {

constexpr std::size_t k_line_bytes = 1u << 20;

ChildProcess spawn(const ProcessSpec& spec) {
  auto child = ChildProcess::spawn(spec);
  REQUIRE(child.ok());
  return *std::move(child);
}

double seconds_of(const std::chrono::steady_clock::time_point& start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("lines go there and come back", "[core][child]") {
  ChildProcess child = spawn({.argv = {"cat"}});
  CHECK(child.running());
  for (const std::string line : {"one", "", "three \xc3\xbc"}) {
    REQUIRE(child.write_line(line, 5s).ok());
    CHECK(*child.read_line(5s, k_line_bytes) == line);
  }
  CHECK(child.write_line("two\nlines", 5s).error().code == ErrorCode::invalid);
  child.close_stdin();
  CHECK(child.write_line("late", 5s).error().code == ErrorCode::canceled);
  CHECK(child.read_line(5s, k_line_bytes).error().code == ErrorCode::canceled);
  CHECK(child.wait(5s).exit_code == 0);
  CHECK_FALSE(child.running());
}

TEST_CASE("a line larger than any pipe goes through an echoing peer", "[core][child]") {
  ChildProcess child = spawn({.argv = {"cat"}});
  const std::string line(k_line_bytes, 'x');
  REQUIRE(child.write_line(line, 20s).ok());
  CHECK(*child.read_line(20s, k_line_bytes) == line);
}

TEST_CASE("several lines of one read are handed out one by one", "[core][child]") {
  ChildProcess child = spawn(shell("printf 'a\\n\\nb\\npart'"));
  CHECK(*child.read_line(5s, 10) == "a");
  CHECK(child.read_line(5s, 10)->empty());
  CHECK(*child.read_line(5s, 10) == "b");
  const auto torn = child.read_line(5s, 10);
  REQUIRE_FALSE(torn.ok());
  CHECK(torn.error().code == ErrorCode::canceled);
  CHECK(torn.error().cause.find("4 bytes") != std::string::npos);
}

TEST_CASE("a silent peer meets the deadline, and may answer later", "[core][child][deadline]") {
  ChildProcess child = spawn(shell("printf half; read go; echo -line; sleep 300"));
  const auto start = std::chrono::steady_clock::now();
  CHECK(child.read_line(100ms, 100).error().code == ErrorCode::limit);
  CHECK(seconds_of(start) >= 0.1);
  CHECK(seconds_of(start) < 5);
  CHECK(child.read_line(0ms, 100).error().code == ErrorCode::limit);
  REQUIRE(child.write_line("go", 5s).ok());
  CHECK(*child.read_line(5s, 100) == "half-line");
}

TEST_CASE("a line that is too long is refused before it fills the memory", "[core][child]") {
  ChildProcess exact = spawn({.argv = {"echo", "12345"}});
  CHECK(*exact.read_line(5s, 5) == "12345");
  ChildProcess over = spawn({.argv = {"echo", "123456"}});
  CHECK(over.read_line(5s, 5).error().code == ErrorCode::limit);
  ChildProcess endless = spawn(shell("exec tr '\\0' x < /dev/zero"));
  const auto result = endless.read_line(20s, 100'000);
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().cause == "it is longer than 100000 bytes");
}

TEST_CASE("writing to a dead peer is an error, not a signal", "[core][child]") {
  struct sigaction before {};
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  REQUIRE(::sigaction(SIGPIPE, &by_default, &before) == 0);
  ChildProcess child = spawn(shell("exit 3"));
  CHECK(child.read_line(5s, 10).error().code == ErrorCode::canceled);
  REQUIRE(wb::testing::until([&] { return !child.running(); }));
  CHECK(child.write_line("hello", 5s).error().code == ErrorCode::canceled);
  sigset_t pending;
  ::sigpending(&pending);
  CHECK(::sigismember(&pending, SIGPIPE) == 0);
  ::sigaction(SIGPIPE, &before, nullptr);
  CHECK(child.wait(5s).exit_code == 3);
}

TEST_CASE("a peer that does not read meets the deadline", "[core][child][deadline]") {
  ChildProcess child = spawn({.argv = {"sleep", "300"}});
  CHECK(child.write_line(std::string(k_line_bytes, 'x'), 100ms).error().code == ErrorCode::limit);
  // Part of that line is on its way: nothing may follow it.
  CHECK(child.write_line("next", 100ms).error().code == ErrorCode::canceled);
}

TEST_CASE("the end of the child is noticed though a descendant holds its output",
          "[core][child][deadline]") {
  ChildProcess child = spawn(shell("sleep 300 & echo $!"));
  const auto line = child.read_line(5s, 100);
  REQUIRE(line.ok());
  const auto start = std::chrono::steady_clock::now();
  CHECK(child.read_line(20s, 100).error().code == ErrorCode::canceled);
  CHECK(seconds_of(start) < 10);
  CHECK(child.wait(5s).exit_code == 0);
  CHECK(ends_soon(std::stoi(*line)));  // wait() ended the rest of the group
}

TEST_CASE("killing reaches the group and can be repeated", "[core][child]") {
  ChildProcess child = spawn(shell("trap '' TERM; sleep 300 & echo $!; wait; sleep 300"));
  const auto line = child.read_line(5s, 100);
  REQUIRE(line.ok());
  const auto first = child.kill_and_wait();
  CHECK(first.signal == SIGKILL);
  CHECK_FALSE(first.timed_out);
  CHECK(first.wall_s > 0);
  CHECK(child.kill_and_wait().signal == SIGKILL);
  CHECK(child.wait(1s).wall_s == first.wall_s);
  child.signal_group(SIGKILL);  // harmless: the number is not ours any more
  CHECK(ends_soon(std::stoi(*line)));
}

TEST_CASE("a signal is passed to the group", "[core][child]") {
  ChildProcess child =
      spawn(shell("trap 'echo got; exit 4' TERM; echo ready; while :; do sleep 0.05; done"));
  REQUIRE(*child.read_line(5s, 100) == "ready");
  child.signal_group(SIGTERM);
  CHECK(child.wait(10s).exit_code == 4);
  CHECK(*child.read_line(0ms, 100) == "got");  // what it left behind can be read
}

TEST_CASE("waiting ends with the deadline by force", "[core][child][deadline]") {
  ChildProcess child = spawn({.argv = {"sleep", "300"}});
  const auto outcome = child.wait(100ms);
  CHECK(outcome.timed_out);
  CHECK(outcome.signal == SIGKILL);
  CHECK(outcome.wall_s < 5);
}

TEST_CASE("waiting takes in the last output, so that the child can end", "[core][child]") {
  // 400 kB do not fit into a pipe: without a reader this program would not end by itself.
  ChildProcess child = spawn(shell("seq 1 70000"));
  CHECK(child.wait(20s).exit_code == 0);
  CHECK(*child.read_line(0ms, 100) == "1");
}

TEST_CASE("standard error is captured up to the cap, and the child goes on", "[core][child]") {
  ProcessSpec spec = shell(
      "echo problem >&2; echo done; read x; "
      "head -c 100000 /dev/zero | tr '\\0' e >&2; echo survived; read x");
  spec.capture_bytes = 1000;
  ChildProcess child = spawn(spec);
  CHECK(*child.read_line(5s, 100) == "done");
  CHECK(child.captured_stderr() == "problem\n");
  REQUIRE(child.write_line("", 5s).ok());
  CHECK(*child.read_line(5s, 100) == "survived");
  const std::string text = child.kill_and_wait().err;
  const std::string kept = text.substr(0, spec.capture_bytes);
  CHECK(kept == "problem\n" + std::string(spec.capture_bytes - 8, 'e'));
  CHECK(text.substr(spec.capture_bytes) == "\n[... the rest was cut ...]\n");
}

TEST_CASE("standard error is captured in full though one write overruns the cap", "[core][child]") {
  ProcessSpec spec = shell("dd if=/dev/zero bs=300000 count=1 status=none >&2; echo done");
  spec.capture_bytes = 50'000;
  ChildProcess child = spawn(spec);
  CHECK(*child.read_line(5s, 100) == "done");
  const std::string text = child.kill_and_wait().err;
  CHECK(text.substr(0, 50'000) == std::string(50'000, '\0'));
  CHECK(text.size() > 50'000);
}

TEST_CASE("an inherited standard error is not captured", "[core][child]") {
  auto child = ChildProcess::spawn(shell("echo x; exit 1"), true);
  REQUIRE(child.ok());
  CHECK(*child->read_line(5s, 10) == "x");
  CHECK(child->wait(5s).err.empty());
}

TEST_CASE("the destructor and a replacement kill the child", "[core][child]") {
  pid_t first = -1;
  pid_t second = -1;
  {
    ChildProcess child = spawn({.argv = {"sleep", "300"}});
    first = child.pid();
    ChildProcess moved = std::move(child);
    CHECK(moved.pid() == first);
    CHECK(child.pid() == -1);  // NOLINT(bugprone-use-after-move)
    CHECK_FALSE(child.running());
    moved = spawn({.argv = {"sleep", "300"}});
    CHECK(ends_soon(first));
    second = moved.pid();
    CHECK(moved.running());
  }
  CHECK(ends_soon(second));
}

TEST_CASE("a child bound to its starter ends with the thread that started it", "[core][child]") {
  ProcessSpec spec{.argv = {"sleep", "300"}};
  spec.die_with_parent = true;
  std::optional<ChildProcess> child;
  std::thread([&] {
    auto started = ChildProcess::spawn(spec);
    if (started.ok()) child.emplace(*std::move(started));
  }).join();
  REQUIRE(child.has_value());
  CHECK(child->wait(10s).signal == SIGKILL);
  CHECK_FALSE(child->kill_and_wait().timed_out);
}

TEST_CASE("a missing program is an error of spawn", "[core][child]") {
  CHECK(ChildProcess::spawn({.argv = {"wb-no-such-program"}}).error().code == ErrorCode::not_found);
}
