// SPDX-License-Identifier: MIT
// The GPU judge agrees with the CPU judge on right and wrong outputs of random problems.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>

#include "core/json.hpp"
#include "gpu/gpu.hpp"
#include "support/random_problem.hpp"
#include "unit/problem/subject.hpp"
#include "worker/cuda/gpu_judge.hpp"

using namespace wb;
using namespace wb::problem;
using namespace wb::worker::cuda;
using testing::SubjectOutput;

namespace {

/// Shares of the two judges differ by at most this, relative to the larger. The oracle's sums run
/// in another order, which makes 4e-9 of a share (measured); now and then an exponential of std
/// differs in its last bit, which the worst element of a block may show.
constexpr double k_share_tolerance = 1e-3;

constexpr float k_nan = std::numeric_limits<float>::quiet_NaN();
constexpr float k_infinity = std::numeric_limits<float>::infinity();

/// What the pinned computation itself would hand over.
SubjectOutput pinned_output(const Problem& p, const Inputs& inputs) {
  SubjectOutput output{Bytes(out_bytes(p)),
                       std::vector<float>(static_cast<std::size_t>(p.B * p.Hq * p.Sq))};
  const TensorStrides strides = out_strides(p);
  for (const RowBlock& block : all_row_blocks(p)) {
    const BlockOutput standard = std_block(p, inputs, block);
    for (std::int64_t i = 0; i < block.row_end - block.row_begin; ++i) {
      const std::int64_t row = block.row_begin + i;
      const std::int64_t at = block.b * strides.batch + block.h * strides.head + row * strides.row;
      for (std::int64_t d = 0; d < p.Dv; ++d) {
        const auto from = static_cast<std::size_t>(i * p.Dv + d);
        testing::write_element(p, output.out, at + d, static_cast<float>(standard.out[from]));
      }
      output.lse[static_cast<std::size_t>((block.b * p.Hq + block.h) * p.Sq + row)] =
          static_cast<float>(standard.lse[static_cast<std::size_t>(i)]);
    }
  }
  return output;
}

/// Counts what was compared, so that a test can say how far the judges were apart.
struct Tally {
  int compared = 0, failed = 0, near_the_bound = 0;
  double largest_difference = 0;
};

double difference_of(double a, double b) {
  if (a == b) return 0;  // two infinities, too
  return std::abs(a - b) / std::max(std::abs(a), std::abs(b));
}

/// One problem, inputs from one seed, and both judges.
struct Bench {
  const GpuJudge& judge;
  Problem p;
  std::uint32_t seed;
  Draw draw;
  Inputs inputs;
  Tally& tally;

  OutputVerdict on_gpu(const SubjectOutput& output, const JudgeOptions& options) const {
    const auto verdict = judge.judge(p, seed, draw, output.out, output.lse, options);
    if (!verdict.ok()) FAIL(verdict.error().message());
    return *verdict;
  }

  struct Both {
    OutputVerdict cpu, gpu;
  };

  /// Both verdicts agree.
  Both agreed(const SubjectOutput& output, JudgeOptions options = {}) const {
    options.threads = 4;
    const OutputVerdict cpu = judge_output(p, inputs, output.out, output.lse, options);
    const OutputVerdict gpu = on_gpu(output, options);
    INFO("CPU: " << to_json(cpu).dump());
    INFO("GPU: " << to_json(gpu).dump());
    const double difference = difference_of(cpu.worst.share, gpu.worst.share);
    CHECK(difference <= k_share_tolerance);
    CHECK(gpu.non_finite == cpu.non_finite);
    CHECK(gpu.unwritten == cpu.unwritten);
    CHECK(gpu.blocks_judged == cpu.blocks_judged);
    CHECK(gpu.blocks_total == cpu.blocks_total);
    const bool is_near = std::abs(cpu.worst.share - 1.0) <= k_share_tolerance;
    if (!is_near) CHECK(gpu.pass == cpu.pass);
    if (cpu.unwritten > 0 || cpu.non_finite > 0) CHECK(gpu.reason == cpu.reason);
    ++tally.compared;
    tally.failed += cpu.pass ? 0 : 1;
    tally.near_the_bound += is_near ? 1 : 0;
    if (!is_near) tally.largest_difference = std::max(tally.largest_difference, difference);
    return {cpu, gpu};
  }

  /// The verdict fails, and both judges found the same place.
  void agreed_failure(const SubjectOutput& output, const JudgeOptions& options = {}) const {
    const auto [cpu, gpu] = agreed(output, options);
    CHECK_FALSE(gpu.pass);
    CHECK(gpu.worst.rule == cpu.worst.rule);
    CHECK(gpu.worst.block.b == cpu.worst.block.b);
    CHECK(gpu.worst.block.h == cpu.worst.block.h);
    CHECK(gpu.worst.row == cpu.worst.row);
    CHECK(gpu.worst.column == cpu.worst.column);
  }
};

/// A random element of out, as an index into its storage.
std::int64_t random_element(const Problem& p, std::mt19937& random) {
  return testing::random_size(random, 0, out_element_count(p) - 1);
}

/// Single elements that are wrong, in any problem.
void spoil_elements(const Bench& bench, const SubjectOutput& right, std::mt19937& random) {
  for (const float value : {k_nan, k_infinity, 7.5f}) {
    SubjectOutput wrong = right;
    testing::write_element(bench.p, wrong.out, random_element(bench.p, random), value);
    bench.agreed_failure(wrong);
  }
  const auto row = static_cast<std::size_t>(random() % right.lse.size());
  for (const float value : {k_nan, k_infinity, -k_infinity, 3.0e3f}) {
    SubjectOutput wrong = right;
    if (wrong.lse[row] == value) continue;  // a masked row has -inf
    wrong.lse[row] = value;
    bench.agreed_failure(wrong);
  }
}

/// Parts of out and lse that were never written.
void leave_unwritten(const Bench& bench, const SubjectOutput& right, std::mt19937& random) {
  JudgeOptions options;
  options.poison = Poison{random()};
  options.lse_poison = Poison{random()};
  CHECK(bench.agreed(right, options).gpu.unwritten == 0);

  SubjectOutput wrong = right;
  Bytes poison(right.out.size());
  options.poison->fill(poison);
  const auto element = static_cast<std::size_t>(size_bytes(bench.p.dtype));
  const std::size_t begin = random() % (right.out.size() / element) * element;
  const std::size_t count = std::min<std::size_t>(right.out.size() - begin, 5 * element);
  std::copy_n(poison.begin() + static_cast<std::ptrdiff_t>(begin), count,
              wrong.out.begin() + static_cast<std::ptrdiff_t>(begin));
  std::vector<float> lse_poison(right.lse.size());
  options.lse_poison->fill(std::as_writable_bytes(std::span(lse_poison)));
  wrong.lse.back() = lse_poison.back();
  const OutputVerdict verdict = bench.agreed(wrong, options).gpu;
  CHECK_FALSE(verdict.pass);
  CHECK(verdict.unwritten == static_cast<std::int64_t>(count / element) + 1);
}

/// Kernels that are wrong everywhere a little: how much that is depends on the problem.
void run_wrong_kernels(const Bench& bench, std::mt19937& random) {
  testing::SubjectOptions scale = testing::subject_for(bench.p);
  scale.scale_factor = 1.03;
  bench.agreed(run_subject(bench.p, bench.inputs, scale));
  testing::SubjectOptions drop = testing::subject_for(bench.p);
  const std::int64_t first = testing::random_size(random, 0, bench.p.Skv - 1);
  drop.drops = [first](std::int64_t, std::int64_t key) { return key >= first && key < first + 8; };
  bench.agreed(run_subject(bench.p, bench.inputs, drop));
}

}  // namespace

TEST_CASE("GPU and CPU judges agree on 300 random problems", "[gpu][judge]") {
  WB_NEED_GPU(gpu);
  const auto judge = GpuJudge::create(gpu);
  if (!judge.ok()) FAIL(judge.error().message());
  Tally right, wrong, kernels;
  std::mt19937 random(4'711);
  for (int i = 0; i < 300; ++i) {
    const Problem p = testing::random_problem(random);
    const auto seed = static_cast<std::uint32_t>(random());
    const Draw draw = testing::random_draw(random);
    INFO(i << ": " << to_text(p) << ", seed " << seed << ", " << to_string(draw));
    const Inputs inputs = make_inputs(p, seed, draw);
    const SubjectOutput output = pinned_output(p, inputs);
    const Bench of_right{*judge, p, seed, draw, inputs, right};
    CHECK(of_right.agreed(output).gpu.pass);
    JudgeOptions sampled;
    sampled.max_blocks = 1 + random() % 4;
    sampled.sample_seed = static_cast<std::uint32_t>(random());
    sampled.judge_lse = random() % 2 == 0;
    CHECK(of_right.agreed(output, sampled).gpu.pass);
    const Bench of_wrong{*judge, p, seed, draw, inputs, wrong};
    spoil_elements(of_wrong, output, random);
    leave_unwritten(of_wrong, output, random);
    run_wrong_kernels({*judge, p, seed, draw, inputs, kernels}, random);
  }
  CHECK(right.failed == 0);
  CHECK(kernels.failed > kernels.compared / 4);
  for (const auto& [name, tally] : {std::pair{"right", &right}, std::pair{"wrong", &wrong},
                                    std::pair{"wrong kernels", &kernels}}) {
    WARN(name << ": " << tally->compared << " verdicts compared, " << tally->failed << " failed, "
              << tally->near_the_bound << " near the bound, shares differ by at most "
              << tally->largest_difference);
  }
}

TEST_CASE("the same judgement twice gives the same verdict, bit for bit", "[gpu][judge]") {
  WB_NEED_GPU(gpu);
  const auto judge = GpuJudge::create(gpu);
  REQUIRE(judge.ok());
  for (const std::string text : {"B=2 Hq=4 Hkv=2 Sq=300 D=64 f16 causal=top_left mask=additive",
                                 "B=1 Hq=3 Sq=1 Skv=700 D=80 Dv=17 bf16", "B=1 Hq=2 Sq=200 D=64"}) {
    const Problem p = parse_problem(text).value();
    const SubjectOutput output =
        run_subject(p, make_inputs(p, 8, Draw::large), testing::subject_for(p));
    const auto first = judge->judge(p, 8, Draw::large, output.out, output.lse, {});
    REQUIRE(first.ok());
    for (int i = 0; i < 5; ++i) {
      const auto again = judge->judge(p, 8, Draw::large, output.out, output.lse, {});
      REQUIRE(again.ok());
      CHECK(to_json(*again).dump() == to_json(*first).dump());
    }
  }
}

TEST_CASE("an output that lies on the device is judged there", "[gpu][judge]") {
  WB_NEED_GPU(gpu);
  const auto judge = GpuJudge::create(gpu);
  REQUIRE(judge.ok());
  const Problem p = parse_problem("B=2 Hq=2 Sq=130 D=64 bf16 layout=BSHD causal=top_left").value();
  const SubjectOutput output =
      run_subject(p, make_inputs(p, 5, Draw::normal), testing::subject_for(p));
  const auto lse_bytes = std::as_bytes(std::span(output.lse));
  const auto out = DeviceBuffer::allocate(gpu, output.out.size());
  const auto lse = DeviceBuffer::allocate(gpu, lse_bytes.size());
  REQUIRE((out.ok() && lse.ok()));
  REQUIRE(copy_to_device(judge->stream(), out->address(), output.out).ok());
  REQUIRE(copy_to_device(judge->stream(), lse->address(), lse_bytes).ok());
  const auto there = judge->judge(p, 5, Draw::normal, {out->address(), lse->address()}, {});
  const auto here = judge->judge(p, 5, Draw::normal, output.out, output.lse, {});
  REQUIRE((there.ok() && here.ok()));
  CHECK(there->pass);
  CHECK(to_json(*there) == to_json(*here));
  const auto without_lse = judge->judge(p, 5, Draw::normal, {out->address(), 0}, {});
  REQUIRE(without_lse.ok());
  CHECK(without_lse->worst.rule != "lse");
  // Another seed's inputs: the output is wrong for them.
  const auto other = judge->judge(p, 6, Draw::normal, {out->address(), lse->address()}, {});
  REQUIRE(other.ok());
  CHECK_FALSE(other->pass);
}

TEST_CASE("an output of another size than the problem's is a fault of the caller", "[gpu][judge]") {
  WB_NEED_GPU(gpu);
  const auto judge = GpuJudge::create(gpu);
  REQUIRE(judge.ok());
  const Problem p = parse_problem("B=1 Hq=1 Sq=8 D=8").value();
  const Bytes out(out_bytes(p) - 1);
  CHECK_THROWS_AS(judge->judge(p, 5, Draw::normal, out, {}, {}), std::logic_error);
}
