// SPDX-License-Identifier: MIT
// What a turn records of quotas and shared cores, from planted /proc and /sys.
#include <fstream>

#include "core/files.hpp"
#include "support/catch.hpp"
#include "worker/cpu_time.hpp"

using namespace wb;
using namespace wb::worker;

namespace {

struct Planted {
  TempDirectory folder = TempDirectory::create("wb-quota").value();
  const fs::path& root = folder.path();

  void write(const fs::path& path, const std::string& text) const {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
  void has_quota() const {
    write("proc/self/cgroup", "0::/g\n");
    write("proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    write("sys/fs/cgroup/g/cpu.max", "30000 100000\n");
    was_stopped(0);
  }
  void was_stopped(int times) const {
    write("sys/fs/cgroup/g/cpu.stat", "nr_throttled " + std::to_string(times) + "\n");
  }
};

}  // namespace

TEST_CASE("a stretch in which a quota stopped the group is told, no other", "[worker][quota]") {
  const Planted host;
  host.has_quota();
  QuotaWatch watch(host.root);
  watch.begin();
  watch.end();
  CHECK_FALSE(watch.was_stopped());
  host.was_stopped(1);  // between two stretches: no call was under way
  watch.begin();
  watch.end();
  CHECK_FALSE(watch.was_stopped());
  watch.begin();
  host.was_stopped(2);
  watch.end();
  watch.begin();
  watch.end();
  CHECK(watch.was_stopped());
  watch.forget();
  CHECK_FALSE(watch.was_stopped());
}

TEST_CASE("without a quota nothing is read and nothing told", "[worker][quota]") {
  const Planted host;
  host.has_quota();
  host.write("sys/fs/cgroup/g/cpu.max", "max 100000\n");
  QuotaWatch watch(host.root);
  watch.begin();
  host.was_stopped(7);
  watch.end();
  CHECK_FALSE(watch.was_stopped());
}

TEST_CASE("work on the other thread of a core is told", "[worker][quota]") {
  const Planted host;
  WorkerCpus place{.root = host.root, .allowed = {0}, .siblings = {1}, .cores = 1};
  host.write("proc/stat", "cpu0 0 0 0 0 0 0 0 0\ncpu1 10 0 0 0 0 0 0 0\n");
  const SiblingWatch watch(place);
  CHECK(watch.mean() == 0);
  host.write("proc/stat", "cpu0 0 0 0 0 0 0 0 0\ncpu1 100000 0 0 0 0 0 0 0\n");
  CHECK(watch.mean() > 0.25);
  CHECK(SiblingWatch(WorkerCpus{.root = host.root}).mean() == 0);
  CHECK(SiblingWatch(WorkerCpus{.root = "/no/such/root", .siblings = {1}}).mean() == 0);
}

TEST_CASE("who works on a core of the subject's shares it", "[worker][quota]") {
  // Two hardware threads a core: what others do on the one is felt on the other.
  const WorkerCpus one_core{.allowed = {0, 1}, .cores = 1},
      four{.allowed = {0, 1, 2, 3, 4, 5, 6, 7}, .cores = 4};
  CHECK(shares_cores(one_core, 1, 0, 1.0));
  CHECK_FALSE(shares_cores(one_core, 1, 0, 0.1));
  CHECK_FALSE(shares_cores(four, 2, 0, 1.0));  // there are cores for both
  CHECK(shares_cores(four, 4, 0, 1.0));
  // Without such threads, who waits is asked, as ever; and so it is where it has all of them.
  CHECK_FALSE(shares_cores({.allowed = {0, 1}, .cores = 2}, 2, 0, 1.0));
  CHECK_FALSE(shares_cores(one_core, 2, 0, 1.0));
  CHECK_FALSE(shares_cores(one_core, 1, 0, std::nullopt));
  // CPUs that may not be used here.
  CHECK(shares_cores({.allowed = {0}, .siblings = {1}, .cores = 1}, 1, 0.5, 0.0));
  CHECK_FALSE(shares_cores({.allowed = {0}, .siblings = {1}, .cores = 1}, 1, 0.2, 0.0));
}
