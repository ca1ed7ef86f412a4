// SPDX-License-Identifier: MIT
// Probes of the oracle and of std: problems whose outputs are known without computing attention.
#include "problem/attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "support/catch.hpp"
#include "unit/problem/subject.hpp"

using namespace wb;
using namespace wb::problem;
using testing::write_element;

namespace {

Problem problem_of(const std::string& text) {
  return parse_problem(text).value();
}

const std::vector<std::string> k_probed{
    "B=2 Hq=4 Hkv=2 Sq=70 Skv=131 D=17 Dv=9 f32",
    "B=1 Hq=2 Sq=1 Skv=200 D=64 bf16",
    "B=1 Hq=1 Sq=1 D=1 f16",
    "B=2 Hq=2 Sq=65 Skv=40 D=8 f16 causal=bottom_right layout=BSHD",
    "B=1 Hq=3 Hkv=1 Sq=129 D=24 f16 causal=top_left mask=bool:0.4",
    "B=1 Hq=2 Sq=33 Skv=300 D=16 bf16 mask=additive layout=BSHD",
    "B=1 Hq=2 Sq=33 Skv=30 D=16 f32 mask=additive causal=bottom_right"};

/// Attention by its definition, one row, in double: softmax over kept keys, then the sum.
struct NaiveRow {
  std::vector<double> out;
  double lse;
};
NaiveRow naive_row(const Problem& p, const Inputs& in, std::int64_t b, std::int64_t h,
                   std::int64_t row) {
  const auto at = [&](const Bytes& bytes, Tensor t, std::int64_t head, std::int64_t r,
                      std::int64_t d) {
    const TensorStrides s = tensor_strides(p, t);
    return static_cast<double>(
        testing::read_element(p, bytes, b * s.batch + head * s.head + r * s.row + d));
  };
  const std::int64_t kv = h * p.Hkv / p.Hq;
  std::vector<double> scores;
  std::vector<std::int64_t> keys;
  for (std::int64_t key = 0; key < visible_keys(p, row); ++key) {
    double score = 0;
    for (std::int64_t d = 0; d < p.D; ++d) {
      score += at(in.q, Tensor::q, h, row, d) * at(in.k, Tensor::k, kv, key, d);
    }
    score *= effective_scale(p);
    const std::int64_t m = (b * p.Sq + row) * p.Skv + key;
    if (p.mask == MaskKind::boolean && in.mask[static_cast<std::size_t>(m)] == std::byte{0})
      continue;
    if (p.mask == MaskKind::additive) {
      score += static_cast<double>(testing::read_element(p, in.mask, m));
    }
    if (std::isinf(score)) continue;
    scores.push_back(score);
    keys.push_back(key);
  }
  NaiveRow result{std::vector<double>(static_cast<std::size_t>(p.Dv), 0.0),
                  -std::numeric_limits<double>::infinity()};
  if (keys.empty()) return result;
  const double max = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - max);
  result.lse = max + std::log(sum);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const double weight = std::exp(scores[i] - result.lse);
    for (std::int64_t d = 0; d < p.Dv; ++d) {
      result.out[static_cast<std::size_t>(d)] += weight * at(in.v, Tensor::v, kv, keys[i], d);
    }
  }
  return result;
}

bool is_masked_row(const BlockOutput& block, std::size_t row) {
  return std::isinf(block.lse[row]);
}

}  // namespace

TEST_CASE("the oracle is attention by its definition", "[problem][oracle]") {
  for (const std::string& text : k_probed) {
    const Problem p = problem_of(text);
    const Inputs inputs = make_inputs(p, 31, Draw::edge);
    double worst = 0;
    for (const RowBlock& block : all_row_blocks(p)) {
      const BlockOutput got = oracle_block(p, inputs, block);
      for (std::int64_t row = block.row_begin; row < block.row_end; ++row) {
        const NaiveRow want = naive_row(p, inputs, block.b, block.h, row);
        const auto i = static_cast<std::size_t>(row - block.row_begin);
        if (std::isinf(want.lse)) {
          REQUIRE(got.lse[i] == want.lse);
        } else {
          worst = std::max(worst, std::abs(got.lse[i] - want.lse));
        }
        for (std::size_t d = 0; d < want.out.size(); ++d) {
          worst = std::max(worst, std::abs(got.out[i * want.out.size() + d] - want.out[d]));
        }
      }
    }
    INFO(text);
    CHECK(worst < 1e-12);
  }
}

TEST_CASE("V = 1 gives 1 in every row that sees a key, else 0", "[problem][oracle][std]") {
  for (const std::string& text : k_probed) {
    const Problem p = problem_of(text);
    Inputs inputs = make_inputs(p, 77, Draw::edge);
    for (std::int64_t i = 0; i < element_count(p, Tensor::v); ++i) {
      write_element(p, inputs.v, i, 1.0f);
    }
    // P is rounded to the dtype in std, its row sum is not: the two differ by that rounding.
    const double tolerance = p.dtype == Dtype::f32 ? 1e-6 : p.dtype == Dtype::f16 ? 1e-3 : 8e-3;
    for (const RowBlock& block : all_row_blocks(p)) {
      const BlockOutput oracle = oracle_block(p, inputs, block);
      const BlockOutput standard = std_block(p, inputs, block);
      for (std::size_t i = 0; i < oracle.out.size(); ++i) {
        const double want = is_masked_row(oracle, i / static_cast<std::size_t>(p.Dv)) ? 0.0 : 1.0;
        INFO(text);
        REQUIRE(std::abs(oracle.out[i] - want) < 1e-14);
        REQUIRE(std::abs(standard.out[i] - want) < tolerance);
      }
    }
  }
}

TEST_CASE("one-hot V gives probabilities that sum to one", "[problem][oracle]") {
  for (const std::string mask : {"", " mask=bool:0.5", " mask=additive"}) {
    // Dv = Skv and V the identity: out[row] is the row of P.
    const Problem p =
        problem_of("B=1 Hq=2 Hkv=1 Sq=20 Skv=37 D=8 Dv=37 f32 causal=bottom_right" + mask);
    Inputs inputs = make_inputs(p, 5, Draw::normal);
    for (std::int64_t key = 0; key < p.Skv; ++key) {
      for (std::int64_t d = 0; d < p.Dv; ++d) {
        write_element(p, inputs.v, key * p.Dv + d, key == d ? 1.0f : 0.0f);
      }
    }
    for (const RowBlock& block : all_row_blocks(p)) {
      const BlockOutput oracle = oracle_block(p, inputs, block);
      for (std::int64_t row = 0; row < p.Sq; ++row) {
        double sum = 0;
        for (std::int64_t key = 0; key < p.Skv; ++key) {
          const double weight = oracle.out[static_cast<std::size_t>(row * p.Dv + key)];
          REQUIRE(weight >= 0);
          if (key >= visible_keys(p, row)) REQUIRE(weight == 0);
          sum += weight;
        }
        REQUIRE(std::abs(sum - 1) < 1e-14);
      }
    }
  }
}

TEST_CASE("fully masked rows give 0 and LSE -inf", "[problem][oracle][std]") {
  for (const std::string text :
       {"B=2 Hq=2 Sq=9 Skv=5 D=4 f16 mask=bool:0.9", "B=2 Hq=2 Sq=9 Skv=5 D=4 bf16 mask=additive",
        "B=1 Hq=1 Sq=9 Skv=5 D=4 causal=bottom_right"}) {
    const Problem p = problem_of(text);
    const std::uint32_t seed = 3;  // row 3 is masked by the edge draw; causal hides rows 0 to 3
    const Inputs inputs = make_inputs(p, seed, Draw::edge);
    for (const RowBlock& block : all_row_blocks(p)) {
      for (const BlockOutput& result :
           {oracle_block(p, inputs, block), std_block(p, inputs, block)}) {
        CHECK(result.lse[3] == -std::numeric_limits<double>::infinity());
        for (std::size_t d = 0; d < 4; ++d) CHECK(result.out[3 * 4 + d] == 0);
        CHECK(std::isfinite(result.lse[8]));
      }
    }
  }
}

TEST_CASE("finite minima of an additive mask do not mask", "[problem][oracle][std]") {
  const Problem p = problem_of("B=1 Hq=1 Sq=1 Skv=4 D=4 Dv=1 bf16 mask=additive");
  Inputs inputs = make_inputs(p, 3, Draw::normal);
  for (std::int64_t i = 0; i < 4; ++i) {
    write_element(p, inputs.mask, i, -3.3895314e38f);  // the lowest bf16
    write_element(p, inputs.v, i, 1.0f);
  }
  const RowBlock block = all_row_blocks(p).front();
  CHECK(oracle_block(p, inputs, block).out[0] == Approx(1));
  CHECK(std_block(p, inputs, block).out[0] == Approx(1));
  CHECK(std::isfinite(oracle_block(p, inputs, block).lse[0]));
}

TEST_CASE("many keys are taken a few rows at a time, with the same result", "[problem][oracle]") {
  const Problem p =
      problem_of("B=1 Hq=1 Sq=3 Skv=1200000 D=1 f16");  // more scores than fit at once
  const Inputs inputs = make_inputs(p, 2, Draw::normal);
  const BlockOutput whole = oracle_block(p, inputs, {0, 0, 0, 3});
  const BlockOutput last = oracle_block(p, inputs, {0, 0, 2, 3});
  CHECK(whole.out[2] == last.out[0]);
  CHECK(whole.lse[2] == last.lse[0]);
}

TEST_CASE("blocks cover every row once", "[problem][blocks]") {
  const Problem p = problem_of("B=2 Hq=3 Sq=130 D=4");
  const auto blocks = all_row_blocks(p);
  CHECK(blocks.size() == 2u * 3 * 3);
  CHECK(row_block_count(p) == 18);
  std::set<std::int64_t> rows;
  for (const RowBlock& block : blocks) {
    CHECK(block.row_begin % k_rows_per_block == 0);
    for (std::int64_t row = block.row_begin; row < block.row_end; ++row) {
      CHECK(rows.insert((block.b * 3 + block.h) * 130 + row).second);
    }
  }
  CHECK(rows.size() == 2u * 3 * 130);
}

TEST_CASE("samples hold first and last blocks, differ by seed, and repeat", "[problem][blocks]") {
  const auto key = [](const RowBlock& block) {
    return std::tuple(block.b, block.h, block.row_begin);
  };
  const auto keys = [&](const Problem& p, std::size_t count, std::uint32_t seed) {
    std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> set;
    for (const RowBlock& block : sample_row_blocks(p, count, seed)) set.insert(key(block));
    return set;
  };
  const Problem few_heads = problem_of("B=2 Hq=2 Sq=6400 D=4");
  const auto sample = keys(few_heads, 24, 1);
  CHECK(sample.size() == 24);
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t h = 0; h < 2; ++h) {
      CHECK(sample.contains({b, h, 0}));
      CHECK(sample.contains({b, h, 6336}));
    }
  }
  CHECK(sample == keys(few_heads, 24, 1));
  CHECK(sample != keys(few_heads, 24, 2));
  const Problem many_heads = problem_of("B=16 Hq=32 Sq=640 D=4");
  const auto spread = keys(many_heads, 24, 1);
  CHECK(spread.size() == 24);
  CHECK(std::count_if(spread.begin(), spread.end(), [](const auto& at) {
          return std::get<2>(at) == 0 || std::get<2>(at) == 576;
        }) >= 12);
  const Problem decode = problem_of("B=16 Hq=32 Sq=1 Skv=8 D=4");
  CHECK(keys(decode, 24, 3).size() == 24);
  CHECK(keys(decode, 100000, 3).size() == 512);
}
