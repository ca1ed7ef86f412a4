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
#include "worker/buffers.hpp"
#include "worker/hand_over.hpp"
#include "worker/memory.hpp"
#include "worker/run.hpp"
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

// Memory files that processes share, and tensors between guard pages.

TEST_CASE("two mappings of one memory file see the same bytes", "[worker][memory]") {
  const auto memory = SharedMemory::create("test", 10'000);
  REQUIRE(memory.ok());
  const auto other = Mapping::of(memory->fd(), 10'000, true);
  REQUIRE(other.ok());
  other->bytes()[9'999] = std::byte{42};
  CHECK(memory->bytes()[9'999] == std::byte{42});
}

TEST_CASE("nobody can change the size under another's mapping", "[worker][memory][hostile]") {
  const auto memory = SharedMemory::create("test", 10'000);
  REQUIRE(memory.ok());
  CHECK(::ftruncate(memory->fd(), 0) != 0);
  CHECK(::ftruncate(memory->fd(), 1 << 20) != 0);
  CHECK_FALSE(Mapping::of(memory->fd(), 20'000, false).ok());
  CHECK_FALSE(Mapping::of(-1, 10, false).ok());
}

TEST_CASE("an empty tensor has an empty mapping", "[worker][memory]") {
  const auto memory = SharedMemory::create("test", 0);
  REQUIRE(memory.ok());
  CHECK(memory->bytes().empty());
}

TEST_CASE("a size that would endanger the machine is refused before it is tried",
          "[worker][memory][hostile]") {
  CHECK(available_memory_bytes() > 1u << 20);
  const auto memory = SharedMemory::create("test", std::size_t{1} << 50);
  REQUIRE_FALSE(memory.ok());
  CHECK(memory.error().code == ErrorCode::limit);
}

TEST_CASE("a byte written beside a tensor is found", "[worker][buffers]") {
  for (const Placing placing : {Placing::scattered, Placing::flush_end}) {
    const GuardedMemory memory(1'000, placing);
    REQUIRE(memory.margins_intact());
    std::byte* const begin = memory.bytes().data();
    begin[0] = begin[999] = std::byte{7};  // its own bytes are its own
    CHECK(memory.margins_intact());
    // 1,000 bytes end 24 bytes before the next multiple of the alignment.
    const std::byte before = begin[1'000];
    begin[1'000] = std::byte{0};
    CHECK_FALSE(memory.margins_intact());
    begin[1'000] = before;
    CHECK(memory.margins_intact());
  }
  const GuardedMemory at_the_end(1'000, Placing::flush_end);
  at_the_end.bytes().data()[-1] = std::byte{0};
  CHECK_FALSE(at_the_end.margins_intact());
}

TEST_CASE("a buffer set names the tensor at fault", "[worker][buffers]") {
  const Problem problem = *parse_problem("B=1 Hq=1 Sq=3 D=5 f32");
  BufferSet buffers(problem, 100, false, Placing::flush_end);
  buffers.refill(1, Draw::normal, 1);
  REQUIRE(buffers.overrun() == nullptr);
  buffers.workspace.bytes().data()[100] = std::byte{1};
  CHECK(std::string(buffers.overrun()) == "the workspace");
  buffers.v.bytes().data()[-1] = std::byte{1};
  CHECK(std::string(buffers.overrun()) == "v");
}

TEST_CASE("tensors that are views hold their elements, and NaN between them", "[worker][buffers]") {
  const Problem problem = *parse_problem("B=2 Hq=2 Sq=3 Skv=4 D=5 f16 mask=bool:0.5 layout=BSHD");
  CallForm form;
  form.q = {3, 2, 7, 1};
  form.mask = {0, 3, 1, 5};
  form.out = {1, 0, 4, 3};
  BufferSet buffers(problem, 0, true, Placing::flush_end, form);
  const auto address = [](const GuardedMemory& memory) {
    return reinterpret_cast<std::uintptr_t>(memory.bytes().data());
  };
  CHECK(address(buffers.q) % 256 == 2);
  CHECK(address(buffers.mask) % 256 == 5);
  CHECK(address(buffers.k) % 256 == 0);
  buffers.refill(4, Draw::normal, 1);
  const Inputs inputs = make_inputs(problem, 4, Draw::normal);
  // [batch][row][head] of q: heads 5 + 3 apart, rows 2 * 8 + 2, batches 3 * 18 + 7.
  const auto* q = reinterpret_cast<const std::uint16_t*>(buffers.q.bytes().data());
  const auto* packed = reinterpret_cast<const std::uint16_t*>(inputs.q.data());
  for (int b = 0; b < 2; ++b) {
    for (int row = 0; row < 3; ++row) {
      for (int head = 0; head < 2; ++head) {
        for (int d = 0; d < 8; ++d) {
          const int at = b * 61 + row * 18 + head * 8 + d;
          if (at >= 2 * 61 - 7 - 2 - 3) continue;  // behind the last element
          CHECK(q[at] == (d < 5 ? packed[((b * 3 + row) * 2 + head) * 5 + d] : 0xffff));
        }
      }
    }
  }
  Bytes out(out_bytes(problem), std::byte{0x11}), taken(out.size());
  buffers.put_out(out);
  buffers.take_out(taken);
  CHECK(taken == out);
  REQUIRE(buffers.overrun() == nullptr);
  buffers.out.bytes()[2 * 5] = std::byte{0};  // behind the first head of the first row
  CHECK(std::string(buffers.overrun()) == "the rows of out");
}

TEST_CASE("memory that is not there has no margins", "[worker][buffers]") {
  CHECK(GuardedMemory().margins_intact());
  CHECK(GuardedMemory(0, Placing::flush_end).margins_intact());
}
