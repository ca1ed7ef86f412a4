// SPDX-License-Identifier: MIT
// A subject that meets the machine's limits: the kernel ends it because memory is exhausted (with
// planted /proc and control groups, and in a real group with a small limit if one can be made), or
// refuses its threads.
#include <grp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "core/process.hpp"
#include "device/cpu_limits.hpp"
#include "device/device.hpp"
#include "support/catch.hpp"
#include "support/processes.hpp"
#include "worker/memory.hpp"
#include "worker/subject_process.hpp"

using namespace std::chrono_literals;
using namespace wb;
using namespace wb::testing;
using namespace wb::worker;

namespace {

constexpr std::uint64_t k_mib = 1u << 20;

struct PlantedMemory {
  TempDirectory folder = TempDirectory::create("wb-memory-end").value();
  const fs::path& root = folder.path();

  void write(const fs::path& path, const std::string& text) const {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
  void has(int total_mib, int kills) const {
    write("proc/meminfo",
          "MemTotal:       " + std::to_string(total_mib * 1'024) + " kB\nMemFree: 7 kB\n");
    write("proc/vmstat", "oom_kill_other 9\noom_kill " + std::to_string(kills) + "\npgfault 1\n");
  }
};

ChildEnd killed(std::uint64_t mib) {
  return {.exit_code = {}, .signal = SIGKILL, .max_rss_bytes = mib * k_mib};
}

/// A control group of this test's own below those of this process, which is in it while this lives.
class SmallGroup {
 public:
  /// Nothing, and a word of it, where none can be made or the kernel counts no kills.
  static std::optional<SmallGroup> make(std::uint64_t bytes) {
    if (wb::device::file_content("/proc/vmstat").find("\noom_kill ") == std::string::npos) {
      WARN("skipped: the kernel does not count whom it ends for memory");
      return std::nullopt;
    }
    const auto groups = wb::device::control_groups("memory");
    for (const wb::device::ControlGroup& above : groups) {
      const fs::path folder = above.folder / ("wb-test-" + std::to_string(::getpid()));
      std::error_code error;
      if (!fs::create_directory(folder, error)) continue;
      const char* name = above.is_v2 ? "memory.max" : "memory.limit_in_bytes";
      const bool limited = write(folder / name, std::to_string(bytes));
      // Where there is swap, a full group would go on instead.
      write(folder / (above.is_v2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes"),
            above.is_v2 ? "0" : std::to_string(bytes));
      fs::path own = own_folder(groups, above.is_v2);
      if (limited && write(folder / "cgroup.procs", std::to_string(::getpid()))) {
        return SmallGroup(folder, std::move(own));
      }
      fs::remove(folder, error);
    }
    WARN("skipped: no control group with a limit of memory can be made");
    return std::nullopt;
  }
  SmallGroup(SmallGroup&& other) noexcept
      : m_folder(std::exchange(other.m_folder, {})), m_own(std::move(other.m_own)) {}
  SmallGroup& operator=(SmallGroup&&) = delete;
  ~SmallGroup() {
    if (m_folder.empty()) return;
    write(m_own / "cgroup.procs", std::to_string(::getpid()));
    std::error_code error;
    wb::testing::until([&] { return fs::remove(m_folder, error); });
  }

 private:
  SmallGroup(fs::path folder, fs::path own) : m_folder(std::move(folder)), m_own(std::move(own)) {}
  static fs::path own_folder(const std::vector<wb::device::ControlGroup>& groups, bool is_v2) {
    const auto own = std::find_if(groups.begin(), groups.end(),
                                  [&](const auto& group) { return group.is_v2 == is_v2; });
    return own->folder;
  }
  static bool write(const fs::path& path, const std::string& text) {
    std::ofstream file(path);
    file << text << std::flush;
    return file.good();
  }
  fs::path m_folder, m_own;
};

/// A process that is no subject and takes that much memory.
pid_t start_neighbor(std::uint64_t bytes) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  void* const room =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room != MAP_FAILED) std::memset(room, 1, bytes);
  ::pause();
  ::_exit(0);
}

SubjectProcess start(ChildRegistry& registry, std::vector<std::string> argv) {
  ChildSpec spec;
  spec.argv = std::move(argv);
  spec.confinement.level = Isolation::rlimits;
  for (const int cpu : wb::device::allowed_cpus()) {
    CPU_SET(static_cast<std::size_t>(cpu), &spec.confinement.cpus);
  }
  auto process = SubjectProcess::start(registry, spec, SubjectKind::native);
  if (!process.ok()) FAIL(process.error().message());
  return *std::move(process);
}

Failure failure_of(SubjectProcess& process, const char* op) {
  const auto answer = process.ask({{"op", op}}, {}, {deadline_in(60s), {}});
  REQUIRE_FALSE(answer.ok());
  return answer.error();
}

}  // namespace

TEST_CASE("who held little when memory ran out is not to blame", "[worker][memory]") {
  const PlantedMemory host;
  host.has(1'000, 3);
  CHECK(memory_kills(host.root) == 3);
  CHECK(memory_bound(host.root) == 1'000 * k_mib);
  CHECK(oom_cause(killed(40), 2, host.root) == OomCause::of_others);
  CHECK(oom_cause(killed(499), 2, host.root) == OomCause::of_others);
  CHECK(oom_cause(killed(501), 2, host.root) == OomCause::own);
}

TEST_CASE("an end without a kill for memory is none of these", "[worker][memory]") {
  const PlantedMemory host;
  host.has(1'000, 3);
  CHECK(oom_cause(killed(40), 3, host.root) == OomCause::none);
  CHECK(oom_cause(killed(900), 3, host.root) == OomCause::none);
  ChildEnd end = killed(40);
  end.signal = SIGSEGV;
  CHECK(oom_cause(end, 2, host.root) == OomCause::none);
  end.signal.reset();
  end.exit_code = 1;
  CHECK(oom_cause(end, 2, host.root) == OomCause::none);
  CHECK(oom_cause({}, 2, host.root) == OomCause::none);
}

TEST_CASE("a kernel that counts no kills tells nothing", "[worker][memory]") {
  const PlantedMemory host;
  CHECK(memory_kills(host.root) == 0);
  CHECK(memory_bound(host.root) == 0);
  CHECK(oom_cause(killed(40), 0, host.root) == OomCause::none);
  host.write("proc/vmstat", "oom_kill_other 9\n");
  CHECK(memory_kills(host.root) == 0);
  host.write("proc/vmstat", "oom_kill none\n");
  CHECK(memory_kills(host.root) == 0);
}

TEST_CASE("a control group's limit is what can be had", "[worker][memory]") {
  const PlantedMemory host;
  host.has(1'000, 3);
  host.write("proc/self/cgroup", "0::/a/b\n");
  host.write("proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  host.write("sys/fs/cgroup/a/b/memory.max", "max\n");
  CHECK(memory_bound(host.root) == 1'000 * k_mib);
  host.write("sys/fs/cgroup/a/memory.max", std::to_string(100 * k_mib) + "\n");
  CHECK(memory_bound(host.root) == 100 * k_mib);
  CHECK(oom_cause(killed(40), 2, host.root) == OomCause::of_others);
  CHECK(oom_cause(killed(60), 2, host.root) == OomCause::own);
}

TEST_CASE("a limit of version 1 is read where its controller is mounted", "[worker][memory]") {
  const PlantedMemory host;
  host.has(1'000, 3);
  host.write("proc/self/cgroup", "4:memory:/job\n2:cpu:/other\n0::/\n");
  host.write("proc/self/mountinfo",
             "31 23 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
             "32 23 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  host.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(memory_bound(host.root) == 1'000 * k_mib);
  host.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", std::to_string(64 * k_mib) + "\n");
  CHECK(memory_bound(host.root) == 64 * k_mib);
}

TEST_CASE("a subject that the kernel ends for others' memory is no variant's fault",
          "[worker][memory][killed]") {
  const auto group = SmallGroup::make(96 * k_mib);
  if (!group) return;
  ChildRegistry registry;
  SubjectProcess process = start(registry, {"/bin/sleep", "600"});
  const pid_t pid = process.pid();
  // Too much together, and neither has as much as the kernel takes a subject's to be.
  const std::array<pid_t, 2> neighbors{start_neighbor(72 * k_mib), start_neighbor(72 * k_mib)};
  const Failure failure = failure_of(process, "run");
  INFO(failure.message);
  CHECK(failure.invalidity == Invalidity::environment);
  CHECK(failure.message.find("memory had run out") != std::string::npos);
  CHECK(ends_soon(pid));
  for (const pid_t neighbor : neighbors) {
    ::kill(neighbor, SIGKILL);
    ::waitpid(neighbor, nullptr, 0);
  }
}

TEST_CASE("a subject that takes all memory for itself is to blame", "[worker][memory][killed]") {
  const auto group = SmallGroup::make(96 * k_mib);
  if (!group) return;
  ChildRegistry registry;
  // One line without an end: all of it is kept.
  SubjectProcess process = start(registry, {"/usr/bin/tail", "/dev/zero"});
  const Failure failure = failure_of(process, "run");
  INFO(failure.message);
  CHECK(failure.invalidity == Invalidity::runtime);
  CHECK(failure.message.find("SIGKILL") != std::string::npos);
}

namespace {

constexpr uid_t k_nobody = 61'235;  // whom no other process here is

/// Root has no such limit: somebody else, who may have so many threads, asks.
int startable_of_nobody(rlim_t most, int wanted) {
  return wb::testing::in_child([&] {
    const rlimit limit{most, most};
    const bool is_nobody =
        ::setgroups(0, nullptr) == 0 && ::setresuid(k_nobody, k_nobody, k_nobody) == 0;
    if (!is_nobody || ::setrlimit(RLIMIT_NPROC, &limit) != 0) return 99;
    return startable_threads(wanted);
  });
}

}  // namespace

TEST_CASE("as many threads start as the system allows", "[worker]") {
  CHECK(startable_threads(0) == 0);
  CHECK(startable_threads(5) == 5);
  if (::getuid() != 0) {
    WARN("skipped: only root can become a user without other processes");
    return;
  }
  CHECK(startable_of_nobody(1, 3) == 0);
  CHECK(startable_of_nobody(3, 5) == 2);
  CHECK(startable_of_nobody(64, 5) == 5);
}

TEST_CASE("refused threads are told with their number and what changes it", "[worker]") {
  CHECK(refused_threads() == std::nullopt);
  if (::getuid() != 0) {
    WARN("skipped: only root can become a user without other processes");
    return;
  }
  const int told = wb::testing::in_child([] {
    const rlimit limit{2, 2};
    if (::setresuid(k_nobody, k_nobody, k_nobody) != 0) return 99;
    if (::setrlimit(RLIMIT_NPROC, &limit) != 0) return 98;
    const auto words = refused_threads();
    if (!words) return 1;
    return words->find("start 1 threads more") != std::string::npos &&
                   words->find("ulimit -u") != std::string::npos
               ? 0
               : 2;
  });
  CHECK(told == 0);
}
