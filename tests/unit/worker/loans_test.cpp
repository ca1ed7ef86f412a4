// SPDX-License-Identifier: MIT
// Memory that the judge lends to a subject on a GPU, with a driver that plays one on the CPU.
#include <dlfcn.h>

#include "libraries.hpp"
#include "support/loan_checks.hpp"
#include "worker/gpu_output.hpp"

using namespace wb;
using namespace wb::problem;
using namespace wb::testing;
using namespace wb::worker;
using namespace wb::worker::cuda;

namespace {

ContextPtr played() {
  return must(Context::create(must(Driver::load(k_played_cuda)), 0));
}

template <typename Function>
Function* played_function(const char* name) {
  void* const library = ::dlopen(k_played_cuda, RTLD_NOW | RTLD_NOLOAD);
  REQUIRE(library != nullptr);
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

}  // namespace

TEST_CASE("what a subject writes after the judge's copy does not exist", "[worker][loans]") {
  check_that_late_writes_do_not_exist(played());
}

TEST_CASE("lent memory has margins as any other", "[worker][loans]") {
  check_that_margins_stay(played());
}

TEST_CASE("a loan that was ended is unknown to the judge and usable to the subject",
          "[worker][loans]") {
  check_that_each_side_has_its_hold(played());
}

TEST_CASE("nothing of a loan is left", "[worker][loans]") {
  const ContextPtr context = played();
  auto* const allocations = played_function<int()>("played_allocations");
  const int before = allocations();
  {
    const Loaned loaned(context);
    CHECK(allocations() == before + 4);  // out and lse, held by both sides
  }
  CHECK(allocations() == before);
}

TEST_CASE("a device that hands no memory on says so", "[worker][loans]") {
  const ContextPtr context = played();
  auto* const hands_on = played_function<void(bool)>("played_hands_on");
  hands_on(false);
  const Stream stream = must(Stream::create(context));
  const auto none = Loans::create(stream, {});
  hands_on(true);
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == ErrorCode::environment);
  CHECK(none.error().message().find("hands no memory on") != std::string::npos);
}

TEST_CASE("more memory than the device has is a limit", "[worker][loans]") {
  const ContextPtr context = played();
  const auto none = SharedBuffer::create(context, std::size_t{1} << 40);
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == ErrorCode::limit);
}

TEST_CASE("places of outputs are those of the subject's own buffers", "[worker][loans]") {
  const Problem problem = parse_problem("B=2 Hq=4 Sq=33 Skv=65 D=40 bf16").value();
  const OutputPlaces with = output_places(problem, true, true, 3),
                     without = output_places(problem, false, false, 3);
  CHECK(with.out.size_bytes == out_bytes(problem));
  CHECK(with.lse.size_bytes == 2 * 4 * 33 * sizeof(float));
  CHECK(with.out.offset % 256 == 0);
  CHECK(with.out.offset != output_places(problem, true, false, 4).out.offset);
  CHECK(with.out.reserved_bytes >= with.out.offset + with.out.size_bytes);
  CHECK(without.out.offset == with.out.offset);
  CHECK(without.lse.size_bytes == 0);
  CHECK(without.snap.size_bytes == 0);
  CHECK(with.snap.size_bytes == with.out.size_bytes);
}

TEST_CASE("the clock of a block runs until the copy, less what it takes of an idle device",
          "[worker][loans]") {
  const IdleCopy idle{60, 90, 10};
  CHECK(after_done_us(50, idle) == 0);
  CHECK(after_done_us(90, idle) == 0);
  // Work that the copy had to wait for is time of the block.
  CHECK(after_done_us(5'090, idle) == 5'000);
  // What a subject's own copy takes is believed up to a limit by its size.
  CHECK(most_own_copy_us(0) == 200);
  CHECK(most_own_copy_us(100'000'000) == 100'200);
}
