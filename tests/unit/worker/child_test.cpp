// SPDX-License-Identifier: MIT
// The supervisor's child processes: how they start and end, by what role, and whose fault it is
// when another process ends one.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "device/device.hpp"
#include "support/catch.hpp"
#include "support/processes.hpp"
#include "worker/child.hpp"
#include "worker/process_table.hpp"
#include "worker/roles.hpp"
#include "worker/subject_factory.hpp"
#include "worker_under_test.hpp"

using namespace std::chrono_literals;
using namespace wb::testing;
using namespace wb::worker;
using namespace wb;
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

TEST_CASE("the GPU of a role is read as it was written", "[worker][roles]") {
  CHECK(parse_gpu_argument(gpu_argument(0)) == 0);
  CHECK(parse_gpu_argument(gpu_argument(15)) == 15);
  for (const char* text : {"", "--gpu", "--gpu=", "--gpu=x", "--gpu=1x", "--cpu=1"}) {
    INFO(text);
    CHECK_FALSE(parse_gpu_argument(text).has_value());
  }
}

TEST_CASE("a role on a GPU sees the devices that this process sees, and nothing else",
          "[worker][roles]") {
  ::setenv("CUDA_VISIBLE_DEVICES", "3", 1);
  ::setenv("WB_TEST_SECRET", "x", 1);
  const auto variables = gpu_environment();
  CHECK(variables.at("CUDA_VISIBLE_DEVICES") == "3");
  CHECK_FALSE(variables.contains("WB_TEST_SECRET"));
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  ::unsetenv("WB_TEST_SECRET");
  CHECK_FALSE(gpu_environment().contains("CUDA_VISIBLE_DEVICES"));
}

TEST_CASE("who is ended from outside while it is loaded has done nothing", "[worker]") {
  ChildRegistry registry;
  Store store = *Store::create();
  SubjectSetting setting;
  setting.own_program = binary_dir() / "sdpa-wb-worker";
  setting.isolation = Isolation::rlimits;  // so that it is a child of this process itself
  CPU_ZERO(&setting.cpus);
  for (const int cpu : wb::device::allowed_cpus()) {
    CPU_SET(static_cast<std::size_t>(cpu), &setting.cpus);
  }
  protocol::LoadArgs args;
  args.subject = "honest";
  args.backend = "cpu";
  args.build_id = "hostile_honest";
  args.artifact_sha256 = *store.add(hostile_library("honest"));
  SubjectFactory factory(registry, store, setting);
  const std::vector<pid_t> before = children_of(::getpid());
  factory.start_spares(0);
  int ended = 0;
  for (const pid_t pid : children_of(::getpid())) {
    if (std::find(before.begin(), before.end(), pid) != before.end()) continue;
    REQUIRE(::kill(pid, SIGKILL) == 0);
    REQUIRE(ends_soon(pid));
    ++ended;
  }
  REQUIRE(ended == 1);
  const auto refused = factory.load(args, {deadline_in(60s), {}});
  REQUIRE_FALSE(refused.ok());
  INFO(refused.error().message);
  CHECK(refused.error().invalidity == Invalidity::environment);
  CHECK(refused.error().message.find("ended from outside") != std::string::npos);
  const auto again = factory.load(args, {deadline_in(60s), {}});
  CHECK(again.ok());
}
