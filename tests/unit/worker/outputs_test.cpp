// SPDX-License-Identifier: MIT
// Where outputs lie: in memory of the supervisor, and in the memory of another process (the tests
// use this process, which may always be read); and the runs of a verdict.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <numeric>
#include <set>
#include <vector>

#include "core/json.hpp"
#include "problem/inputs.hpp"
#include "support/catch.hpp"
#include "worker/outputs.hpp"
#include "worker/turn.hpp"

using namespace wb;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::worker;

TEST_CASE("a subject writes into the supervisor's memory, between guard pages",
          "[worker][output]") {
  for (const Placing placing : {Placing::scattered, Placing::flush_end}) {
    auto output = OutputMemory::create(1'000, placing);
    REQUIRE(output.ok());
    CHECK(output->offset() % 256 == 0);
    auto theirs = GuardedMemory::of_file(output->fd(), output->offset(), 1'000);
    REQUIRE(theirs.ok());
    theirs->bytes()[7] = std::byte{42};
    CHECK(output->bytes()[7] == std::byte{42});
    REQUIRE(output->take().ok());
    theirs->bytes()[7] = std::byte{1};  // too late
    CHECK(output->taken().bytes()[7] == std::byte{42});
    CHECK(output->margins_intact());
    CHECK(theirs->margins_intact());
    theirs->bytes().data()[1'000] = std::byte{0};
    CHECK_FALSE(output->margins_intact());
    CHECK_FALSE(theirs->margins_intact());
  }
}

TEST_CASE("a place outside the file is refused", "[worker][output][hostile]") {
  auto output = OutputMemory::create(1'000, Placing::flush_end);
  REQUIRE(output.ok());
  CHECK_FALSE(GuardedMemory::of_file(output->fd(), 4'096, 1'000).ok());
  CHECK_FALSE(GuardedMemory::of_file(output->fd(), 0, 5'000).ok());
  CHECK_FALSE(GuardedMemory::of_file(output->fd(), 8, 1'000).ok());
  CHECK_FALSE(GuardedMemory::of_file(output->fd(), 0, 0).ok());
  CHECK_FALSE(GuardedMemory::of_file(-1, 0, 1'000).ok());
}

TEST_CASE("a verdict runs large and edge draws with and without an LSE, in secret order",
          "[worker][output]") {
  std::set<std::string> orders;
  for (int i = 0; i < 50; ++i) {
    const auto runs = draw_verdict_runs(true, true);
    CHECK(runs.size() == 7);
    std::string order;
    int normal = 0;
    std::set<std::pair<Draw, bool>> seen;
    for (const VerdictRun& run : runs) {
      seen.emplace(run.draw, run.want_lse);
      normal += run.draw == Draw::normal ? 1 : 0;
      order += to_string(run.draw).substr(0, 1);
      order += run.want_lse ? "+" : "-";
    }
    CHECK(seen.size() == 6);
    CHECK(normal == 3);
    orders.insert(order);
  }
  CHECK(orders.size() > 10);
  const auto without = draw_verdict_runs(false, false);
  CHECK(without.size() == 4);
  for (const VerdictRun& run : without) CHECK_FALSE(run.want_lse);
}

namespace {

ResultAddress place_of(const std::vector<float>& values, std::array<std::int64_t, 4> strides) {
  return {reinterpret_cast<std::uint64_t>(values.data()), strides};
}

std::vector<float> read_floats(const ResultAddress& place, const Problem& problem) {
  std::vector<float> out(out_bytes(problem) / 4);
  const auto read = read_result(::getpid(), place, problem, std::as_writable_bytes(std::span(out)));
  if (!read.ok()) FAIL(read.error().message());
  return out;
}

}  // namespace

TEST_CASE("a result is read where it lies, whatever its strides", "[worker][result]") {
  const Problem problem = *parse_problem("B=2 Hq=3 Sq=4 D=5 f32");
  std::vector<float> values(2 * 3 * 4 * 5);
  std::iota(values.begin(), values.end(), 0.0f);
  CHECK(read_floats(place_of(values, {60, 20, 5, 1}), problem) == values);
  // Rows before heads in memory.
  const auto swapped = read_floats(place_of(values, {60, 5, 15, 1}), problem);
  CHECK(swapped[20] == 5);  // head 1, row 0
  CHECK(swapped[5] == 15);  // head 0, row 1
  // Columns that are not contiguous, and the same for every batch.
  std::vector<float> wide(2 * 60);
  std::iota(wide.begin(), wide.end(), 0.0f);
  const auto thin = read_floats(place_of(wide, {0, 40, 10, 2}), problem);
  CHECK(thin[1] == 2);
  CHECK(thin[60] == thin[0]);
  // The layout of `out` is the problem's.
  const Problem other = *parse_problem("B=1 Hq=2 Sq=3 D=4 f32 layout=BSHD");
  std::vector<float> heads_first(24);
  std::iota(heads_first.begin(), heads_first.end(), 0.0f);
  const auto rows_first = read_floats(place_of(heads_first, {24, 12, 4, 1}), other);
  CHECK(rows_first[4] == 12);
}

TEST_CASE("what a subject tells of its result is not believed", "[worker][result][hostile]") {
  CHECK(may_read_memory_of(::getpid()));
  const Problem problem = *parse_problem("B=2 Hq=3 Sq=4 D=5 f32");
  std::vector<std::byte> out(out_bytes(problem));
  const auto fails = [&](const ResultAddress& place) {
    return !read_result(::getpid(), place, problem, out).ok();
  };
  CHECK(fails({1, {60, 20, 5, 1}}));  // no memory there
  CHECK(fails({4'096, {1'000'000'000, 20, 5, 1}}));
  CHECK(fails({4'096, {60, 20, 5, 40}}));
  // Pages that nobody may read: who protects them to work later has left nothing to read.
  void* closed = ::mmap(nullptr, 4'096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(fails({reinterpret_cast<std::uint64_t>(closed), {60, 20, 5, 1}}));
  ::munmap(closed, 4'096);
  for (const char* text :
       {R"({})", R"({"address":0,"strides":[1,1,1,1]})", R"({"address":-1,"strides":[1,1,1,1]})",
        R"({"address":64,"strides":[1,1,1]})", R"({"address":64,"strides":[1,1,1,-1]})",
        R"({"address":64,"strides":[1,1,1,0.5]})", R"({"address":64,"strides":"1"})",
        R"({"address":64,"strides":[1,1,1,9223372036854775807]})"}) {
    INFO(text);
    CHECK_FALSE(result_address_from_json(Json::parse(text)).ok());
  }
  CHECK(result_address_from_json(Json::parse(R"({"address":64,"strides":[60,20,5,1]})")).ok());
}
