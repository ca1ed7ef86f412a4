// SPDX-License-Identifier: MIT
// Errors that real kernels had, or that a dishonest one would try: the verdict must catch each.
#include <algorithm>
#include <cmath>
#include <limits>

#include "problem/verdict.hpp"
#include "support/catch.hpp"
#include "unit/problem/subject.hpp"

using namespace wb;
using namespace wb::problem;
using testing::run_subject;
using testing::subject_for;
using testing::SubjectOptions;
using testing::SubjectOutput;

namespace {

constexpr float k_nan = std::numeric_limits<float>::quiet_NaN();
constexpr float k_infinity = std::numeric_limits<float>::infinity();

/// One problem, its inputs and an honest output, to be spoiled.
struct Case {
  Problem p;
  Inputs inputs;
  SubjectOutput honest;

  explicit Case(const std::string& text, std::uint32_t seed = 6, Draw draw = Draw::normal)
      : p(parse_problem(text).value()),
        inputs(make_inputs(p, seed, draw)),
        honest(run_subject(p, inputs, subject_for(p))) {
    REQUIRE(judge(honest).pass);
  }
  OutputVerdict judge(const SubjectOutput& output, JudgeOptions options = {}) const {
    return judge_output(p, inputs, output.out, output.lse, options);
  }
  /// The verdict on a kernel that is honest but for one change.
  template <typename Change>
  OutputVerdict spoiled(const Change& change) const {
    SubjectOptions options = subject_for(p);
    change(options);
    return judge(run_subject(p, inputs, options));
  }
};

}  // namespace

TEST_CASE("a key block dropped in the last rows of a long causal problem", "[problem][planted]") {
  for (const std::string dtype : {"f32", "f16", "bf16"}) {
    const Case c("B=1 Hq=1 Sq=1536 D=64 causal=top_left " + dtype);
    const OutputVerdict block = c.spoiled([](SubjectOptions& o) {
      o.drops = [](std::int64_t row, std::int64_t key) {
        return row >= 1504 && key >= 640 && key < 704;
      };
    });
    INFO(dtype << " " << block.worst.share);
    CHECK_FALSE(block.pass);
    CHECK(block.worst.share > 3);
    CHECK(block.worst.block.row_begin == 1472);
  }
}

TEST_CASE("eight keys of 2048 dropped", "[problem][planted]") {
  for (const std::string dtype : {"f16", "bf16"}) {
    const Case c("B=1 Hq=1 Sq=64 Skv=2048 D=64 " + dtype);
    const OutputVerdict verdict = c.spoiled([](SubjectOptions& o) {
      o.drops = [](std::int64_t, std::int64_t key) { return key >= 2040; };
    });
    INFO(dtype << " " << verdict.worst.share);
    CHECK_FALSE(verdict.pass);
    CHECK(verdict.worst.share > 2);
  }
}

TEST_CASE("one head swapped", "[problem][planted]") {
  const Case c("B=1 Hq=4 Hkv=2 Sq=70 D=32 bf16");
  const OutputVerdict verdict = c.spoiled([](SubjectOptions& o) { o.swap_heads = true; });
  CHECK_FALSE(verdict.pass);
  CHECK(verdict.worst.block.h < 2);
}

TEST_CASE("the wrong scale", "[problem][planted]") {
  for (const std::string dtype : {"f32", "f16", "bf16"}) {
    const Case c("B=1 Hq=1 Sq=128 Skv=2048 D=64 " + dtype);
    const OutputVerdict one = c.spoiled([](SubjectOptions& o) { o.scale_factor = 1.01; });
    INFO(dtype << " " << one.worst.share);
    CHECK_FALSE(one.pass);
  }
  const Case f16("B=1 Hq=1 Sq=128 Skv=2048 D=64 f16");
  for (const double factor : {1.003, 0.997}) {
    CHECK_FALSE(f16.spoiled([&](SubjectOptions& o) { o.scale_factor = factor; }).pass);
  }
}

TEST_CASE("the wrong scale is caught in the output even when LSE is not judged",
          "[problem][planted]") {
  const Case c("B=1 Hq=1 Sq=128 Skv=2048 D=64 f16");
  SubjectOptions options = subject_for(c.p);
  options.scale_factor = 1.003;
  JudgeOptions no_lse;
  no_lse.judge_lse = false;
  const OutputVerdict verdict = c.judge(run_subject(c.p, c.inputs, options), no_lse);
  INFO(verdict.worst.share);
  CHECK_FALSE(verdict.pass);
  CHECK(verdict.worst.rule != "lse");
  CHECK(verdict.worst.share > 3);
}

TEST_CASE("a late NaN or infinity", "[problem][planted]") {
  for (const std::string dtype : {"f32", "f16", "bf16"}) {
    const Case c("B=2 Hq=2 Sq=100 D=16 " + dtype);
    for (const float value : {k_nan, k_infinity, -k_infinity}) {
      SubjectOutput output = c.honest;
      testing::write_element(c.p, output.out, out_element_count(c.p) - 1, value);
      const OutputVerdict verdict = c.judge(output);
      CHECK_FALSE(verdict.pass);
      CHECK(verdict.non_finite == 1);
      CHECK_FALSE(verdict.worst.share <= 1);  // the inequality fails too, not only the scan
    }
  }
}

TEST_CASE("an output of other inputs", "[problem][planted]") {
  const Case c("B=1 Hq=2 Sq=100 D=32 bf16", 6);
  const Case other("B=1 Hq=2 Sq=100 D=32 bf16", 7);
  CHECK_FALSE(c.judge(other.honest).pass);
  SubjectOutput zeros = c.honest;
  std::fill(zeros.out.begin(), zeros.out.end(), std::byte{0});
  CHECK_FALSE(c.judge(zeros).pass);
}

TEST_CASE("elements that were never written", "[problem][planted]") {
  for (const std::string dtype : {"f32", "f16", "bf16"}) {
    const Case c("B=1 Hq=2 Sq=100 D=32 layout=BSHD " + dtype);
    JudgeOptions options;
    options.poison = Poison{99};
    options.lse_poison = Poison{100};
    CHECK(c.judge(c.honest, options).unwritten == 0);
    Bytes pattern(c.honest.out.size());
    options.poison->fill(pattern);
    SubjectOutput output = c.honest;
    const auto element = static_cast<std::size_t>(size_bytes(c.p.dtype));
    std::copy_n(pattern.end() - static_cast<std::ptrdiff_t>(8 * element), 8 * element,
                output.out.end() - static_cast<std::ptrdiff_t>(8 * element));
    const OutputVerdict verdict = c.judge(output, options);
    CHECK_FALSE(verdict.pass);
    CHECK(verdict.unwritten == 8);
    CHECK(verdict.reason.find("never written") != std::string::npos);

    SubjectOutput no_lse = c.honest;
    options.lse_poison->fill(std::as_writable_bytes(std::span(no_lse.lse)));
    CHECK_FALSE(c.judge(no_lse, options).pass);
    CHECK(c.judge(no_lse, options).unwritten == 200);
  }
}

TEST_CASE("P in half precision where f32 was asked", "[problem][planted]") {
  const Case c("B=1 Hq=1 Sq=128 Skv=512 D=64 f32");
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    const OutputVerdict verdict = c.spoiled([&](SubjectOptions& o) { o.p_dtype = dtype; });
    INFO(verdict.worst.share);
    CHECK_FALSE(verdict.pass);
    CHECK(verdict.worst.share > 5);
  }
}

TEST_CASE("P in half precision is caught over long rows too, where its errors average out",
          "[problem][planted]") {
  const Case c("B=1 Hq=1 Sq=64 Skv=4096 D=64 f32");
  const OutputVerdict verdict = c.spoiled([&](SubjectOptions& o) { o.p_dtype = Dtype::f16; });
  INFO(verdict.worst.share);
  CHECK_FALSE(verdict.pass);
  CHECK(verdict.worst.share > 2);
}

TEST_CASE("inputs cut to half precision where f32 was asked", "[problem][planted]") {
  for (const Draw draw : {Draw::normal, Draw::large}) {
    const Case c("B=1 Hq=1 Sq=64 Skv=512 D=64 f32", 6, draw);
    Inputs cut = c.inputs;
    for (Bytes* bytes : {&cut.q, &cut.k}) {  // as TF32 does: 10 bits of mantissa are left
      for (std::size_t i = 0; i < bytes->size(); i += 4) {
        (*bytes)[i] = std::byte{0};
        (*bytes)[i + 1] &= std::byte{0xe0};
      }
    }
    const OutputVerdict verdict = c.judge(run_subject(c.p, cut, subject_for(c.p)));
    INFO(to_string(draw) << " " << verdict.worst.share);
    CHECK_FALSE(verdict.pass);
    CHECK(verdict.worst.share > 3);
  }
}

TEST_CASE("P in bf16 where f16 was asked", "[problem][planted]") {
  const Case c("B=1 Hq=1 Sq=128 Skv=512 D=64 f16");
  CHECK_FALSE(c.spoiled([](SubjectOptions& o) { o.p_dtype = Dtype::bf16; }).pass);
}

TEST_CASE("a wrong LSE", "[problem][planted]") {
  const Case c("B=1 Hq=2 Sq=100 Skv=500 D=32 bf16 causal=bottom_right");
  const std::size_t row = 133;  // head 1, row 33
  const float right = c.honest.lse[row];
  for (const float wrong : {right * (1 + 2e-5f), right * (1 - 2e-5f), k_infinity, -k_infinity,
                            k_nan, right * 1.4426950f}) {
    SubjectOutput output = c.honest;
    output.lse[row] = wrong;
    const OutputVerdict verdict = c.judge(output);
    INFO(wrong << " for " << right);
    CHECK_FALSE(verdict.pass);
    CHECK(verdict.worst.rule == "lse");
    CHECK(verdict.worst.row == 33);
    CHECK(verdict.worst.block.h == 1);
  }
  const Case small("B=1 Hq=1 Sq=3 Skv=1 D=4 f32 scale=0");  // LSE 0: the tolerance is absolute
  SubjectOutput output = small.honest;
  CHECK(output.lse[1] == 0);
  output.lse[1] = 2e-5f;
  CHECK_FALSE(small.judge(output).pass);
}

TEST_CASE("fully masked rows that are not 0 and -inf", "[problem][planted]") {
  const Case c("B=1 Hq=1 Sq=9 Skv=5 D=4 f16 causal=bottom_right");
  SubjectOutput output = c.honest;
  REQUIRE(output.lse[2] == -k_infinity);
  output.lse[2] = -1e30f;
  CHECK_FALSE(c.judge(output).pass);
  output = c.honest;
  testing::write_element(c.p, output.out, 2 * 4, 0.1f);
  CHECK_FALSE(c.judge(output).pass);
  // What torch does with a boolean mask: the mean of V.
  output = c.honest;
  for (std::int64_t d = 0; d < 4; ++d) testing::write_element(c.p, output.out, d, k_nan);
  CHECK_FALSE(c.judge(output).pass);
}

TEST_CASE("the causal diagonal off by one", "[problem][planted]") {
  for (const std::string kind : {"top_left", "bottom_right"}) {
    const Case c("B=1 Hq=1 Sq=300 Skv=400 D=64 bf16 causal=" + kind);
    const OutputVerdict verdict = c.spoiled([&](SubjectOptions& o) {
      o.drops = [&](std::int64_t row, std::int64_t key) {
        return key == visible_keys(c.p, row) - 1 && key > 0;
      };
    });
    CHECK_FALSE(verdict.pass);
  }
}
