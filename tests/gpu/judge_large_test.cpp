// SPDX-License-Identifier: MIT
// The GPU judge on large problems: against the CPU on some blocks, its memory bound, and its time
// (gpu_worker "[speed]" prints the rows of docs/results/workbench.md).
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "gpu/gpu.hpp"
#include "unit/problem/subject.hpp"
#include "worker/cuda/gpu_judge.hpp"
#include "worker/cuda/judge_plan.hpp"

using namespace wb;
using namespace wb::problem;
using namespace wb::worker::cuda;

namespace {

/// An output that is right in `blocks` and zero elsewhere.
Bytes right_in(const Problem& p, const Inputs& inputs, const std::vector<RowBlock>& blocks) {
  Bytes out(out_bytes(p));
  const TensorStrides strides = out_strides(p);
  for (const RowBlock& block : blocks) {
    const BlockOutput standard = std_block(p, inputs, block);
    for (std::size_t i = 0; i < standard.out.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      testing::write_element(p, out,
                             block.b * strides.batch + block.h * strides.head +
                                 (block.row_begin + at / p.Dv) * strides.row + at % p.Dv,
                             static_cast<float>(standard.out[i]));
    }
  }
  return out;
}

/// Median of three of `judging`, a call that gives a verdict.
template <typename Judging>
double median_ms(const Judging& judging, OutputVerdict& verdict) {
  std::vector<double> times;
  for (int i = 0; i < 3; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const auto result = judging();
    const auto end = std::chrono::steady_clock::now();
    if (!result.ok()) FAIL(result.error().message());
    verdict = *result;
    times.push_back(std::chrono::duration<double, std::milli>(end - begin).count());
  }
  std::sort(times.begin(), times.end());
  return times[1];
}

}  // namespace

TEST_CASE("blocks of large problems are judged as on the CPU", "[gpu][judge][large]") {
  WB_NEED_GPU(gpu);
  const auto judge = GpuJudge::create(gpu);
  REQUIRE(judge.ok());
  for (const std::string text :
       {"B=2 Hq=16 Hkv=4 Sq=4096 D=128 bf16 causal=top_left layout=BSHD",
        "B=4 Hq=32 Hkv=8 Sq=1 Skv=8192 D=128 bf16", "B=1 Hq=8 Sq=2048 D=256 f16 mask=bool:0.7",
        "B=1 Hq=2 Sq=64 Skv=65536 D=64 f32 causal=bottom_right"}) {
    const Problem p = parse_problem(text).value();
    const Inputs inputs = make_inputs(p, 21, Draw::normal, 4);
    JudgeOptions options;
    options.max_blocks = 5;
    options.sample_seed = 77;
    options.threads = 4;
    const std::vector<RowBlock> blocks = sample_row_blocks(p, 5, 77);
    Bytes out = right_in(p, inputs, blocks);
    for (const bool is_right : {true, false}) {
      if (!is_right) {
        const RowBlock& last = blocks.back();
        const TensorStrides strides = out_strides(p);
        const std::int64_t at = last.b * strides.batch + last.h * strides.head +
                                (last.row_end - 1) * strides.row + p.Dv - 1;
        testing::write_element(p, out, at, testing::read_element(p, out, at) + 0.5f);
      }
      const OutputVerdict cpu = judge_output(p, inputs, out, {}, options);
      const auto on_gpu = judge->judge(p, 21, Draw::normal, out, {}, options);
      if (!on_gpu.ok()) FAIL(on_gpu.error().message());
      INFO(text << "\nCPU: " << to_json(cpu).dump() << "\nGPU: " << to_json(*on_gpu).dump());
      CHECK(cpu.pass == is_right);
      CHECK(on_gpu->pass == is_right);
      CHECK(on_gpu->blocks_judged == static_cast<std::int64_t>(blocks.size()));
      CHECK(on_gpu->worst.share == Approx(cpu.worst.share).epsilon(1e-3));
      CHECK(on_gpu->worst.rule == cpu.worst.rule);
      CHECK(on_gpu->worst.row == cpu.worst.row);
    }
  }
}

TEST_CASE("a wrong element is found in any wave", "[gpu][judge][large]") {
  WB_NEED_GPU(gpu);
  const auto judge = GpuJudge::create(gpu);
  REQUIRE(judge.ok());
  // 3 waves of rooms of 2 GiB: an element of each, in the last wave the last of all.
  const Problem p = parse_problem("B=1 Hq=32 Sq=4096 D=64 f16").value();
  REQUIRE(wave_room(p, 2'048).blocks < 1'024);
  Bytes out(out_bytes(p));
  const auto zero = judge->judge(p, 1, Draw::normal, out, {}, {});
  REQUIRE(zero.ok());
  CHECK_FALSE(zero->pass);
  CHECK(zero->blocks_judged == 2'048);
  const TensorStrides strides = out_strides(p);
  for (const std::int64_t head : {0, 15, 31}) {
    const std::int64_t at = head * strides.head + (p.Sq - 1) * strides.row + p.Dv - 1;
    const float right = testing::read_element(p, out, at);
    for (const float value : {1000.0f, std::numeric_limits<float>::quiet_NaN()}) {
      testing::write_element(p, out, at, value);
      const auto wrong = judge->judge(p, 1, Draw::normal, out, {}, {});
      REQUIRE(wrong.ok());
      INFO("head " << head << ", " << value);
      CHECK_FALSE(wrong->pass);
      CHECK(wrong->non_finite == (std::isnan(value) ? 1 : 0));
      CHECK(wrong->worst.block.h == head);
      CHECK(wrong->worst.row == 4'095);
      CHECK(wrong->worst.column == 63);
      if (!std::isnan(value)) CHECK(wrong->worst.got == 1000.0);
    }
    testing::write_element(p, out, at, right);
  }
}

TEST_CASE("a problem larger than the device is refused with the bytes it needs", "[gpu][judge]") {
  WB_NEED_GPU(gpu);
  const auto judge = GpuJudge::create(gpu);
  REQUIRE(judge.ok());
  const auto memory = gpu->memory();
  REQUIRE(memory.ok());
  // k and v of 2^39 bytes each; out is small.
  const Problem p = parse_problem("B=1 Hq=1 Sq=1 Skv=2147483648 D=128 bf16").value();
  REQUIRE(judge_device_bytes(p, 1, true) > memory->total_bytes);
  const Bytes out(out_bytes(p));
  const auto refused = judge->judge(p, 1, Draw::normal, out, {}, {});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().status == Status::out_of_memory);
  CHECK(refused.error().code == ErrorCode::limit);
  CHECK_FALSE(refused.error().ends_process());
  CHECK(refused.error().message().find("out of device memory") != std::string::npos);
}

TEST_CASE("a judgement takes the memory that was stated", "[gpu][judge][large]") {
  WB_NEED_GPU(gpu);
  const auto judge = GpuJudge::create(gpu);
  REQUIRE(judge.ok());
  // The driver reserves in pages of 2 MiB, one at least for each of some 14 buffers.
  const Problem p = parse_problem("B=1 Hq=8 Sq=2048 D=64 bf16 mask=additive").value();
  const std::size_t needed = judge_device_bytes(p, 256, true);
  const Bytes out(out_bytes(p));
  REQUIRE(judge->judge(p, 1, Draw::normal, out, {}, {}).ok());
  const auto memory = gpu->memory();
  REQUIRE(memory.ok());
  const std::size_t left = needed + (std::size_t{64} << 20);
  REQUIRE(memory->free_bytes > left);
  const auto rest = DeviceBuffer::allocate(gpu, memory->free_bytes - left);
  REQUIRE(rest.ok());
  CHECK(judge->judge(p, 1, Draw::normal, out, {}, {}).ok());
  const auto after = gpu->memory();
  REQUIRE(after.ok());
  // All is given back: nothing is left of a judgement.
  CHECK(after->free_bytes + (std::size_t{4} << 20) >= left);
}

TEST_CASE("time of judging by size", "[gpu][.speed]") {
  WB_NEED_GPU(gpu);
  const auto judge = GpuJudge::create(gpu);
  REQUIRE(judge.ok());
  for (const std::string text :
       {"B=1 Hq=1 Sq=128 D=64 bf16", "B=4 Hq=16 Sq=1024 D=64 bf16", "B=8 Hq=16 Sq=512 D=64 f16",
        "B=8 Hq=32 Sq=2048 D=64 bf16 causal=top_left", "B=4 Hq=32 Hkv=8 Sq=1 Skv=8192 D=128 bf16",
        "B=4 Hq=32 Sq=4096 D=128 bf16", "B=4 Hq=32 Sq=4096 D=128 f32",
        "B=4 Hq=32 Sq=4096 D=128 bf16 causal=top_left",
        "B=1 Hq=16 Sq=16384 D=128 bf16 causal=top_left", "B=1 Hq=16 Sq=32768 D=128 bf16"}) {
    const Problem p = parse_problem(text).value();
    const Bytes out(out_bytes(p));
    const auto there = DeviceBuffer::allocate(gpu, out.size());
    REQUIRE(there.ok());
    REQUIRE(copy_to_device(judge->stream(), there->address(), out).ok());
    OutputVerdict verdict;
    const double from_host_ms =
        median_ms([&] { return judge->judge(p, 3, Draw::normal, out, {}, {}); }, verdict);
    const double from_device_ms = median_ms(
        [&] {
          return judge->judge(p, 3, Draw::normal, {there->address(), 0}, {});
        },
        verdict);
    const std::size_t blocks = gpu_blocks(p, {}).size();
    double madds = 0;
    for (const RowBlock& block : gpu_blocks(p, {})) madds += tile_madds(p, block);
    WARN(text << ": " << from_host_ms << " ms, " << from_device_ms << " ms from the device, "
              << verdict.blocks_judged << " of " << verdict.blocks_total << " blocks, "
              << madds / from_host_ms * 1e-9 << "e12 multiply-adds a second, "
              << static_cast<double>(judge_device_bytes(p, blocks, true)) * 1e-9 << " GB");
    CHECK(verdict.blocks_judged == static_cast<std::int64_t>(blocks));
  }
}
