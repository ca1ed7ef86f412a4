// SPDX-License-Identifier: MIT
// SIGKILL at every step of a session and, for what happens inside git, at random moments: nothing
// acknowledged is lost, nothing is doubled, closed iterations end up committed once.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>
#include <set>
#include <thread>

#include "core/json.hpp"
#include "support/file_systems.hpp"
#include "support/processes.hpp"
#include "unit/session/example_session.hpp"
#include "unit/session/scratch.hpp"

using namespace wb;
using namespace wb::session;
using namespace wb::testing;

namespace {

/// Counts that a child leaves behind.
struct Shared {
  std::int64_t acknowledged = 0;
  std::int64_t calls = 0;
};

class SharedMemory {
 public:
  SharedMemory()
      : m_memory(::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0)) {
    if (m_memory == MAP_FAILED) throw std::runtime_error("no shared memory");
    new (m_memory) Shared();
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory() { ::munmap(m_memory, sizeof(Shared)); }
  Shared* operator->() const { return static_cast<Shared*>(m_memory); }
  Shared& operator*() const { return *static_cast<Shared*>(m_memory); }

 private:
  void* m_memory;
};

/// Kills its own process before or after the nth call that changes something.
class KillingFileSystem final : public testing::ForwardingFileSystem {
 public:
  enum class When { before, torn, after };
  KillingFileSystem(Shared& shared, int nth, When when)
      : m_shared(shared), m_nth(nth), m_when(when) {}

  Result<void> write_atomic(const fs::path& path, std::string_view bytes,
                            Durability durability) override {
    return around([&] { return m_real.write_atomic(path, bytes, durability); });
  }
  Result<void> make_directories(const fs::path& path) override {
    return around([&] { return m_real.make_directories(path); });
  }
  Result<void> make_directory(const fs::path& path) override {
    return around([&] { return m_real.make_directory(path); });
  }
  Result<std::unique_ptr<AppendFile>> open_append(const fs::path& path) override {
    WB_TRY_ASSIGN(auto file, m_real.open_append(path));
    return std::unique_ptr<AppendFile>(std::make_unique<File>(*this, std::move(file)));
  }

 private:
  class File final : public AppendFile {
   public:
    File(KillingFileSystem& files, std::unique_ptr<AppendFile> inner)
        : m_files(files), m_inner(std::move(inner)) {}
    Result<void> append_synced(std::string_view bytes) override {
      if (m_files.m_when == When::torn && m_files.m_shared.calls + 1 == m_files.m_nth) {
        WB_TRY(m_inner->append_synced(bytes.substr(0, bytes.size() / 2)));
      }
      return m_files.around([&] { return m_inner->append_synced(bytes); });
    }
    Result<void> truncate(std::uint64_t size) override {
      return m_files.around([&] { return m_inner->truncate(size); });
    }
    [[nodiscard]] std::uint64_t size_bytes() const override { return m_inner->size_bytes(); }

   private:
    KillingFileSystem& m_files;
    std::unique_ptr<AppendFile> m_inner;
  };

  template <typename Call>
  Result<void> around(Call call) {
    const bool now = ++m_shared.calls == m_nth;
    if (now && m_when != When::after) ::kill(::getpid(), SIGKILL);
    Result<void> done = call();
    if (now) ::kill(::getpid(), SIGKILL);
    return done;
  }

  Shared& m_shared;
  int m_nth;
  When m_when;
};

using When = KillingFileSystem::When;

/// Opens the folder as its next owner and checks what must hold.
void check_after_kill(const fs::path& folder, std::int64_t acknowledged) {
  RealFileSystem files;
  WaitingClock clock;  // a lock left behind has to grow old
  clock.advance(std::chrono::hours(2));
  const Result<Session> opened = Session::open_owner(files, clock, folder);
  if (!opened.ok()) {
    INFO(opened.error().message());
    REQUIRE(acknowledged == 0);
    return;
  }
  REQUIRE(opened->log().size() >= acknowledged);
  const SessionView view = must(opened->view(FoldDepth::full));
  std::set<std::string> oids;
  const Repository repository = must(Repository::open_or_create(folder));
  for (const IterationView& iteration : view.iterations) {
    REQUIRE(iteration.is_closed() == iteration.committed.has_value());
    if (!iteration.committed) continue;
    const auto oid = iteration.committed->payload["oid"].get<std::string>();
    REQUIRE(oids.insert(oid).second);
    const auto trailers = must(repository.trailers(oid));
    REQUIRE(trailers.at(0).second == std::to_string(iteration.number));
    REQUIRE(trailers.back().second == opened->log().line_hash(iteration.closed->seq));
    for (const auto& [name, sha256] : iteration.closed->payload["pages"].items()) {
      REQUIRE(repository.file_at(oid, "iterations/" + name).ok());
    }
  }
  // No commit was made on a branch that had moved: each went where it belongs. (A stale lock that
  // was removed is no fault.)
  for (const Fact& recovery : view.recoveries) {
    const auto reason = recovery.payload["reason"].get<std::string>();
    INFO(reason);
    REQUIRE(reason.find("had moved") == std::string::npos);
  }
}

/// Runs the example in a child that is killed at the nth call; false when it ran to its end.
bool run_killed(const fs::path& folder, Shared& shared, int nth, When when) {
  const int code = in_child([&] {
    KillingFileSystem files(shared, nth, when);
    FakeClock clock;
    const auto done = run_example(files, clock, folder,
                                  [&](std::int64_t events) { shared.acknowledged = events; });
    return done.ok() ? 0 : 1;
  });
  REQUIRE(code != 1);
  return code != 0;
}

}  // namespace

TEST_CASE("a session killed at any of its steps goes on", "[session][kill]") {
  int kills = 0;
  for (const When when : {When::before, When::torn, When::after}) {
    for (int nth = 1;; ++nth) {
      const Scratch scratch;
      const SharedMemory shared;
      if (!run_killed(scratch / "s", *shared, nth, when)) break;
      ++kills;
      INFO("kill " << nth << " when " << static_cast<int>(when));
      check_after_kill(scratch / "s", shared->acknowledged);
    }
  }
  CHECK(kills > 200);
}

TEST_CASE("a recovery that is killed itself is repeated", "[session][kill]") {
  int second_kills = 0;
  for (const int first : {30, 41, 47, 58, 64}) {
    for (int second = 1;; ++second) {
      const Scratch scratch;
      const SharedMemory shared;
      REQUIRE(run_killed(scratch / "s", *shared, first, When::torn));
      shared->calls = 0;
      const int code = in_child([&] {
        KillingFileSystem files(*shared, second, second % 2 == 0 ? When::before : When::after);
        FakeClock clock;
        return Session::open_owner(files, clock, scratch / "s").ok() ? 0 : 1;
      });
      REQUIRE(code != 1);
      INFO("first " << first << " second " << second);
      check_after_kill(scratch / "s", shared->acknowledged);
      if (code == 0) break;
      ++second_kills;
    }
  }
  CHECK(second_kills >= 5);
}

TEST_CASE("a session killed at random moments, inside git too, goes on", "[session][kill]") {
  std::mt19937 random(20261120);
  std::uniform_int_distribution<int> wait_us(0, 60'000);
  int killed = 0;
  for (int round = 0; round < 60; ++round) {
    const Scratch scratch;
    const SharedMemory shared;
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      RealFileSystem files;
      FakeClock clock;
      auto session = Session::create(files, clock, scratch / "s", example_identity());
      if (!session.ok()) ::_exit(1);
      shared->acknowledged = 1;
      for (std::int64_t i = 0; i < 1000; ++i) {
        if (!run_iteration(*session, clock, i, "cpu_" + std::to_string(i)).ok()) ::_exit(1);
        shared->acknowledged = session->log().size();
      }
      ::_exit(0);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(wait_us(random)));
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    killed += WIFSIGNALED(status) ? 1 : 0;
    INFO("round " << round);
    check_after_kill(scratch / "s", shared->acknowledged);
  }
  CHECK(killed > 30);
}
