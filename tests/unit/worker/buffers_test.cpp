// SPDX-License-Identifier: MIT
// Memory files that processes share, and tensors between guard pages.
#include <unistd.h>

#include "support/catch.hpp"
#include "worker/buffers.hpp"
#include "worker/memory.hpp"

using namespace wb::problem;
using namespace wb::worker;
using namespace wb;

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
