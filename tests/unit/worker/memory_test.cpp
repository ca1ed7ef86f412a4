// SPDX-License-Identifier: MIT
#include "worker/memory.hpp"

#include <unistd.h>

#include "support/catch.hpp"

using namespace wb;
using namespace wb::worker;

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
