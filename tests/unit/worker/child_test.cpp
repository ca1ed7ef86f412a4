// SPDX-License-Identifier: MIT
#include "worker/child.hpp"

#include <unistd.h>

#include <csignal>
#include <fstream>

#include "support/catch.hpp"
#include "support/process_probe.hpp"

using namespace std::chrono_literals;
using namespace wb;
using namespace wb::worker;
using wb::testing::ends_soon;
using wb::testing::is_alive;

namespace {

ChildSpec shell_child(const std::string& script) {
  ChildSpec spec;
  spec.argv = {"/bin/sh", "-c", script};
  spec.env = {{"PATH", "/usr/bin:/bin"}};
  spec.confinement.system_calls.processes = true;  // a shell starts programs
  return spec;
}

Child spawn(ChildRegistry& registry, const std::string& script) {
  auto child = Child::spawn(registry, shell_child(script));
  REQUIRE(child.ok());
  return *std::move(child);
}

}  // namespace

TEST_CASE("a child has four descriptors, limits, and what it prints is kept", "[worker][child]") {
  ChildRegistry registry;
  Child child = spawn(registry,
                      "ls /proc/self/fd | tr '\\n' ' '; ulimit -c; echo to-stderr >&2; "
                      "grep NoNewPrivs /proc/self/status; exit 3");
  const auto end = child.wait(deadline_in(60s));
  REQUIRE(end.has_value());
  CHECK(end->exit_code == 3);
  const std::string words = child.captured();
  // ls itself opens the folder as 4.
  CHECK(words.find("0 1 2 3 4 0\n") == 0);
  CHECK(words.find("to-stderr") != std::string::npos);
  CHECK(words.find("NoNewPrivs:\t1") != std::string::npos);
}

TEST_CASE("a flood of output is cut and counted", "[worker][child][hostile]") {
  ChildRegistry registry;
  Child child = spawn(registry, "head -c 50000000 /dev/zero | tr '\\0' x; echo; exit 0");
  REQUIRE(child.wait(deadline_in(60s)).has_value());
  CHECK(child.captured().size() < k_capture_shown_bytes + 100);
  CHECK(child.captured().find("bytes cut") != std::string::npos);
}

TEST_CASE("a child that is killed before it leads its group ends, too", "[worker][child]") {
  ChildRegistry registry;
  for (int i = 0; i < 40; ++i) REQUIRE(spawn(registry, "sleep 60").kill().signal == SIGKILL);
}

TEST_CASE("killing a child kills what left its group too", "[worker][child][hostile]") {
  ChildRegistry registry;
  Child bystander = spawn(registry, "sleep 60");
  Child child = spawn(registry,
                      "trap '' TERM HUP INT; "
                      "(setsid sh -c 'trap \"\" TERM; echo $$ ready; sleep 61' &); sleep 62");
  pid_t stray = 0;
  REQUIRE(wb::testing::until([&] { return child.captured().find("ready") != std::string::npos; }));
  stray = static_cast<pid_t>(std::stol(child.captured()));
  REQUIRE(is_alive(stray));
  CHECK(::getsid(stray) != ::getsid(child.pid()));
  const ChildEnd end = child.kill();
  CHECK(end.signal == SIGKILL);
  CHECK(ends_soon(stray));
  CHECK(is_alive(bystander.pid()));
  child.kill();  // again: nothing happens
  const pid_t bystander_pid = bystander.pid();
  bystander.kill();
  CHECK(ends_soon(bystander_pid));
}

TEST_CASE("a program that cannot start says so in its output", "[worker][child]") {
  ChildRegistry registry;
  ChildSpec spec;
  spec.argv = {"/no/such/program"};
  auto child = Child::spawn(registry, spec);
  REQUIRE(child.ok());
  CHECK(child->wait(deadline_in(60s))->exit_code == 127);
  CHECK(child->captured().find("execve") != std::string::npos);
}

TEST_CASE("a subject may write to its own folder only", "[worker][child][hostile]") {
  if (landlock_version() == 0) {
    WARN("skipped: this kernel has no Landlock");
    return;
  }
  ChildRegistry registry;
  const auto own = TempDirectory::create("wb-child-own-");
  const auto other = TempDirectory::create("wb-child-other-");
  const std::string outside = (other->path() / "file").string();
  ChildSpec spec = shell_child("echo x > inside && echo inside-ok; echo x > " + outside +
                               " || echo outside-refused; cat /proc/self/comm > /dev/null");
  spec.working_directory = own->path().string();
  spec.confinement.writable_folder = own->path().string();
  auto child = Child::spawn(registry, spec);
  REQUIRE(child.ok());
  REQUIRE(child->wait(deadline_in(60s)).has_value());
  CHECK(child->captured().find("inside-ok") != std::string::npos);
  CHECK(child->captured().find("outside-refused") != std::string::npos);
  CHECK_FALSE(fs::exists(outside));
}

TEST_CASE("how a child ended is said in words", "[worker][child]") {
  CHECK(describe(ChildEnd{7, {}}) == "exited with code 7");
  CHECK(describe(ChildEnd{{}, SIGSEGV}).find("SIGSEGV") != std::string::npos);
}
