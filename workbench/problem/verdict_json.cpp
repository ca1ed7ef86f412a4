// SPDX-License-Identifier: MIT
// Verdicts as JSON for the log and the wire.
#include <cmath>
#include <limits>

#include "core/json.hpp"
#include "problem/verdict.hpp"

namespace wb::problem {
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
