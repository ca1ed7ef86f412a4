// SPDX-License-Identifier: MIT
// A GPU's settings, and its state while figures were taken, in words.
#include <fmt/format.h>

#include "core/json.hpp"
#include "report/sections.hpp"

namespace wb::report {

using measure::GpuConditions;

namespace {

void append_words(std::string& all, const std::string& words) {
  if (words.empty()) return;
  all += (all.empty() ? "" : ", ") + words;
}

/// "SM clock 1905 to 1980 MHz", "41 C".
std::string range_words(std::string_view name, const std::optional<measure::ReadingRange>& range,
                        std::string_view unit) {
  if (!range) return {};
  const std::string low = fmt::format("{:.0f}", range->low);
  const std::string high = fmt::format("{:.0f}", range->high);
  return fmt::format("{}{}{} {}", name, name.empty() ? "" : " ",
                     low == high ? low : low + " to " + high, unit);
}

std::string reasons_words(const GpuConditions& conditions) {
  if (!conditions.clocks_event_reasons) return {};
  std::string words;
  for (const std::string& reason : *conditions.clocks_event_reasons) {
    append_words(words, code(reason, 40));
  }
  return words.empty() ? "nothing held the clocks down" : "clocks held down by " + words;
}

std::string others_words(const GpuConditions& conditions) {
  const auto& others = conditions.other_processes;
  if (!others || others->count == 0) return {};
  return fmt::format("{} of others on the GPU ({})", count(others->count, "compute context"),
                     others->busy ? fmt::format("{} busy", *others->busy) : "busy or not: unknown");
}

std::string side_words(const GpuConditions& conditions) {
  std::string words;
  append_words(words, range_words("SM clock", conditions.sm_clock_mhz, "MHz"));
  append_words(words, range_words("memory clock", conditions.memory_clock_mhz, "MHz"));
  append_words(words, range_words("", conditions.power_w, "W"));
  append_words(words, range_words("", conditions.temperature_c, "C"));
  append_words(words, reasons_words(conditions));
  append_words(words, others_words(conditions));
  return words;
}

/// The figures that no reading had, with the reason.
std::string unknown_words(const GpuConditions& conditions) {
  std::string words;
  for (const auto& [what, why] : conditions.unknown) {
    append_words(words, fmt::format("{} ({})", code(what, 40), inline_text(why, 80)));
  }
  return words;
}

/// The conditions of one side of a comparison; nothing if they are absent or in a newer format.
std::optional<GpuConditions> side_of(const Compared& compared, std::string_view side) {
  if (compared.conditions == nullptr) return std::nullopt;
  auto conditions = measure::gpu_conditions_from_json(field(*compared.conditions, side));
  if (!conditions.ok()) return std::nullopt;
  return *std::move(conditions);
}

void take_side(std::optional<GpuConditions>& all, const std::optional<GpuConditions>& more) {
  if (!more) return;
  if (all) measure::merge(*all, *more);
  if (!all) all = more;
}

}  // namespace

std::string conditions_words(const std::vector<const Compared*>& rows, std::string_view candidate) {
  std::optional<GpuConditions> own, others, all;
  std::vector<std::int64_t> events;
  for (const Compared* row : rows) {
    const auto candidate_side = side_of(*row, "candidate"), other_side = side_of(*row, "against");
    take_side(own, candidate_side);
    take_side(others, other_side);
    if (candidate_side || other_side) events.push_back(row->seq);
  }
  take_side(all, own);
  take_side(all, others);
  if (!all) return {};
  const std::string cited = cite(events);
  std::string out;
  if (const std::string words = own ? side_words(*own) : ""; !words.empty()) {
    out += fmt::format("The GPU in the {}'s turns: {}{}. ", candidate, words, cited);
  }
  if (const std::string words = others ? side_words(*others) : ""; !words.empty()) {
    out += fmt::format("In the turns of the others: {}{}. ", words, cited);
  }
  if (const std::string words = unknown_words(*all); !words.empty()) {
    out += fmt::format("Not known of the GPU: {}{}. ", words, cited);
  }
  return out;
}

std::string gpu_settings_words(const Json& gpu) {
  std::string words;
  if (const std::string version = text(gpu, "driver_version"); !version.empty()) {
    append_words(words, "driver " + inline_text(version, 40));
  }
  const auto figure = [&](const char* key, const char* name, const char* unit) {
    if (const auto value = number(gpu, key)) {
      append_words(words, fmt::format("{} {:.0f} {}", name, *value, unit));
    }
  };
  figure("max_sm_clock_mhz", "SM clock up to", "MHz");
  figure("max_memory_clock_mhz", "memory clock up to", "MHz");
  figure("power_limit_w", "power limit", "W");
  if (const Json& mode = field(gpu, "persistence_mode"); mode.is_boolean()) {
    append_words(words, mode.get<bool>() ? "persistence mode on" : "persistence mode off");
  }
  for (const auto& [what, why] : field(gpu, "unknown").items()) {
    append_words(words,
                 fmt::format("{} unknown ({})", inline_text(what, 40),
                             inline_text(why.is_string() ? why.get<std::string>() : "", 80)));
  }
  return words;
}

}  // namespace wb::report
