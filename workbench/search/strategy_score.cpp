// SPDX-License-Identifier: MIT
// Scores: from comparisons, and as the log stores them.
#include "core/json.hpp"
#include "search/strategy.hpp"

namespace wb::search {

using measure::k_unknown;
using measure::Turn;

namespace {

Json number_or_null(double value) {
  return value > 0 && value < std::numeric_limits<double>::infinity() ? Json(value) : Json(nullptr);
}

void count(Score& score, std::span<const Turn> turns) {
  score.turns = static_cast<std::int64_t>(turns.size());
  for (const Turn& turn : turns) score.samples += static_cast<std::int64_t>(turn.samples_us.size());
}

}  // namespace

Score invalid_score(Invalidity invalidity) {
  Score score;
  score.invalidity = invalidity;
  score.outcome = measure::ComparisonOutcome::ambiguous;
  score.speedup = k_unknown;
  score.interval.low = score.interval.high = k_unknown;
  return score;
}

Score score_of(const measure::Comparison& comparison, std::span<const Turn> turns) {
  Score score;
  score.outcome = comparison.outcome;
  score.speedup = comparison.speedup;
  score.interval = comparison.interval;
  if (measure::is_uninformative(score.interval))
    score.interval.low = score.interval.high = k_unknown;
  count(score, turns);
  return score;
}

Score first_score(std::span<const Turn> turns) {
  Score score;
  count(score, turns);
  return score;
}

Score chained(const Score& score, const Score& other) {
  if (score.invalidity) return score;
  Score joined = score;
  joined.speedup = score.speedup * other.speedup;
  joined.interval.low = joined.interval.high = k_unknown;
  if (measure::is_valid(score.interval) && measure::is_valid(other.interval)) {
    joined.interval.low = score.interval.low * other.interval.low;
    joined.interval.high = score.interval.high * other.interval.high;
  }
  joined.outcome = measure::classify(joined.interval, 0, 0);
  return joined;
}

Json to_json(const Score& score) {
  return {
      {"outcome", score.invalidity ? to_string(*score.invalidity) : to_string(score.outcome)},
      {"speedup", score.invalidity ? Json(nullptr) : number_or_null(score.speedup)},
      {"interval", !score.invalidity && measure::is_shown(score.interval) ? to_json(score.interval)
                                                                          : Json(nullptr)},
      {"turns", score.turns},
      {"samples", score.samples},
      {"duplicate", score.is_duplicate}};
}

Result<Score> score_from_json(const Json& json) {
  ObjectReader reader(json, "the score");
  const std::string outcome = reader.string("outcome");
  Score score = invalid_score(Invalidity::environment);
  score.invalidity = parse_invalidity(outcome);
  if (!score.invalidity) {
    const auto word = measure::parse_comparison_outcome(outcome);
    if (word) score.outcome = *word;
    if (!word) reader.fail("outcome", "is neither an outcome nor an invalidity");
  }
  const Json* speedup = reader.member("speedup");
  if (speedup != nullptr && !speedup->is_null()) score.speedup = reader.real("speedup");
  const Json* interval = reader.member("interval");
  constexpr std::int64_t k_max = std::int64_t{1} << 53;
  score.turns = reader.integer_or("turns", 0, 0, k_max);
  score.samples = reader.integer_or("samples", 0, 0, k_max);
  score.is_duplicate = reader.boolean_or("duplicate", false);
  WB_TRY(reader.finish(true));
  if (interval != nullptr && !interval->is_null()) {
    WB_TRY_ASSIGN(score.interval, measure::interval_from_json(*interval));
  }
  return score;
}

}  // namespace wb::search
