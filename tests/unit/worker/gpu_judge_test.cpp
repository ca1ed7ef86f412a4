// SPDX-License-Identifier: MIT
// The judge on a GPU, without one: its plan, and memory that it lends to a subject, with a driver
// that plays a GPU on the CPU.
#include <dlfcn.h>

#include <string>

#include "support/catch.hpp"
#include "support/loan_checks.hpp"
#include "worker/cuda/gpu_inputs.hpp"
#include "worker/cuda/judge_plan.hpp"
#include "worker/gpu_output.hpp"
#include "worker/turn.hpp"
#include "worker_under_test.hpp"

using namespace wb::problem;
using namespace wb::testing;
using namespace wb::worker::cuda;
using namespace wb::worker;
using namespace wb;

namespace {

Problem problem_of(const std::string& text) {
  return parse_problem(text).value();
}

}  // namespace

TEST_CASE("the GPU judges every block up to its bound, and samples above", "[worker][cuda]") {
  const Problem full = problem_of("B=4 Hq=32 Sq=4096 D=128 bf16");
  CHECK(gpu_blocks(full, {}).size() == 8'192);
  const Problem large = problem_of("B=1 Hq=16 Sq=65536 D=128 bf16");
  const auto blocks = gpu_blocks(large, {});
  CHECK(blocks.size() < static_cast<std::size_t>(row_block_count(large)));
  double madds = 0;
  for (const RowBlock& block : blocks) madds += tile_madds(large, block);
  CHECK(madds <= k_full_gpu_oracle_max_madds);
  CHECK(madds > 0.9 * k_full_gpu_oracle_max_madds);
  JudgeOptions few;
  few.max_blocks = 7;
  CHECK(gpu_blocks(full, few).size() == 7);
}

TEST_CASE("the GPU samples as many blocks as the CPU at least", "[worker][cuda]") {
  const Problem widest = problem_of("B=1 Hq=64 Sq=16777216 D=64 bf16");
  CHECK(gpu_blocks(widest, {}).size() == k_sampled_blocks);
}

TEST_CASE("a tile costs its 64 rows, whatever the block has", "[worker][cuda]") {
  const Problem p = problem_of("B=1 Hq=1 Sq=65 Skv=128 D=64 Dv=32 f16");
  // 2,048 elements are no small block; the last row alone is one, and takes three forms of std.
  CHECK(tile_madds(p, {0, 0, 0, 64}) == Approx(64.0 * 128 * 96));
  CHECK(tile_madds(p, {0, 0, 64, 65}) == Approx(2 * 64.0 * 128 * 96));
  const Problem causal = problem_of("B=1 Hq=1 Sq=256 D=64 f16 causal=top_left");
  CHECK(tile_madds(causal, {0, 0, 64, 128}) == Approx(64.0 * 128 * 128));
}

TEST_CASE("who held the memory that a GPU is short of is told by what is free without it",
          "[worker][cuda]") {
  const Problem p = problem_of("B=1 Hq=2 Sq=64 D=64 f32");
  constexpr std::uint64_t k_gb = 1'000'000'000;
  const auto blamed = worker::memory_hog_failure(p, 1'000, 100 * k_gb);
  REQUIRE(blamed);
  CHECK(blamed->invalidity == Invalidity::runtime);
  CHECK(blamed->message.find("100.0 GB") != std::string::npos);
  // The judge that was killed for want of memory left what its context had held.
  CHECK(worker::memory_hog_failure(p, k_gb, 100 * k_gb));
  CHECK_FALSE(worker::memory_hog_failure(p, 1'000, k_gb));  // a context: others hold the rest
  CHECK_FALSE(worker::memory_hog_failure(p, 1'000, 0));     // others took more meanwhile
  CHECK_FALSE(worker::memory_hog_failure(p, 10 * k_gb, 100 * k_gb));  // enough was left
  CHECK(worker::fits_on_gpu(p, k_gb));
  CHECK_FALSE(worker::fits_on_gpu(p, 1'000));
  // A problem whose own tensors are that large may hold them.
  const Problem large = problem_of("B=1 Hq=16 Sq=1048576 D=64 bf16");
  CHECK_FALSE(worker::memory_hog_failure(large, 1'000, 8 * k_gb));
}

TEST_CASE("a wave fits its room", "[worker][cuda]") {
  const WaveRoom large = wave_room(problem_of("B=4 Hq=32 Sq=4096 D=128 bf16"), 8'192);
  CHECK(large.total() <= k_wave_bytes);
  CHECK(large.blocks > 900);
  CHECK(large.scores == large.blocks * 64 * 4'096 * 8);
  // Few blocks take little; single rows do not take the room of 64.
  const WaveRoom small = wave_room(problem_of("B=1 Hq=2 Sq=1 Skv=1000 D=64 f16"), 2);
  CHECK(small.blocks == 2);
  CHECK(small.scores == 2 * 1'024 * 8);
  CHECK(small.rescale == 2 * 63 * 4);
  // One block is judged even where it is larger than the room.
  CHECK(wave_room(problem_of("B=1 Hq=1 Sq=64 Skv=8388608 D=64 f16"), 1).blocks == 1);
  CHECK(wave_room(problem_of("B=4096 Hq=64 Sq=1 Skv=1 D=1 f16"), 262'144).blocks ==
        k_max_wave_blocks);
}

TEST_CASE("the judge's memory is the sum of what it reserves", "[worker][cuda]") {
  const Problem p = problem_of("B=2 Hq=2 Sq=100 Skv=50 D=16 Dv=8 f16 mask=bool:0.5");
  const std::size_t q = 2 * 2 * 100 * 16 * 2;
  const std::size_t k = 2 * 2 * 50 * 16 * 2;
  const std::size_t v = 2 * 2 * 50 * 8 * 2;
  const std::size_t mask = 2 * 100 * 50;
  CHECK(device_inputs_bytes(p) == q + k + v + mask);
  const std::size_t room = wave_room(p, 8).total();
  CHECK(judge_device_bytes(p, 8, false) == q + k + v + mask + room);
  CHECK(judge_device_bytes(p, 8, true) == q + k + v + mask + room + 2 * 2 * 100 * 8 * 2);
}

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
