// SPDX-License-Identifier: MIT
// A subject that another process ends while it is loaded: the machine is at fault, not the variant.
#include <csignal>

#include <algorithm>

#include "device/device.hpp"
#include "support/catch.hpp"
#include "support/process_probe.hpp"
#include "worker/process_table.hpp"
#include "worker/subject_factory.hpp"
#include "worker_under_test.hpp"

using namespace std::chrono_literals;
using namespace wb;
using namespace wb::testing;
using namespace wb::worker;

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
