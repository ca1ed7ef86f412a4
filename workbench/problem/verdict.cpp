// SPDX-License-Identifier: MIT
#include "problem/verdict.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "core/json.hpp"
#include "problem/decision.hpp"
#include "problem/inner_loops.hpp"
#include "problem/parallel.hpp"

namespace wb::problem {
namespace {

constexpr double k_infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t k_scan_bytes = std::size_t{1} << 20;

ErrorStatistics errors_of(const std::vector<double>& values, const std::vector<double>& reference) {
  ErrorStatistics errors;
  double sum = 0;
  double magnitude_sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double difference = std::abs(values[i] - reference[i]);
    const double error = std::isnan(difference) ? k_infinity : difference;
    if (error > errors.max) {
      errors.max = error;
      errors.worst_index = static_cast<std::int64_t>(i);
    }
    sum += error;
    magnitude_sum += std::abs(values[i]);
    errors.max_magnitude = std::max(errors.max_magnitude, std::abs(values[i]));
  }
  const auto count = static_cast<double>(values.size());
  errors.mean = sum / count;
  errors.mean_magnitude = magnitude_sum / count;
  return errors;
}

/// Rows of one output block as numbers, [rows, Dv].
std::vector<double> output_rows(const Problem& problem, std::span<const std::byte> out,
                                const RowBlock& block) {
  const TensorStrides strides = out_strides(problem);
  const std::int64_t rows = block.row_end - block.row_begin;
  std::vector<double> values(static_cast<std::size_t>(rows * problem.Dv));
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t at =
        block.b * strides.batch + block.h * strides.head + (block.row_begin + i) * strides.row;
    load_elements(problem.dtype, out.data() + at * size_bytes(problem.dtype), problem.Dv,
                  values.data() + i * problem.Dv);
  }
  return values;
}

/// Errors of std on this block; for a small one the largest over all forms.
ErrorStatistics std_errors(const Problem& problem, const Inputs& inputs, const RowBlock& block,
                           const BlockOutput& reference) {
  ErrorStatistics errors = errors_of(std_block(problem, inputs, block).out, reference.out);
  if (!is_small_block(problem, block)) return errors;
  for (const StdForm form : {StdForm::short_blocks, StdForm::normalized}) {
    take_larger(errors, errors_of(std_block(problem, inputs, block, form).out, reference.out));
  }
  return errors;
}

BudgetUse judge_block(const Problem& problem, const Inputs& inputs, std::span<const std::byte> out,
                      std::span<const float> lse, const RowBlock& block) {
  const BlockOutput reference = oracle_block(problem, inputs, block);
  const std::vector<double> values = output_rows(problem, out, block);
  const ErrorStatistics own = errors_of(reference.out, reference.out);
  BlockStatistics statistics;
  statistics.out = errors_of(values, reference.out);
  const auto worst = static_cast<std::size_t>(statistics.out.worst_index);
  statistics.got = values[worst];
  statistics.want = reference.out[worst];
  statistics.of_std = std_errors(problem, inputs, block, reference);
  statistics.max_ref = own.max_magnitude;
  statistics.mean_ref = own.mean_magnitude;
  statistics.score_deviation = score_deviation(problem, inputs.draw);
  statistics.score_terms = score_terms(inputs.draw);
  statistics.ref_lse = reference.lse;
  statistics.weight_norm = reference.weight_norm;
  if (!lse.empty()) {
    const std::int64_t at = (block.b * problem.Hq + block.h) * problem.Sq + block.row_begin;
    statistics.got_lse = lse.subspan(static_cast<std::size_t>(at),
                                     static_cast<std::size_t>(block.row_end - block.row_begin));
  }
  return judge_statistics(problem, block, statistics);
}

std::int64_t count_non_finite(Dtype dtype, std::span<const std::byte> bytes) {
  std::int64_t count = 0;
  if (dtype == Dtype::f32) {
    for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
      std::uint32_t bits;
      std::memcpy(&bits, bytes.data() + at, sizeof bits);
      count += (bits & 0x7f800000u) == 0x7f800000u ? 1 : 0;
    }
    return count;
  }
  const std::uint16_t exponent = dtype == Dtype::f16 ? 0x7c00u : 0x7f80u;
  for (std::size_t at = 0; at + 2 <= bytes.size(); at += 2) {
    std::uint16_t bits;
    std::memcpy(&bits, bytes.data() + at, sizeof bits);
    count += (bits & exponent) == exponent ? 1 : 0;
  }
  return count;
}

OutputScan scan_all(const Problem& problem, std::span<const std::byte> out,
                    std::span<const float> lse, const JudgeOptions& options) {
  const std::size_t pieces = (out.size() + k_scan_bytes - 1) / k_scan_bytes;
  std::atomic<std::int64_t> non_finite{count_bad_lse(lse)};
  parallel_for(pieces, options.threads, [&](std::size_t piece) {
    const std::size_t begin = piece * k_scan_bytes;
    const auto part = out.subspan(begin, std::min(k_scan_bytes, out.size() - begin));
    non_finite += count_non_finite(problem.dtype, part);
  });
  OutputScan scan{.non_finite = non_finite};
  if (options.poison) {
    scan.unwritten += options.poison->survivors(out, size_bytes(problem.dtype));
  }
  if (options.lse_poison) {
    scan.unwritten += options.lse_poison->survivors(std::as_bytes(lse), sizeof(float));
  }
  return scan;
}

std::size_t blocks_to_judge(const Problem& problem, const JudgeOptions& options) {
  if (options.max_blocks) return *options.max_blocks;
  const double madds = work(problem).kept_pairs * static_cast<double>(problem.D + problem.Dv);
  return madds > k_full_oracle_max_madds ? k_sampled_blocks
                                         : std::numeric_limits<std::size_t>::max();
}

}  // namespace

double rounding_allowance(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return 0x1p-19;
    case Dtype::f16:
      return 0x1p-11;
    case Dtype::bf16:
      return 0x1p-8;
  }
  throw std::logic_error("a Dtype outside its enumeration");
}

OutputVerdict judge_output(const Problem& problem, const Inputs& inputs,
                           std::span<const std::byte> out, std::span<const float> lse,
                           const JudgeOptions& options) {
  const std::int64_t lse_count = problem.B * problem.Hq * problem.Sq;
  if (out.size() != out_bytes(problem) ||
      (!lse.empty() && static_cast<std::int64_t>(lse.size()) != lse_count)) {
    throw std::logic_error("judge_output: out or lse has another size than the problem says");
  }
  const std::span<const float> judged_lse = options.judge_lse ? lse : std::span<const float>();
  const OutputScan scan = scan_all(problem, out, judged_lse, options);
  const std::vector<RowBlock> blocks =
      sample_row_blocks(problem, blocks_to_judge(problem, options), options.sample_seed);
  std::vector<BudgetUse> uses(blocks.size());
  parallel_for(blocks.size(), options.threads, [&](std::size_t i) {
    uses[i] = judge_block(problem, inputs, out, judged_lse, blocks[i]);
  });
  return conclude(problem, uses, scan);
}

namespace {

constexpr double k_infinite_value = std::numeric_limits<double>::infinity();

/// JSON has no infinities and no NaN; they are the words "inf", "-inf", "nan".
Json real_json(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

double read_real(ObjectReader& reader, std::string_view key) {
  const Json* json = reader.member(key);
  if (json == nullptr || !json->is_string()) return reader.real(key);
  const std::string word = json->get<std::string>();
  if (word == "inf") return k_infinite_value;
  if (word == "-inf") return -k_infinite_value;
  if (word != "nan") reader.fail(key, "is a number, \"inf\", \"-inf\" or \"nan\"");
  return std::numeric_limits<double>::quiet_NaN();
}

Json to_json(const BudgetUse& use) {
  return {{"b", use.block.b},
          {"h", use.block.h},
          {"row_begin", use.block.row_begin},
          {"row_end", use.block.row_end},
          {"rule", use.rule},
          {"error", real_json(use.error)},
          {"budget", real_json(use.budget)},
          {"share", real_json(use.share)},
          {"row", use.row},
          {"column", use.column},
          {"got", real_json(use.got)},
          {"want", real_json(use.want)}};
}

Result<BudgetUse> budget_use_from_json(const Json& json) {
  constexpr std::int64_t k_most = std::numeric_limits<std::int64_t>::max();
  ObjectReader reader(json, "the worst block of a verdict");
  BudgetUse use;
  use.block.b = reader.integer("b", 0, k_most);
  use.block.h = reader.integer("h", 0, k_most);
  use.block.row_begin = reader.integer("row_begin", 0, k_most);
  use.block.row_end = reader.integer("row_end", 0, k_most);
  use.rule = reader.string("rule");
  use.error = read_real(reader, "error");
  use.budget = read_real(reader, "budget");
  use.share = read_real(reader, "share");
  use.row = reader.integer("row", -1, k_most);
  use.column = reader.integer("column", -1, k_most);
  use.got = read_real(reader, "got");
  use.want = read_real(reader, "want");
  WB_TRY(reader.finish());
  return use;
}

}  // namespace

Json to_json(const OutputVerdict& verdict) {
  return {{"pass", verdict.pass},
          {"reason", verdict.reason},
          {"worst", to_json(verdict.worst)},
          {"blocks_judged", verdict.blocks_judged},
          {"blocks_total", verdict.blocks_total},
          {"non_finite", verdict.non_finite},
          {"unwritten", verdict.unwritten}};
}

Result<OutputVerdict> output_verdict_from_json(const Json& json) {
  constexpr std::int64_t k_most = std::numeric_limits<std::int64_t>::max();
  ObjectReader reader(json, "a verdict");
  OutputVerdict verdict;
  verdict.pass = reader.boolean_or("pass", false);
  verdict.reason = reader.string("reason");
  const Json* worst = reader.member("worst");
  if (worst == nullptr) reader.fail("worst", "is missing");
  verdict.blocks_judged = reader.integer("blocks_judged", 0, k_most);
  verdict.blocks_total = reader.integer("blocks_total", 0, k_most);
  verdict.non_finite = reader.integer("non_finite", 0, k_most);
  verdict.unwritten = reader.integer("unwritten", 0, k_most);
  WB_TRY(reader.finish());
  WB_TRY_ASSIGN(verdict.worst, budget_use_from_json(*worst));
  return verdict;
}

}  // namespace wb::problem
