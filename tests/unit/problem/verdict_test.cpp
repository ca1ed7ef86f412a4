// SPDX-License-Identifier: MIT
#include "problem/verdict.hpp"
#include "core/json.hpp"

#include <cmath>
#include <limits>

#include "support/catch.hpp"
#include "unit/problem/subject.hpp"

using namespace wb;
using namespace wb::problem;
using testing::run_subject;
using testing::subject_for;
using testing::SubjectOptions;
using testing::SubjectOutput;

namespace {

Problem problem_of(const std::string& text) {
  return parse_problem(text).value();
}

OutputVerdict judge(const Problem& p, const Inputs& inputs, const SubjectOutput& output,
                    JudgeOptions options = {}) {
  return judge_output(p, inputs, output.out, output.lse, options);
}

/// Kernels that are right, each in another way.
std::vector<std::pair<std::string, SubjectOptions>> honest_variants(const Problem& p) {
  std::vector<std::pair<std::string, SubjectOptions>> variants;
  const auto add = [&](std::string name, auto change) {
    SubjectOptions options = subject_for(p);
    change(options);
    variants.emplace_back(std::move(name), options);
  };
  add("blocks of 64", [](SubjectOptions&) {});
  add("blocks of 128, last first", [](SubjectOptions& o) {
    o.key_block = 128;
    o.reverse_blocks = true;
  });
  add("blocks of 16, exp2", [](SubjectOptions& o) {
    o.key_block = 16;
    o.exp2 = true;
  });
  add("lazy rescaling by 2^8", [](SubjectOptions& o) {
    o.rescale_log2 = 8;
    o.exp2 = true;
  });
  add("two passes, P normalized", [](SubjectOptions& o) { o.two_passes = true; });
  add("P in f32", [](SubjectOptions& o) { o.p_dtype = Dtype::f32; });
  return variants;
}

}  // namespace

TEST_CASE("honest kernels use at most 0.75 of the budget", "[problem][verdict][honest]") {
  for (const std::string dtype : {"f32", "f16", "bf16"}) {
    const Problem p = problem_of("B=1 Hq=1 Sq=128 Skv=2048 D=64 " + dtype);
    for (const std::uint32_t seed : {1u, 2u, 3u}) {
      const Draw draw = seed == 3 ? Draw::large : Draw::normal;
      const Inputs inputs = make_inputs(p, seed, draw);
      for (const auto& [name, options] : honest_variants(p)) {
        const OutputVerdict verdict = judge(p, inputs, run_subject(p, inputs, options));
        INFO(to_text(p) << ", " << name << ", seed " << seed << ": " << verdict.worst.rule << " "
                        << verdict.worst.share);
        CHECK(verdict.pass);
        CHECK(verdict.worst.share <= 0.75);
      }
    }
  }
}

TEST_CASE("honest kernels pass on blocks of a few elements, whatever the seed",
          "[problem][verdict][honest]") {
  for (const std::string shape :
       {"B=1 Hq=1 Sq=4 D=4 ", "B=1 Hq=1 Sq=1 Skv=16 D=8 ", "B=1 Hq=2 Sq=1 Skv=200 D=32 "}) {
    for (const std::string dtype : {"f32", "f16", "bf16"}) {
      const Problem p = problem_of(shape + dtype);
      for (std::uint32_t seed = 0; seed < 100; ++seed) {
        const Inputs inputs = make_inputs(p, seed, seed % 2 == 0 ? Draw::normal : Draw::large);
        for (const auto& [name, options] : honest_variants(p)) {
          const OutputVerdict verdict = judge(p, inputs, run_subject(p, inputs, options));
          INFO(to_text(p) << ", " << name << ", seed " << seed << ": " << verdict.worst.share);
          REQUIRE(verdict.pass);
          REQUIRE(verdict.worst.share <= 0.85);
        }
      }
    }
  }
}

TEST_CASE("a wrong kernel is found in blocks of a few elements", "[problem][verdict]") {
  for (const std::string dtype : {"f32", "f16"}) {
    const Problem p = problem_of("B=1 Hq=8 Sq=1 Skv=300 D=64 " + dtype);
    const Inputs inputs = make_inputs(p, 3, Draw::normal);
    SubjectOptions options = subject_for(p);
    options.scale_factor = 1.01;
    JudgeOptions no_lse;
    no_lse.judge_lse = false;
    const SubjectOutput wrong = run_subject(p, inputs, options);
    CHECK_FALSE(judge(p, inputs, wrong, no_lse).pass);
    CHECK_FALSE(judge(p, inputs, wrong).pass);
  }
}

TEST_CASE("honest kernels pass on unusual problems", "[problem][verdict][honest]") {
  for (const std::string text :
       {"B=2 Hq=4 Hkv=2 Sq=70 Skv=131 D=17 Dv=9 f16 causal=bottom_right",
        "B=2 Hq=4 Hkv=1 Sq=1 Skv=500 D=64 bf16", "B=1 Hq=1 Sq=1 D=8 f16",
        "B=1 Hq=2 Sq=90 Skv=20 D=16 bf16 causal=bottom_right layout=BSHD",
        "B=2 Hq=2 Sq=80 D=32 f16 mask=bool:0.5 causal=top_left",
        "B=2 Hq=2 Sq=80 D=32 bf16 mask=additive layout=BSHD", "B=1 Hq=2 Sq=16 D=2048 f32",
        "B=1 Hq=1 Sq=33 D=64 f32 scale=-0.3", "B=1 Hq=1 Sq=33 D=64 f16 scale=0"}) {
    const Problem p = problem_of(text);
    for (const Draw draw : {Draw::normal, Draw::large, Draw::edge}) {
      const Inputs inputs = make_inputs(p, 9, draw);
      for (const auto& [name, options] : honest_variants(p)) {
        const OutputVerdict verdict = judge(p, inputs, run_subject(p, inputs, options));
        INFO(text << ", " << name << ", " << to_string(draw) << ": " << verdict.reason);
        CHECK(verdict.pass);
        CHECK(verdict.worst.share < 1.0);
      }
    }
  }
}

TEST_CASE("an LSE near 0 may have the rounding of the score's terms",
          "[problem][verdict][honest]") {
  // One key: the LSE of a row is its score, added up in f32 one term after the other.
  int beyond_own_size = 0;
  for (const std::string text :
       {"B=1 Hq=8 Sq=64 Skv=1 D=512 f32", "B=1 Hq=2 Sq=64 Skv=1 D=8192 f32"}) {
    const Problem p = problem_of(text);
    for (const Draw draw : {Draw::normal, Draw::large}) {
      for (const std::uint32_t seed : {1u, 2u, 3u, 4u}) {
        const Inputs inputs = make_inputs(p, seed, draw);
        SubjectOutput made = run_subject(p, inputs, subject_for(p));
        const auto* q = reinterpret_cast<const float*>(inputs.q.data());
        const auto* k = reinterpret_cast<const float*>(inputs.k.data());
        const auto scale = static_cast<float>(effective_scale(p));
        for (std::int64_t row = 0; row < p.Hq * p.Sq; ++row) {
          float score = 0;
          double exact = 0;
          for (std::int64_t i = 0; i < p.D; ++i) {
            const float a = q[row * p.D + i], b = k[row / p.Sq * p.D + i];
            score = std::fma(a, b, score);
            exact += static_cast<double>(a) * static_cast<double>(b);
          }
          made.lse[static_cast<std::size_t>(row)] = score * scale;
          exact *= effective_scale(p);
          const double error = std::abs(static_cast<double>(score * scale) - exact);
          beyond_own_size += error > k_lse_tolerance * std::max(1.0, std::abs(exact)) ? 1 : 0;
        }
        OutputVerdict verdict = judge(p, inputs, made);
        INFO(text << ", " << to_string(draw) << ": " << verdict.reason);
        CHECK(verdict.pass);
        // A scale that is off by one part in a thousand is found all the same.
        for (float& lse : made.lse) lse *= 1.001f;
        CHECK_FALSE(judge(p, inputs, made).pass);
      }
    }
  }
  CHECK(beyond_own_size > 0);  // what this is about does happen
}

TEST_CASE("std itself passes, with nothing but rounding used", "[problem][verdict]") {
  const Problem p = problem_of("B=1 Hq=2 Sq=100 D=32 f16");
  const Inputs inputs = make_inputs(p, 4, Draw::normal);
  SubjectOutput output{Bytes(out_bytes(p)), std::vector<float>(200)};
  for (const RowBlock& block : all_row_blocks(p)) {
    const BlockOutput standard = std_block(p, inputs, block);
    for (std::size_t i = 0; i < standard.out.size(); ++i) {
      const std::int64_t at = (block.h * 100 + block.row_begin) * 32 + static_cast<std::int64_t>(i);
      testing::write_element(p, output.out, at, static_cast<float>(standard.out[i]));
    }
    for (std::size_t i = 0; i < standard.lse.size(); ++i) {
      output.lse[static_cast<std::size_t>(block.h * 100 + block.row_begin) + i] =
          static_cast<float>(standard.lse[i]);
    }
  }
  const OutputVerdict verdict = judge(p, inputs, output);
  CHECK(verdict.pass);
  CHECK(verdict.worst.share <= 2.0 / 3.0);
  CHECK(verdict.blocks_judged == 4);
  CHECK(verdict.blocks_total == 4);
}

TEST_CASE("the number of threads changes no verdict", "[problem][verdict]") {
  const Problem p = problem_of("B=2 Hq=3 Sq=150 D=16 bf16 causal=top_left");
  const Inputs inputs = make_inputs(p, 4, Draw::normal);
  SubjectOutput output = run_subject(p, inputs, subject_for(p));
  testing::write_element(p, output.out, 5000, 3.0f);
  JudgeOptions one, four;
  four.threads = 4;
  CHECK(to_json(judge(p, inputs, output, one)) == to_json(judge(p, inputs, output, four)));
}

TEST_CASE("a verdict names the worst element and both sides", "[problem][verdict]") {
  const Problem p = problem_of("B=1 Hq=2 Sq=150 D=16 f16 layout=BSHD");
  const Inputs inputs = make_inputs(p, 4, Draw::normal);
  SubjectOutput output = run_subject(p, inputs, subject_for(p));
  const TensorStrides strides = out_strides(p);
  testing::write_element(p, output.out, strides.head + 130 * strides.row + 7, 3.0f);
  const OutputVerdict verdict = judge(p, inputs, output);
  CHECK_FALSE(verdict.pass);
  CHECK(verdict.worst.rule == "max");
  CHECK(verdict.worst.block.h == 1);
  CHECK(verdict.worst.block.row_begin == 128);
  CHECK(verdict.worst.block.row_end == 150);
  CHECK(verdict.worst.row == 130);
  CHECK(verdict.worst.column == 7);
  CHECK(verdict.worst.got == 3.0);
  CHECK(verdict.worst.error == Approx(std::abs(3.0 - verdict.worst.want)));
  CHECK(verdict.worst.error > verdict.worst.budget);
  CHECK(verdict.worst.share == Approx(verdict.worst.error / verdict.worst.budget));
  CHECK_FALSE(verdict.reason.empty());
}

TEST_CASE("a verdict survives JSON, infinities and NaN too", "[problem][verdict][json]") {
  OutputVerdict verdict;
  verdict.reason = "2 elements are infinite or NaN";
  verdict.worst = {{1, 2, 64, 128},
                   "max",
                   std::numeric_limits<double>::infinity(),
                   0.25,
                   std::numeric_limits<double>::infinity(),
                   70,
                   3,
                   std::numeric_limits<double>::quiet_NaN(),
                   -0.5};
  verdict.blocks_judged = 3;
  verdict.blocks_total = 9;
  verdict.non_finite = 2;
  verdict.unwritten = 1;
  const auto text = parse_json(to_json(verdict).dump(), "verdict");
  REQUIRE(text.ok());
  const auto back = output_verdict_from_json(*text);
  REQUIRE(back.ok());
  CHECK(to_json(*back) == to_json(verdict));
  CHECK(std::isnan(back->worst.got));
  CHECK(std::isinf(back->worst.error));
  Json broken = to_json(verdict);
  broken["worst"]["error"] = "large";
  CHECK_FALSE(output_verdict_from_json(broken).ok());
  broken = to_json(verdict);
  broken.erase("worst");
  CHECK_FALSE(output_verdict_from_json(broken).ok());
  CHECK_FALSE(output_verdict_from_json(Json(3)).ok());
  broken = to_json(verdict);
  broken["pass"] = 1;
  CHECK_FALSE(output_verdict_from_json(broken).ok());
}

TEST_CASE("sampling is used above the bound, and scans every element", "[problem][verdict]") {
  const Problem p = problem_of("B=1 Hq=1 Sq=2048 D=64 f16");  // 5.4e8 multiply-adds
  const Inputs inputs = make_inputs(p, 4, Draw::normal);
  SubjectOutput output{Bytes(out_bytes(p)), std::vector<float>(2048)};
  for (const RowBlock& block : all_row_blocks(p)) {  // std stands in for a kernel: it is quick
    const BlockOutput standard = std_block(p, inputs, block);
    for (std::size_t i = 0; i < standard.out.size(); ++i) {
      testing::write_element(p, output.out, block.row_begin * 64 + static_cast<std::int64_t>(i),
                             static_cast<float>(standard.out[i]));
    }
    for (std::size_t i = 0; i < standard.lse.size(); ++i) {
      output.lse[static_cast<std::size_t>(block.row_begin) + i] =
          static_cast<float>(standard.lse[i]);
    }
  }
  JudgeOptions options;
  options.sample_seed = 11;
  options.poison = Poison{3};
  options.lse_poison = Poison{4};
  const OutputVerdict honest = judge(p, inputs, output, options);
  CHECK(honest.pass);
  CHECK(honest.blocks_judged == static_cast<std::int64_t>(k_sampled_blocks));
  CHECK(honest.blocks_total == 32);

  std::set<std::int64_t> sampled;
  for (const RowBlock& block : sample_row_blocks(p, k_sampled_blocks, 11)) {
    sampled.insert(block.row_begin);
  }
  std::int64_t row = 0;
  while (sampled.contains(row)) row += 64;
  SubjectOutput nan = output;
  testing::write_element(p, nan.out, row * 64 + 5, std::numeric_limits<float>::quiet_NaN());
  CHECK_FALSE(judge(p, inputs, nan, options).pass);
  CHECK(judge(p, inputs, nan, options).non_finite == 1);

  SubjectOutput unwritten = output;
  Bytes pattern(unwritten.out.size());
  options.poison->fill(pattern);
  std::copy_n(pattern.begin() + row * 128, 6, unwritten.out.begin() + row * 128);
  CHECK_FALSE(judge(p, inputs, unwritten, options).pass);
  CHECK(judge(p, inputs, unwritten, options).unwritten == 3);

  SubjectOutput bad_lse = output;
  bad_lse.lse[static_cast<std::size_t>(row)] = std::numeric_limits<float>::infinity();
  CHECK_FALSE(judge(p, inputs, bad_lse, options).pass);

  options.max_blocks = 32;
  CHECK(judge(p, inputs, output, options).blocks_judged == 32);
  options.max_blocks = 0;
  CHECK_FALSE(judge(p, inputs, output, options).pass);  // nothing judged is not a pass
}

TEST_CASE("buffers of another size are a fault of the caller", "[problem][verdict]") {
  const Problem p = problem_of("B=1 Hq=1 Sq=4 D=8");
  const Inputs inputs = make_inputs(p, 4, Draw::normal);
  CHECK_THROWS_AS(judge_output(p, inputs, Bytes(3), {}, {}), std::logic_error);
  const std::vector<float> short_lse(3);
  CHECK_THROWS_AS(judge_output(p, inputs, Bytes(out_bytes(p)), short_lse, {}), std::logic_error);
}
