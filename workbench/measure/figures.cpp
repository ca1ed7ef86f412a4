// SPDX-License-Identifier: MIT
#include "measure/figures.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "core/json.hpp"
#include "measure/quantiles.hpp"

namespace wb::measure {
namespace {

constexpr std::array<std::pair<ComparisonOutcome, std::string_view>, 4> k_outcome_words{{
    {ComparisonOutcome::faster, "faster"},
    {ComparisonOutcome::slower, "slower"},
    {ComparisonOutcome::same, "same"},
    {ComparisonOutcome::ambiguous, "ambiguous"},
}};

constexpr std::int64_t k_max_count = 1'000'000'000;

/// JSON has no NaN and no infinity: an unknown figure is null.
Json figure(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

double read_figure(ObjectReader& reader, std::string_view key) {
  const Json* value = reader.member(key);
  return value != nullptr && value->is_null() ? k_unknown : reader.real(key);
}

template <typename Value>
Value take(ObjectReader& reader, std::string_view key, Result<Value> result) {
  if (result.ok()) return *std::move(result);
  reader.fail(key, result.error().cause);
  return Value{};
}

Interval read_interval(ObjectReader& reader, std::string_view key) {
  const Json* member = reader.member(key);
  if (member == nullptr) {
    reader.fail(key, "is missing");
    return {};
  }
  return take(reader, key, interval_from_json(*member));
}

std::vector<double> read_numbers(ObjectReader& reader, std::string_view key) {
  std::vector<double> numbers;
  const Json* list = reader.member(key);
  if (list == nullptr) return numbers;
  for (const Json& item : *list) {
    if (!item.is_number() || !std::isfinite(item.get<double>())) {
      reader.fail(key, "must be a list of finite numbers");
      break;
    }
    numbers.push_back(item.get<double>());
  }
  if (!list->is_array()) reader.fail(key, "must be a list of finite numbers");
  return numbers;
}

}  // namespace

bool is_valid(const Interval& interval) {
  return interval.low > 0 && interval.high >= interval.low && std::isfinite(interval.high);
}

bool is_uninformative(const Interval& interval) {
  constexpr double k_widest = 1e4;  // a factor of 100 on either side
  return is_valid(interval) && interval.high > k_widest * interval.low;
}

std::string_view to_string(ComparisonOutcome value) {
  return k_outcome_words.at(static_cast<std::size_t>(value)).second;
}

std::optional<ComparisonOutcome> parse_comparison_outcome(std::string_view word) {
  for (const auto& [value, text] : k_outcome_words) {
    if (text == word) return value;
  }
  return std::nullopt;
}

Json to_json(const Interval& interval) {
  const bool is_shown = !is_uninformative(interval);
  return Json{{"low", is_shown ? figure(interval.low) : Json(nullptr)},
              {"high", is_shown ? figure(interval.high) : Json(nullptr)},
              {"confidence", interval.confidence}};
}

Result<Interval> interval_from_json(const Json& json) {
  ObjectReader reader(json, "an interval");
  Interval interval;
  interval.low = read_figure(reader, "low");
  interval.high = read_figure(reader, "high");
  interval.confidence = reader.real("confidence");
  if (!(interval.confidence > 0 && interval.confidence < 1)) {
    reader.fail("confidence", "must be between 0 and 1");
  }
  if (interval.low > interval.high) reader.fail("low", "must not be above high");
  WB_TRY(reader.finish());
  return interval;
}

Json to_json(const Measurement& measurement) {
  return Json{{"median_us", figure(measurement.median_us)},
              {"p90_us", figure(measurement.p90_us)},
              {"min_us", figure(measurement.min_us)},
              {"interval_us", to_json(measurement.interval_us)},
              {"instances", measurement.instances},
              {"turns", measurement.turns},
              {"samples", measurement.samples}};
}

Result<Measurement> measurement_from_json(const Json& json) {
  ObjectReader reader(json, "a measurement");
  Measurement measurement;
  measurement.median_us = read_figure(reader, "median_us");
  measurement.p90_us = read_figure(reader, "p90_us");
  measurement.min_us = read_figure(reader, "min_us");
  measurement.interval_us = read_interval(reader, "interval_us");
  measurement.instances = reader.integer("instances", 0, k_max_count);
  measurement.turns = reader.integer("turns", 0, k_max_count);
  measurement.samples = reader.integer("samples", 0, k_max_count);
  WB_TRY(reader.finish());
  return measurement;
}

Json to_json(const Comparison& comparison) {
  return Json{{"candidate", comparison.candidate},
              {"rival", comparison.rival},
              {"speedup", figure(comparison.speedup)},
              {"interval", to_json(comparison.interval)},
              {"noise_floor_frac", figure(comparison.noise_floor_frac)},
              {"outcome", to_string(comparison.outcome)},
              {"reason", comparison.reason},
              {"instances", comparison.instances},
              {"rounds", comparison.rounds},
              {"instance_log_speedups", comparison.instance_log_speedups},
              {"least_half_log", comparison.least_half_log}};
}

Result<Comparison> comparison_from_json(const Json& json) {
  ObjectReader reader(json, "a comparison");
  Comparison comparison;
  comparison.candidate = reader.string("candidate");
  comparison.rival = reader.string("rival");
  comparison.speedup = read_figure(reader, "speedup");
  comparison.interval = read_interval(reader, "interval");
  comparison.noise_floor_frac = read_figure(reader, "noise_floor_frac");
  const auto outcome = parse_comparison_outcome(reader.string("outcome"));
  if (!outcome) reader.fail("outcome", "must be faster, slower, same or ambiguous");
  comparison.reason = reader.string_or("reason", "");
  comparison.instances = reader.integer("instances", 0, k_max_count);
  comparison.rounds = reader.integer("rounds", 0, k_max_count);
  comparison.instance_log_speedups = read_numbers(reader, "instance_log_speedups");
  comparison.least_half_log = reader.real_or("least_half_log", 0);  // absent from older logs
  if (!(comparison.least_half_log >= 0)) reader.fail("least_half_log", "must not be negative");
  WB_TRY(reader.finish());
  comparison.outcome = *outcome;
  return comparison;
}

Json to_json(const NoiseFloor& floor) {
  return Json{{"floor_frac", figure(floor.floor_frac)},
              {"between_instance_frac", figure(floor.between_instance_frac)},
              {"instance_sd_frac", figure(floor.instance_sd_frac)},
              {"placement_sd_frac", figure(floor.placement_sd_frac)},
              {"within_frac", figure(floor.within_frac)},
              {"instances", floor.instances},
              {"turns", floor.turns},
              {"degrees_of_freedom", floor.degrees_of_freedom},
              {"reason", floor.reason}};
}

Result<NoiseFloor> noise_floor_from_json(const Json& json) {
  ObjectReader reader(json, "a noise floor");
  NoiseFloor floor;
  floor.floor_frac = read_figure(reader, "floor_frac");
  floor.between_instance_frac = read_figure(reader, "between_instance_frac");
  floor.instance_sd_frac = read_figure(reader, "instance_sd_frac");
  floor.placement_sd_frac = read_figure(reader, "placement_sd_frac");
  floor.within_frac = read_figure(reader, "within_frac");
  floor.instances = reader.integer("instances", 0, k_max_count);
  floor.turns = reader.integer("turns", 0, k_max_count);
  floor.degrees_of_freedom = reader.integer("degrees_of_freedom", 0, k_max_count);
  floor.reason = reader.string_or("reason", "");
  WB_TRY(reader.finish());
  return floor;
}

Json to_json(const Aggregate& aggregate) {
  return Json{{"value", figure(aggregate.value)}, {"interval", to_json(aggregate.interval)}};
}

std::optional<std::string> unfit_reason(const NoiseFloor& floor, bool disturbed) {
  if (!std::isfinite(floor.floor_frac)) {
    return "it has no figure" + (floor.reason.empty() ? std::string() : ": " + floor.reason);
  }
  if (disturbed) return "other work used the machine while it was taken";
  if (floor.floor_frac > k_most_floor_frac) {
    return fmt::format("two sets of processes of the same code differed by {:.1f} %",
                       100 * floor.floor_frac);
  }
  if (floor.between_instance_frac > k_most_between_frac) {
    return fmt::format("single processes of the same code may differ by {:.0f} %",
                       100 * floor.between_instance_frac);
  }
  return std::nullopt;
}

double smallest_gain_frac(const NoiseFloor& floor, std::int64_t instances) {
  if (instances < 2 || !std::isfinite(floor.floor_frac) || !std::isfinite(floor.instance_sd_frac)) {
    return k_unknown;
  }
  const auto n = static_cast<double>(instances);
  const double half = student_t_quantile(0.995, n - 1) * floor.instance_sd_frac * std::sqrt(2 / n);
  return (1 + floor.floor_frac) * std::exp(half) - 1;
}

}  // namespace wb::measure
