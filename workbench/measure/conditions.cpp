// SPDX-License-Identifier: MIT
#include "measure/conditions.hpp"
#include "core/json.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace wb::measure {
namespace {

constexpr std::int64_t k_max_readings = 1'000'000'000;

/// The ranges of GpuConditions with their JSON keys, for loops over them.
struct RangeField {
  const char* key;
  std::optional<ReadingRange> GpuConditions::*member;
};
constexpr std::array<RangeField, 4> k_range_fields{
    {{"sm_clock_mhz", &GpuConditions::sm_clock_mhz},
     {"memory_clock_mhz", &GpuConditions::memory_clock_mhz},
     {"power_w", &GpuConditions::power_w},
     {"temperature_c", &GpuConditions::temperature_c}}};

struct SettingField {
  const char* key;
  std::optional<double> GpuSettings::*member;
};
constexpr std::array<SettingField, 3> k_setting_fields{
    {{"max_sm_clock_mhz", &GpuSettings::max_sm_clock_mhz},
     {"max_memory_clock_mhz", &GpuSettings::max_memory_clock_mhz},
     {"power_limit_w", &GpuSettings::power_limit_w}}};

constexpr std::array<std::string_view, 4> k_slowdowns{"hw_power_brake_slowdown", "hw_slowdown",
                                                      "hw_thermal_slowdown", "sw_thermal_slowdown"};

Result<ReadingRange> range_from_json(const Json& json, const char* what) {
  ObjectReader reader(json, what);
  const ReadingRange range{reader.real("low"), reader.real("mean"), reader.real("high")};
  if (!(range.low <= range.mean && range.mean <= range.high)) {
    reader.fail("mean", "must lie between low and high");
  }
  WB_TRY(reader.finish());
  return range;
}

Result<OtherProcesses> others_from_json(const Json& json) {
  ObjectReader reader(json, "other processes");
  OtherProcesses others;
  others.count = reader.integer("count", 0, k_max_readings);
  if (reader.member("busy") != nullptr) others.busy = reader.integer("busy", 0, k_max_readings);
  if (reader.member("memory_bytes") != nullptr) others.memory_bytes = reader.real("memory_bytes");
  WB_TRY(reader.finish());
  return others;
}

std::map<std::string, std::string> read_unknown(ObjectReader& reader) {
  std::map<std::string, std::string> reasons;
  const Json* listed = reader.member("unknown");
  if (listed == nullptr) return reasons;
  if (!listed->is_object()) {
    reader.fail("unknown", "must be an object");
    return reasons;
  }
  for (const auto& [key, reason] : listed->items()) {
    if (!reason.is_string()) reader.fail("unknown", "must hold strings");
    if (reason.is_string()) reasons[key] = reason.get<std::string>();
  }
  return reasons;
}

void merge_ranges(std::optional<ReadingRange>& all, double all_weight,
                  const std::optional<ReadingRange>& more, double more_weight) {
  if (!more) return;
  if (!all) {
    all = more;
    return;
  }
  const double weight = all_weight + more_weight;
  const double mean =
      weight > 0 ? (all->mean * all_weight + more->mean * more_weight) / weight : all->mean;
  all->low = std::min(all->low, more->low);
  all->high = std::max(all->high, more->high);
  all->mean = std::clamp(mean, all->low, all->high);  // rounding must not put it outside
}

/// The known value; of two the larger.
template <typename Number>
void merge_most(std::optional<Number>& all, const std::optional<Number>& more) {
  if (more) all = all ? std::max(*all, *more) : *more;
}

}  // namespace

Json to_json(const GpuConditions& conditions) {
  Json json{{"readings", conditions.readings}};
  for (const RangeField& field : k_range_fields) {
    if (const auto& range = conditions.*field.member) {
      json[field.key] = {{"low", range->low}, {"mean", range->mean}, {"high", range->high}};
    }
  }
  if (conditions.clocks_event_reasons) {
    json["clocks_event_reasons"] = *conditions.clocks_event_reasons;
  }
  if (const auto& others = conditions.other_processes) {
    Json& item = json["other_processes"] = {{"count", others->count}};
    if (others->busy) item["busy"] = *others->busy;
    if (others->memory_bytes) item["memory_bytes"] = *others->memory_bytes;
  }
  if (!conditions.unknown.empty()) json["unknown"] = conditions.unknown;
  return json;
}

Result<GpuConditions> gpu_conditions_from_json(const Json& json) {
  ObjectReader reader(json, "conditions");
  GpuConditions conditions;
  conditions.readings = reader.integer("readings", 0, k_max_readings);
  for (const RangeField& field : k_range_fields) {
    if (const Json* item = reader.member(field.key)) {
      WB_TRY_ASSIGN(conditions.*field.member, range_from_json(*item, field.key));
    }
  }
  if (reader.member("clocks_event_reasons") != nullptr) {
    conditions.clocks_event_reasons = reader.strings_or("clocks_event_reasons", {});
  }
  if (const Json* others = reader.member("other_processes")) {
    WB_TRY_ASSIGN(conditions.other_processes, others_from_json(*others));
  }
  conditions.unknown = read_unknown(reader);
  WB_TRY(reader.finish());
  return conditions;
}

void merge(GpuConditions& all, const GpuConditions& more) {
  for (const RangeField& field : k_range_fields) {
    merge_ranges(all.*field.member, static_cast<double>(all.readings), more.*field.member,
                 static_cast<double>(more.readings));
  }
  all.readings += more.readings;
  if (more.clocks_event_reasons) {
    std::vector<std::string> both;
    const std::vector<std::string> before = all.clocks_event_reasons.value_or(both);
    std::set_union(before.begin(), before.end(), more.clocks_event_reasons->begin(),
                   more.clocks_event_reasons->end(), std::back_inserter(both));
    all.clocks_event_reasons = std::move(both);
  }
  if (more.other_processes) {
    OtherProcesses others = all.other_processes.value_or(*more.other_processes);
    others.count = std::max(others.count, more.other_processes->count);
    merge_most(others.busy, more.other_processes->busy);
    merge_most(others.memory_bytes, more.other_processes->memory_bytes);
    all.other_processes = others;
  }
  all.unknown.insert(more.unknown.begin(), more.unknown.end());
}

bool is_slowdown(std::string_view reason) {
  return std::find(k_slowdowns.begin(), k_slowdowns.end(), reason) != k_slowdowns.end();
}

bool has_slowdown(const GpuConditions& conditions) {
  const auto& reasons = conditions.clocks_event_reasons;
  return reasons && std::any_of(reasons->begin(), reasons->end(), is_slowdown);
}

Json to_json(const GpuSettings& settings) {
  Json json = Json::object();
  if (!settings.driver_version.empty()) json["driver_version"] = settings.driver_version;
  if (settings.persistence_mode) json["persistence_mode"] = *settings.persistence_mode;
  for (const SettingField& field : k_setting_fields) {
    if (const auto& value = settings.*field.member) json[field.key] = *value;
  }
  if (!settings.unknown.empty()) json["unknown"] = settings.unknown;
  return json;
}

Result<GpuSettings> gpu_settings_from_json(const Json& json) {
  ObjectReader reader(json, "the settings of a GPU");
  GpuSettings settings;
  settings.driver_version = reader.string_or("driver_version", "");
  if (reader.member("persistence_mode") != nullptr) {
    settings.persistence_mode = reader.boolean_or("persistence_mode", false);
  }
  for (const SettingField& field : k_setting_fields) {
    if (reader.member(field.key) != nullptr) settings.*field.member = reader.real(field.key);
  }
  settings.unknown = read_unknown(reader);
  WB_TRY(reader.finish());
  return settings;
}

}  // namespace wb::measure
