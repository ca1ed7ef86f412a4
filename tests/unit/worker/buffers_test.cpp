// SPDX-License-Identifier: MIT
#include "worker/buffers.hpp"

#include "support/catch.hpp"

using namespace wb;
using namespace wb::worker;

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
  BufferSet buffers(problem, 100, true, Placing::flush_end);
  buffers.refill(1, Draw::normal, 1);
  REQUIRE(buffers.overrun() == nullptr);
  buffers.workspace.bytes().data()[100] = std::byte{1};
  CHECK(std::string(buffers.overrun()) == "the workspace");
  buffers.v.bytes().data()[-1] = std::byte{1};
  CHECK(std::string(buffers.overrun()) == "v");
}

TEST_CASE("memory that is not there has no margins", "[worker][buffers]") {
  CHECK(GuardedMemory().margins_intact());
  CHECK(GuardedMemory(0, Placing::flush_end).margins_intact());
}
