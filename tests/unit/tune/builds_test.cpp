// SPDX-License-Identifier: MIT
// The queue of builds ahead of a tune, where its builders may run, and how equal code is
// recognized.
#include "tune/builds.hpp"

#include <atomic>
#include <set>
#include <vector>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "support/catch.hpp"
#include "support/processes.hpp"
#include "tune_bench.hpp"

using namespace wb;
using namespace wb::device;
using namespace wb::engine;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::tune;
using namespace wb::variant;

using testing::k_best;
using testing::plant_bowl;
using testing::TuneBench;
using testing::until;

namespace {

Device cpu_device(const std::string& set) {
  Device device;
  device.backend = "cpu";
  device.id = "cpu:Some CPU: with a colon:" + set;
  return device;
}

std::vector<BuildQueue::Built> take_all(BuildQueue& queue) {
  std::vector<BuildQueue::Built> all;
  while (!queue.is_idle()) {
    for (auto& built : queue.take(std::chrono::milliseconds(20))) all.push_back(std::move(built));
  }
  return all;
}

Outcome<Subject> nothing(const Configuration&) {
  return Subject{};
}

}  // namespace

TEST_CASE("builders keep off the device's CPUs, or take turns with it", "[engine][tune]") {
  const std::vector<int> four{0, 1, 2, 3};
  const BuildCpus beside = choose_build_cpus(cpu_device("0-1"), "local", four);
  CHECK(beside.overlaps);
  CHECK(beside.cpus == std::vector<int>{2, 3});
  CHECK(beside.builders == 2);
  CHECK(beside.lent_cpus == std::vector<int>{0, 1});
  const BuildCpus turns = choose_build_cpus(cpu_device("0-3"), "local", four);
  CHECK_FALSE(turns.overlaps);
  CHECK(turns.builders == 4);
  CHECK(turns.cpus.empty());
  CHECK(turns.lent_cpus.empty());
  // Not known: as if they were the same.
  CHECK_FALSE(choose_build_cpus(cpu_device("?"), "local", four).overlaps);
  // A container shares this machine's CPUs, another node does not.
  CHECK_FALSE(choose_build_cpus(cpu_device("0-3"), "docker exec -i box", four).overlaps);
  CHECK(choose_build_cpus(cpu_device("0-3"), "ssh node7", four).overlaps);
  Device gpu;
  gpu.backend = "cuda";
  gpu.id = "GPU-1";
  CHECK(choose_build_cpus(gpu, "local", four).overlaps);
  CHECK(choose_build_cpus(gpu, "local", four).builders == 2);
  CHECK(choose_build_cpus(gpu, "ssh node7", four).builders == 4);
  CHECK(choose_build_cpus(gpu, "local", {0}).builders == 1);
}

TEST_CASE("each wish is built once, however often it is wished", "[engine][tune]") {
  std::atomic<int> calls{0}, wished{0};
  BuildQueue queue(
      [&](const Configuration&) -> Outcome<Subject> {
        ++calls;
        const int before = wished;  // it is wished once more while it is built
        until([&] { return wished > before; });
        return Subject{};
      },
      {.overlaps = true, .builders = 3, .cpus = {}, .lent_cpus = {}});
  std::vector<Configuration> wishes;
  for (std::int64_t i = 0; i < 12; ++i) wishes.push_back({{"M0", i}});
  std::set<Configuration> seen;
  for (std::size_t from = 0; seen.size() < wishes.size(); from = (from + 1) % 4) {
    std::vector<Configuration> missing;
    for (const auto& wish : wishes) {
      if (!seen.contains(wish)) missing.push_back(wish);
    }
    queue.want(missing);
    ++wished;
    for (auto& built : queue.take(std::chrono::milliseconds(5))) {
      CHECK(seen.insert(built.configuration).second);
    }
  }
  CHECK(calls == 12);
}

TEST_CASE("wishes that are dropped are not built", "[engine][tune]") {
  std::atomic<bool> go{false};
  std::atomic<int> calls{0};
  BuildQueue queue(
      [&](const Configuration&) -> Outcome<Subject> {
        ++calls;
        until([&] { return go.load(); });
        return Subject{};
      },
      {.overlaps = true, .builders = 1, .cpus = {}, .lent_cpus = {}});
  queue.want({{{"M0", 1}}, {{"M0", 2}}, {{"M0", 3}}});
  REQUIRE(until([&] { return calls == 1; }));
  queue.want({{{"M0", 3}}, {{"M0", 1}}});  // 1 runs already
  go = true;
  const auto built = take_all(queue);
  REQUIRE(built.size() == 2);
  CHECK(built[0].configuration == Configuration{{"M0", 1}});
  CHECK(built[1].configuration == Configuration{{"M0", 3}});
}

TEST_CASE("the device's own CPUs build only while they are lent", "[engine][tune]") {
  std::atomic<int> started{0}, may_end{0}, uninvited{0};
  std::atomic<bool> is_lent{false};
  std::atomic<std::thread::id> builder{};
  BuildQueue queue(
      [&](const Configuration& wanted) -> Outcome<Subject> {
        if (started++ == 0) builder = std::this_thread::get_id();
        if (builder.load() != std::this_thread::get_id() && !is_lent) ++uninvited;
        until([&] { return may_end >= wanted.at("M0"); });
        return Subject{};
      },
      {.overlaps = true, .builders = 1, .cpus = {}, .lent_cpus = {0}});
  queue.want({{{"M0", 1}}, {{"M0", 2}}, {{"M0", 3}}, {{"M0", 4}}});
  REQUIRE(until([&] { return started == 1; }));
  CHECK(queue.is_returned());
  is_lent = true;
  queue.lend(true);
  REQUIRE(until([&] { return started == 2; }));  // the guest's
  queue.lend(false);
  is_lent = false;
  CHECK_FALSE(queue.is_returned());  // a turn now would run beside it
  may_end = 2;
  REQUIRE(until([&] { return queue.is_returned(); }));
  REQUIRE(until([&] { return started == 3; }));  // the builder's own next
  may_end = 4;
  CHECK(take_all(queue).size() == 4);
  CHECK(uninvited == 0);
}

TEST_CASE("a builder that throws fails its build, not the process", "[engine][tune]") {
  BuildQueue queue(
      [](const Configuration&) -> Outcome<Subject> { throw std::runtime_error("out of memory"); },
      {.overlaps = false, .builders = 2, .cpus = {}, .lent_cpus = {}});
  queue.want({{{"M0", 1}}});
  const auto built = take_all(queue);
  REQUIRE(built.size() == 1);
  REQUIRE_FALSE(built[0].subject.ok());
  CHECK(built[0].subject.error().invalidity == Invalidity::environment);
  CHECK(built[0].subject.error().message.find("out of memory") != std::string::npos);
}

TEST_CASE("a queue that goes away finishes what runs and drops the rest", "[engine][tune]") {
  constexpr int k_wishes = 1'000;  // twenty seconds of work: no stall of this thread is as long
  std::atomic<int> started{0}, ended{0};
  {
    BuildQueue queue(
        [&](const Configuration&) -> Outcome<Subject> {
          ++started;
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          ++ended;
          return Subject{};
        },
        {.overlaps = false, .builders = 1, .cpus = {}, .lent_cpus = {}});
    std::vector<Configuration> wishes;
    for (int i = 0; i < k_wishes; ++i) wishes.push_back({{"M0", i}});
    queue.want(wishes);
    REQUIRE(until([&] { return started > 0; }));
  }
  CHECK(started == ended);
  CHECK(started < k_wishes);
  BuildQueue idle(nothing, {});
  CHECK(idle.is_idle());
  CHECK(idle.take(std::chrono::milliseconds(0)).empty());
}

TEST_CASE("nobody compiles beside a turn on the same CPUs", "[engine][tune]") {
  TuneBench bench;
  plant_bowl(bench);
  bench.worker.hello_result.device.id = "cpu:fake:" + cpu_set_text(allowed_cpus());
  int overlaps = 0;
  for (auto& [label, subject] : bench.worker.subjects) {
    const double us = subject.time_us({}, PlanKind::hot);
    subject.time_us = [&, us](const Problem&, PlanKind) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      overlaps += bench.toolchain->active > 0 ? 1 : 0;
      return us;
    };
  }
  bench.open();
  const Json answer = bench.tune();
  CHECK(answer["tune"]["overlapped"] == false);
  CHECK(answer["tune"]["builds"] == 12);
  CHECK(overlaps == 0);
  CHECK(answer["configuration"] == k_best);
}

TEST_CASE("with CPUs of their own, builds go on beside the turns", "[engine][tune]") {
  TuneBench bench;
  plant_bowl(bench);
  bench.worker.hello_result.device.id = "cpu:fake:4095";
  bench.open();
  const Json answer = bench.tune();
  CHECK(answer["tune"]["overlapped"] == true);
  CHECK(answer["configuration"] == k_best);
  CHECK(bench.events("evaluation").size() == 12);
}

namespace {

std::string note(std::uint32_t type, const std::string& digest) {
  const std::uint32_t head[3] = {4, static_cast<std::uint32_t>(digest.size()), type};
  return std::string(reinterpret_cast<const char*>(head), sizeof head) + std::string("GNU\0", 4) +
         digest;
}

std::string library(const std::string& id, const std::string& digest, const std::string& code) {
  return "\x7f"
         "ELF" +
         note(3, digest) + code + id + '\0' + code + id + "end";
}

}  // namespace

TEST_CASE("only the ids are left out of a code's hash", "[engine][code_hash]") {
  const std::string a(64, 'a'), b(64, 'b'), one(20, '\1'), two(20, '\2');
  CHECK(code_hash(library(a, one, "add"), a) == code_hash(library(b, two, "add"), b));
  CHECK(code_hash(library(a, one, "add"), a) != code_hash(library(b, two, "sub"), b));
  // Another id's text is code.
  CHECK(code_hash(library(a, one, "add"), b) != code_hash(library(b, one, "add"), b));
  CHECK(code_hash("plain", "") == sha256_hex("plain"));
}

TEST_CASE("other notes and broken ones are kept", "[engine][code_hash]") {
  CHECK(code_hash(note(1, "abcd"), "") == sha256_hex(note(1, "abcd")));
  CHECK(code_hash(std::string("GNU\0", 4), "") == sha256_hex(std::string("GNU\0", 4)));
  std::string cut = note(3, std::string(20, 'd'));
  cut.resize(cut.size() - 1);
  CHECK(code_hash(cut, "") == sha256_hex(cut));
  CHECK(code_hash(note(3, "abcd"), "") == code_hash(note(3, "wxyz"), ""));
}
