// SPDX-License-Identifier: MIT
// The GPU judge's plan; needs no GPU.
#include "worker/cuda/judge_plan.hpp"

#include <string>

#include "support/catch.hpp"
#include "worker/cuda/gpu_inputs.hpp"
#include "worker/turn.hpp"

using namespace wb;
using namespace wb::problem;
using namespace wb::worker::cuda;

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
