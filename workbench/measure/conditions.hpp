// SPDX-License-Identifier: MIT
// The state of a GPU during a measurement: clocks, power, temperature, reasons for lowered clocks,
// other processes; and its settings. The worker reads them through NVML, the log keeps them, and
// comparison, findings and report use them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"

namespace wb::measure {

/// The range of several readings of one quantity.
struct ReadingRange {
  double low = 0, mean = 0, high = 0;

  friend bool operator==(const ReadingRange&, const ReadingRange&) = default;
};

/// Foreign processes with a compute context on the device; the worker's own do not count.
struct OtherProcesses {
  std::int64_t count = 0;            ///< the most seen at one time; a lower bound
  std::optional<std::int64_t> busy;  ///< how many of them ran something there lately
  std::optional<double> memory_bytes;

  friend bool operator==(const OtherProcesses&, const OtherProcesses&) = default;
};

/// Conditions of one turn, or of several after merge(). An absent figure is unknown, and `unknown`
/// says why.
struct GpuConditions {
  /// Taken right after work, since clocks of an idle device mean nothing.
  std::int64_t readings = 0;
  std::optional<ReadingRange> sm_clock_mhz, memory_clock_mhz, power_w, temperature_c;
  /// NVML's clocks event reasons (formerly throttle reasons) seen in any reading: "sw_power_cap",
  /// "hw_thermal_slowdown" … Sorted and unique, without idleness.
  std::optional<std::vector<std::string>> clocks_event_reasons;
  std::optional<OtherProcesses> other_processes;
  /// Reason by the name of the absent figure; "nvml" when there is no figure at all.
  std::map<std::string, std::string> unknown;

  friend bool operator==(const GpuConditions&, const GpuConditions&) = default;
};
Json to_json(const GpuConditions& conditions);
Result<GpuConditions> gpu_conditions_from_json(const Json& json);

/// Merges `more` into `all`; means are weighted by the number of readings.
void merge(GpuConditions& all, const GpuConditions& more);

/// True for clocks event reasons that make a turn unusable: heat, or a hardware slowdown. A power
/// cap (sw_power_cap) is not one: it is the steady state of a kernel that uses the whole device,
/// and filtering it out would leave nothing to compare.
[[nodiscard]] bool is_slowdown(std::string_view reason);
[[nodiscard]] bool has_slowdown(const GpuConditions& conditions);

/// The settings of a GPU as the worker's hello reports them. Clocks are the allowed maxima.
struct GpuSettings {
  std::string driver_version;  ///< "580.159.03"; empty: unknown
  std::optional<bool> persistence_mode;
  std::optional<double> max_sm_clock_mhz, max_memory_clock_mhz;
  std::optional<double> power_limit_w;         ///< the enforced limit
  std::map<std::string, std::string> unknown;  ///< as in GpuConditions

  friend bool operator==(const GpuSettings&, const GpuSettings&) = default;
};
Json to_json(const GpuSettings& settings);
Result<GpuSettings> gpu_settings_from_json(const Json& json);

}  // namespace wb::measure
