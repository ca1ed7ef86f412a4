// SPDX-License-Identifier: MIT
// Quotas of CPU time and shared cores, read from planted /proc and /sys.
#include "device/cpu_limits.hpp"
#include "core/json.hpp"

#include <fstream>

#include "core/files.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::device;

namespace {

/// A host's /proc and /sys in a temporary folder.
struct Planted {
  TempDirectory folder = TempDirectory::create("wb-cpu-limits").value();
  const fs::path& root = folder.path();

  void write(const fs::path& path, const std::string& text) const {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
  /// Version 2 at its usual place, and this process in that group.
  void is_in(const std::string& group, const std::string& mounted = "/") const {
    write("proc/self/cgroup", "1:name=systemd:/elsewhere\n0::" + group + "\n");
    write("proc/self/mountinfo", "24 1 0:22 / /proc rw shared:5 - proc proc rw\n30 24 0:26 " +
                                     mounted +
                                     " /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
  }
  [[nodiscard]] double quota() const {
    const auto quota = CpuGroups(root).quota();
    return quota ? quota->cpus : 0;
  }
};

}  // namespace

TEST_CASE("a quota of version 2 is that of the own group or of one above it", "[device][quota]") {
  const Planted host;
  host.is_in("/user.slice/a.scope");
  CHECK(host.quota() == 0);  // no group says anything
  host.write("sys/fs/cgroup/user.slice/a.scope/cpu.max", "max 100000\n");
  CHECK(host.quota() == 0);
  host.write("sys/fs/cgroup/user.slice/a.scope/cpu.max", "150000 100000\n");
  CHECK(host.quota() == Approx(1.5));
  host.write("sys/fs/cgroup/user.slice/cpu.max", "30000 100000\n");
  const auto quota = CpuGroups(host.root).quota();
  REQUIRE(quota);
  CHECK(quota->cpus == Approx(0.3));
  CHECK(quota->source == (host.root / "sys/fs/cgroup/user.slice/cpu.max").string());
  host.write("sys/fs/cgroup/other/cpu.max", "1000 100000\n");  // of others
  CHECK(host.quota() == Approx(0.3));
}

TEST_CASE("a quota of version 1 is read where its controller is mounted", "[device][quota]") {
  const Planted host;
  host.write("proc/self/cgroup", "3:cpuset:/b\n2:cpuacct,cpu:/a/b\n0::/\n");
  host.write("proc/self/mountinfo",
             "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
             "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
             "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
             "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  const fs::path own = "sys/fs/cgroup/cpu,cpuacct/a/b";
  host.write(own / "cpu.cfs_quota_us", "-1\n");
  host.write(own / "cpu.cfs_period_us", "100000\n");
  CHECK(host.quota() == 0);
  host.write(own / "cpu.cfs_quota_us", "25000\n");
  host.write(own / "cpu.cfs_period_us", "50000\n");
  CHECK(host.quota() == Approx(0.5));
}

TEST_CASE("a container sees its own part of the hierarchy, by either path", "[device][quota]") {
  const Planted host;
  host.write("sys/fs/cgroup/cpu.max", "200000 100000\n");
  host.is_in("/");  // a namespace of its own
  CHECK(host.quota() == Approx(2));
  host.is_in("/docker/12ab", "/docker/12ab");  // the host's path, and only that part mounted
  CHECK(host.quota() == Approx(2));
  host.is_in("/../../elsewhere");  // outside of what is seen
  CHECK(host.quota() == Approx(2));
  host.is_in("/docker/12ab/inner", "/docker/12ab");
  host.write("sys/fs/cgroup/inner/cpu.max", "100000 100000\n");
  CHECK(host.quota() == Approx(1));
}

TEST_CASE("garbled files of the kernel are no quota", "[device][quota]") {
  const Planted host;
  CHECK(host.quota() == 0);  // no /proc at all
  host.is_in("/g");
  for (const char* text : {"", "\n", "30000", "0 100000", "30000 0", "x y", "-5 100000"}) {
    INFO(text);
    host.write("sys/fs/cgroup/g/cpu.max", text);
    CHECK(host.quota() == 0);
  }
  host.write("proc/self/cgroup", "0::\n:\nx\n");
  CHECK(host.quota() == 0);
  host.write("proc/self/mountinfo", "30 24 -\n- - - cgroup2\n");
  CHECK(host.quota() == 0);
}

TEST_CASE("a mount point with blanks in its name is found", "[device][quota]") {
  const Planted host;
  host.write("proc/self/cgroup", "0::/g\n");
  host.write("proc/self/mountinfo", "30 24 0:26 / /mnt/my\\040groups rw - cgroup2 cgroup2 rw\n");
  host.write("mnt/my groups/g/cpu.max", "30000 100000\n");
  CHECK(host.quota() == Approx(0.3));
}

TEST_CASE("stops are those of all groups, in either version's words", "[device][quota]") {
  const Planted host;
  host.is_in("/a/b");
  const CpuGroups groups(host.root);
  CHECK(groups.stops() == CpuGroups::Stops{});
  host.write("sys/fs/cgroup/a/b/cpu.stat",
             "usage_usec 5\nnr_periods 9\nnr_throttled 2\nthrottled_usec 700\n");
  CHECK(groups.stops() == CpuGroups::Stops{2, 700});
  host.write("sys/fs/cgroup/a/cpu.stat", "nr_periods 9\nnr_throttled 1\nthrottled_time 30\n");
  CHECK(groups.stops() == CpuGroups::Stops{3, 730});
}

TEST_CASE("what the worker tells of its CPUs survives the wire", "[device][quota]") {
  const Planted host;
  host.is_in("/g");
  host.write("sys/fs/cgroup/g/cpu.max", "30000 100000\n");
  host.write("sys/devices/system/cpu/online", "0-3\n");
  for (const auto& [cpu, siblings] : {std::pair{0, "0,2"}, {1, "1,3"}, {2, "0,2"}, {3, "1,3"}}) {
    host.write(fs::path("sys/devices/system/cpu") / ("cpu" + std::to_string(cpu)) /
                   "topology/thread_siblings_list",
               std::string(siblings) + "\n");
  }
  const CpuLimits limits = cpu_limits({0, 1, 2}, host.root);
  CHECK(limits.siblings == std::vector<int>{3});
  const auto back = cpu_limits_from_json(to_json(limits));
  REQUIRE(back.ok());
  CHECK(back->siblings == limits.siblings);
  CHECK(back->allowed == limits.allowed);
  CHECK(back->online == std::vector<int>{0, 1, 2, 3});
  REQUIRE(back->quota);
  CHECK(back->quota->cpus == Approx(0.3));
  CHECK(quota_text(*back).find("0.3 CPUs of 3 (") == 0);
  CHECK(is_short(*back));
  CHECK_FALSE(is_short(cpu_limits({0}, "/no/such/root")));
}

TEST_CASE("no more threads run by default than a quota can keep running", "[device][quota]") {
  CpuLimits limits;
  limits.allowed = {0, 1, 2, 3};
  CHECK(default_threads(limits) == 4);
  const auto with = [&limits](double cpus) {
    limits.quota = CpuGroups::Quota{cpus, "f"};
    return default_threads(limits);
  };
  CHECK(with(8) == 4);
  CHECK(with(2.5) == 2);
  CHECK(with(0.3) == 1);
}

TEST_CASE("the least limit of processes is that of any group", "[device][quota]") {
  const Planted host;
  CHECK_FALSE(task_limit(host.root));
  host.is_in("/user.slice/a.scope");
  host.write("sys/fs/cgroup/user.slice/a.scope/pids.max", "max\n");
  CHECK_FALSE(task_limit(host.root));
  host.write("sys/fs/cgroup/user.slice/a.scope/pids.max", "900\n");
  host.write("sys/fs/cgroup/user.slice/pids.max", "80\n");
  const auto limit = task_limit(host.root);
  REQUIRE(limit);
  CHECK(limit->tasks == 80);
  CHECK(limit->source == (host.root / "sys/fs/cgroup/user.slice/pids.max").string());

  const Planted older;
  older.write("proc/self/cgroup", "3:pids:/b\n0::/\n");
  older.write("proc/self/mountinfo",
              "33 31 0:30 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n");
  older.write("sys/fs/cgroup/pids/b/pids.max", "7\n");
  REQUIRE(task_limit(older.root));
  CHECK(task_limit(older.root)->tasks == 7);
}
