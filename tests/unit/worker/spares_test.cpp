// SPDX-License-Identifier: MIT
// The processes that wait for subjects on a GPU: Python's, which are started side by side, and
// those of compiled ones. The loop is the real one; what it does with a GPU is played by a module
// that the tests write.
#include <csignal>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <set>
#include <thread>

#include "device/device.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/processes.hpp"
#include "worker/hello.hpp"
#include "worker/subject_factory.hpp"

using namespace std::chrono_literals;
using namespace wb;
using namespace wb::device;
using namespace wb::worker;
using wb::testing::ends_soon;
using wb::testing::is_alive;

namespace {

constexpr std::size_t k_most_spares = 8;  // docs/contracts/worker_protocol.md, "Subjects"

/// Has its context once no file "held" lies beside it, and leaves a mark in its folder when it has
/// imported and when it is ready.
constexpr const char* k_played_gpu = R"(
import os
import time
import sdpa_wb_subject as loop

class GpuSubject(loop.Subject):
    def __init__(self, channel, gpu):
        super().__init__(channel)
        self.gpu = gpu
        open("imported", "w").close()

    def ping(self, message, fds):
        place = os.path.dirname(os.path.abspath(loop.__file__))
        if os.path.exists(os.path.join(place, "broken")):
            raise RuntimeError("no context on device %d" % self.gpu)
        while os.path.exists(os.path.join(place, "held")):
            time.sleep(0.01)
        open("ready", "w").close()
        return super().ping(message, fds)
)";

constexpr const char* k_attention = R"(
def sdpa(q, k, v, *, causal, scale, mask, out, lse):
    pass
)";

/// A factory as the supervisor of a GPU has it.
struct SpareBench {
  TempDirectory folder = *TempDirectory::create("wb-spares-");
  ChildRegistry registry;
  Store store = *Store::create();
  std::string sha256 = *store.add(k_attention);
  SubjectSetting setting;
  std::optional<SubjectFactory> factory;

  explicit SpareBench(std::optional<int> gpu = 0) {
    const fs::path loop = source_dir() / "bindings" / "sdpa_workbench";
    for (const char* file : {"subject.py", "subject_tensors.py"}) {
      fs::copy_file(loop / file, folder.path() / file);
    }
    std::ofstream(folder.path() / "subject_gpu.py") << k_played_gpu;
    setting.own_program = binary_dir() / "sdpa-wb-worker";
    setting.python = *find_python("python3");
    setting.python_script = (folder.path() / "subject.py").string();
    CPU_ZERO(&setting.cpus);
    for (const int cpu : allowed_cpus()) CPU_SET(static_cast<std::size_t>(cpu), &setting.cpus);
    setting.gpu = gpu;
    factory.emplace(registry, store, setting);
  }
  /// A new factory, on so many CPUs, of which this machine need not have all.
  void have_cpus(int wanted) {
    const std::vector<int> own = allowed_cpus();
    CPU_ZERO(&setting.cpus);
    for (int at = 0; CPU_COUNT(&setting.cpus) < wanted; ++at) {
      const int cpu = at < std::ssize(own) ? own[at] : at;
      CPU_SET(static_cast<std::size_t>(cpu), &setting.cpus);
    }
    factory.emplace(registry, store, setting);
  }
  /// The loop plays the processes of compiled subjects, too.
  void play_compiled() {
    const fs::path program = folder.path() / "played-worker";
    std::ofstream(program) << "#!/bin/sh\nexec " << setting.python << " -I -B -u "
                           << setting.python_script << " \"$2\"\n";
    fs::permissions(program, fs::perms::owner_all);
    setting.own_program = program.string();
    factory.emplace(registry, store, setting);
  }
  static Wait wait() { return {deadline_in(60s), {}}; }
  Outcome<LoadedSubject> try_load() {
    protocol::LoadArgs args;
    args.subject = "played";
    args.backend = "python";
    args.entry = "attention:sdpa";
    args.files = {{"attention.py", sha256}};
    return factory->load(args, wait());
  }
  LoadedSubject load() {
    auto loaded = try_load();
    if (!loaded.ok()) FAIL(loaded.error().message << "\n" << loaded.error().untrusted_output);
    return *std::move(loaded);
  }
  /// Names of the folders that subject processes have.
  [[nodiscard]] std::set<std::string> scratch_folders() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(store.folder())) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("scratch-")) found.insert(name);
    }
    return found;
  }
  [[nodiscard]] std::size_t marked(const char* mark) const {
    const auto folders = scratch_folders();
    return static_cast<std::size_t>(std::count_if(
        folders.begin(), folders.end(),
        [&](const std::string& name) { return fs::exists(store.folder() / name / mark); }));
  }
  [[nodiscard]] std::size_t ready() const { return marked("ready"); }
  /// Waits until so many have imported their libraries.
  [[nodiscard]] bool imported(std::size_t wanted) const {
    return wb::testing::until([&] { return marked("imported") >= wanted; }) &&
           marked("imported") == wanted;
  }
  /// Of all processes that run this bench's loop. They must have got that far: see ready().
  [[nodiscard]] std::set<pid_t> loops() const {
    const std::string script = (folder.path() / "subject.py").string();
    std::set<pid_t> found;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string name = entry.path().filename().string();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      std::ifstream file(entry.path() / "cmdline");
      const std::string line{std::istreambuf_iterator<char>(file), {}};
      if (line.find(script) != std::string::npos) found.insert(std::stoi(name));
    }
    return found;
  }
};

}  // namespace

TEST_CASE("Python processes are started side by side, at most eight", "[worker][python]") {
  SpareBench bench;
  std::ofstream(bench.folder.path() / "held") << "";
  bench.factory->start_python_spares(3);
  CHECK(bench.registry.size() == 3);
  bench.factory->start_python_spares(3);  // they wait already
  bench.factory->start_python_spares(1);
  CHECK(bench.registry.size() == 3);
  bench.factory->start_python_spares(20);
  CHECK(bench.registry.size() == k_most_spares);
  CHECK(bench.scratch_folders().size() == k_most_spares);
  CHECK(bench.ready() == 0);  // none was waited for
  fs::remove(bench.folder.path() / "held");
  bench.factory->await_spares(SpareBench::wait());
  CHECK(bench.ready() == k_most_spares);
  CHECK(bench.loops().size() == k_most_spares);
}

TEST_CASE("a load takes the Python process that waits longest", "[worker][python]") {
  SpareBench bench;
  bench.factory->start_python_spares(2);
  bench.factory->await_spares(SpareBench::wait());
  const std::set<pid_t> waiting = bench.loops();
  REQUIRE(waiting.size() == 2);
  const LoadedSubject first = bench.load(), second = bench.load();
  CHECK(bench.registry.size() == 2);
  CHECK(first.process.kind() == SubjectKind::python);
  CHECK(first.scratch.path().filename() == "scratch-1");
  CHECK(second.scratch.path().filename() == "scratch-2");
  CHECK(std::set{first.process.pid(), second.process.pid()} == waiting);
  // None is left, so the next starts its own; none is started beside it.
  const LoadedSubject third = bench.load();
  CHECK_FALSE(waiting.contains(third.process.pid()));
  CHECK(bench.registry.size() == 3);
  // What was loaded counts no more among those that wait.
  bench.factory->start_python_spares(1);
  CHECK(bench.registry.size() == 4);
}

TEST_CASE("a built-in starts a Python process of its own", "[worker][python]") {
  SpareBench bench;
  bench.factory->start_python_spares(2);
  const auto empty = bench.factory->load_builtin(SubjectKind::python, "empty", SpareBench::wait(),
                                                 SubjectFactory::From::spare);
  REQUIRE(empty.ok());
  CHECK(bench.registry.size() == 3);
  CHECK(empty->scratch.path().filename() == "scratch-3");
  CHECK(bench.load().scratch.path().filename() == "scratch-1");
}

TEST_CASE("Python processes that no load took are dropped", "[worker][python]") {
  SpareBench bench;
  bench.factory->start_python_spares(3);
  bench.factory->await_spares(SpareBench::wait());
  const LoadedSubject loaded = bench.load();
  std::set<pid_t> waiting = bench.loops();
  waiting.erase(loaded.process.pid());
  REQUIRE(waiting.size() == 2);
  bench.factory->start_spares(1);  // for compiled subjects
  const std::size_t compiled = bench.registry.size() - 3;
  CHECK(compiled > 0);
  bench.factory->let_python_sleep(0);
  for (const pid_t pid : waiting) CHECK(ends_soon(pid));
  CHECK(is_alive(loaded.process.pid()));
  CHECK(bench.registry.size() == 1 + compiled);
  bench.factory->start_python_spares(1);
  CHECK(bench.registry.size() == 2 + compiled);
  bench.factory->drop_spares();  // of both kinds
  CHECK(bench.registry.size() == 1);
  CHECK(bench.scratch_folders() == std::set{loaded.scratch.path().filename().string()});
}

TEST_CASE("asleep, Python processes import and make no context until they are wanted",
          "[worker][python]") {
  SpareBench bench;
  bench.have_cpus(8);
  bench.factory->let_python_sleep(2);
  bench.factory->let_python_sleep(2);  // as many sleep already
  bench.factory->let_python_sleep(0);  // who is asleep disturbs nobody
  CHECK(bench.registry.size() == 2);
  REQUIRE(bench.imported(2));
  bench.factory->await_spares(SpareBench::wait());  // none of those that nobody woke
  CHECK(bench.ready() == 0);
  const std::set<pid_t> asleep = bench.loops();
  // Both are woken, and a third starts beside them.
  bench.factory->start_python_spares(3);
  CHECK(bench.registry.size() == 3);
  bench.factory->await_spares(SpareBench::wait());
  CHECK(bench.ready() == 3);
  const LoadedSubject first = bench.load();
  CHECK(asleep.contains(first.process.pid()));
  // Those that are awake and were not loaded are ended, and others sleep in their place.
  bench.factory->let_python_sleep(1);
  CHECK(bench.registry.size() == 2);
  REQUIRE(bench.imported(2));
  CHECK(bench.ready() == 1);  // the loaded one
  for (const pid_t pid : asleep) CHECK((pid == first.process.pid() || ends_soon(pid)));
  // A load that nobody announced wakes it, too.
  const LoadedSubject second = bench.load();
  CHECK(bench.registry.size() == 2);
  CHECK(bench.ready() == 2);
}

TEST_CASE("Python processes sleep beside turns only where there are CPUs for them",
          "[worker][python]") {
  SpareBench bench;
  bench.have_cpus(3);
  bench.factory->let_python_sleep(2);
  CHECK(bench.registry.size() == 0);
  bench.have_cpus(4);
  bench.factory->let_python_sleep(2);
  CHECK(bench.registry.size() == 1);
  SpareBench on_cpu(std::nullopt);
  on_cpu.have_cpus(8);
  on_cpu.factory->let_python_sleep(2);
  CHECK(on_cpu.registry.size() == 0);
}

TEST_CASE("one that died asleep is found out by the load that takes it", "[worker][python]") {
  SpareBench bench;
  bench.have_cpus(4);
  bench.factory->let_python_sleep(1);
  REQUIRE(bench.imported(1));
  // Whether its end is seen when it is woken, or only behind that.
  const bool is_gone = GENERATE(true, false);
  CAPTURE(is_gone);
  for (const pid_t pid : bench.loops()) {
    REQUIRE(::kill(pid, SIGKILL) == 0);
    if (is_gone) REQUIRE(ends_soon(pid));
  }
  bench.factory->start_python_spares(1);
  const auto refused = bench.try_load();
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().invalidity == Invalidity::environment);
  CHECK(refused.error().message.find("deadline") == std::string::npos);  // at once
  bench.factory->drop_spares();
  CHECK(is_alive(bench.load().process.pid()));
}

TEST_CASE("Python processes that wait end with the session", "[worker][python]") {
  SpareBench bench;
  bench.factory->start_python_spares(2);
  bench.factory->await_spares(SpareBench::wait());
  const std::set<pid_t> waiting = bench.loops();
  REQUIRE(waiting.size() == 2);
  bench.factory.reset();
  for (const pid_t pid : waiting) CHECK(ends_soon(pid));
  CHECK(bench.registry.size() == 0);
  CHECK(bench.scratch_folders().empty());
}

TEST_CASE("a Python process that does not start is found out by the load that takes it",
          "[worker][python]") {
  SpareBench bench;
  std::ofstream(bench.folder.path() / "broken") << "";
  bench.factory->start_python_spares(2);
  bench.factory->await_spares(SpareBench::wait());
  fs::remove(bench.folder.path() / "broken");
  const auto refused = bench.try_load();
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().invalidity == Invalidity::environment);
  CHECK(refused.error().message.find("could not start on the GPU") != std::string::npos);
  // Its own answer, not that none came.
  CHECK(refused.error().message.find("no context on device 0") != std::string::npos);
  // As the supervisor does: without those that waited, a new one shows that the machine is well.
  bench.factory->drop_spares();
  const LoadedSubject loaded = bench.load();
  CHECK(is_alive(loaded.process.pid()));
}

TEST_CASE("no Python process waits on a CPU or without an interpreter", "[worker][python]") {
  SpareBench on_cpu(std::nullopt);
  on_cpu.factory->start_python_spares(3);
  CHECK(on_cpu.registry.size() == 0);
  CHECK(is_alive(on_cpu.load().process.pid()));
  SpareBench without;
  without.factory->set_python({}, {});
  without.factory->start_python_spares(3);
  CHECK(without.registry.size() == 0);
}

TEST_CASE(
    "processes of compiled subjects are started for the loads before turns, none beside turns",
    "[worker][spares]") {
  SpareBench bench;
  bench.factory->start_spares(2);  // turns are likely: their process would disturb them
  bench.factory->start_spares(7);
  CHECK(bench.registry.size() == 0);
  bench.factory->start_spares(1);
  CHECK(bench.registry.size() == 1);
  bench.factory->start_spares(0);
  CHECK(bench.registry.size() == 2);
  bench.factory->start_spares(1);  // those that wait are kept
  bench.factory->start_spares(0);
  CHECK(bench.registry.size() == 2);
  SpareBench on_cpu(std::nullopt);  // where a process is there in 3 ms
  on_cpu.factory->start_spares(7);
  CHECK(on_cpu.registry.size() == 1);
}

TEST_CASE("what is timed waits until no compiled subject's process is making its context",
          "[worker][spares]") {
  SpareBench bench;
  bench.play_compiled();
  std::ofstream(bench.folder.path() / "held") << "";
  bench.factory->start_spares(0);
  REQUIRE(bench.imported(2));
  CHECK(bench.ready() == 0);
  std::atomic<bool> is_asked{false};
  std::jthread driver([&] {
    wb::testing::until([&] { return is_asked.load(); });
    fs::remove(bench.folder.path() / "held");
  });
  is_asked = true;
  bench.factory->await_spares(SpareBench::wait());
  CHECK(bench.ready() == 2);
  const std::set<pid_t> waiting = bench.loops();
  bench.factory->await_spares(SpareBench::wait());  // at once
  CHECK(bench.loops() == waiting);
}

TEST_CASE("a compiled subject's process that gets no context holds nothing up",
          "[worker][spares]") {
  SpareBench bench;
  bench.play_compiled();
  std::ofstream(bench.folder.path() / "broken") << "";
  bench.factory->start_spares(0);
  bench.factory->await_spares(SpareBench::wait());
  bench.factory->await_spares(SpareBench::wait());
  CHECK(bench.ready() == 0);
}
