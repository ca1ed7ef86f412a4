// SPDX-License-Identifier: MIT
// What a GPU was doing while something was measured on it: clocks, power, temperature, why its
// clocks were held down, and who else had work there; and how it is set. Values that the worker
// reads (NVML), the log keeps, and comparison, findings and report look at.
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

/// What several readings of one figure came to.
struct ReadingRange {
  double low = 0, mean = 0, high = 0;

  friend bool operator==(const ReadingRange&, const ReadingRange&) = default;
};

/// Processes of others that hold a compute context on the device; the worker's own do not count.
struct OtherProcesses {
  std::int64_t count = 0;            ///< the most at one time; at least so many
  std::optional<std::int64_t> busy;  ///< of them, those that lately ran something there
  std::optional<double> memory_bytes;

  friend bool operator==(const OtherProcesses&, const OtherProcesses&) = default;
};

/// Of one turn, or of several (merge()). What is absent is unknown, and `unknown` says why.
struct GpuConditions {
  std::int64_t readings = 0;  ///< taken right after work: an idle device's clocks say nothing
  std::optional<ReadingRange> sm_clock_mhz, memory_clock_mhz, power_w, temperature_c;
  /// NVML's clocks event reasons (formerly throttle reasons) that any reading had: "sw_power_cap",
  /// "hw_thermal_slowdown" … Sorted, each once; idleness is left out.
  std::optional<std::vector<std::string>> clocks_event_reasons;
  std::optional<OtherProcesses> other_processes;
  /// By the name of the absent figure; "nvml" where there is none at all.
  std::map<std::string, std::string> unknown;

  friend bool operator==(const GpuConditions&, const GpuConditions&) = default;
};
Json to_json(const GpuConditions& conditions);
Result<GpuConditions> gpu_conditions_from_json(const Json& json);

/// Takes `more` into `all`: means weigh by readings.
void merge(GpuConditions& all, const GpuConditions& more);

/// Whether a clocks event reason means that the device is not itself: heat, or hardware that slows
/// it down. A power cap (sw_power_cap) is not among them: it is the steady state of a kernel that
/// uses the whole device, and filtering it out would leave nothing to compare.
[[nodiscard]] bool is_slowdown(std::string_view reason);
[[nodiscard]] bool has_slowdown(const GpuConditions& conditions);

/// How a GPU is set, as the worker greets. Clocks are the highest that it may take.
struct GpuSettings {
  std::string driver_version;  ///< "580.159.03"; empty: unknown
  std::optional<bool> persistence_mode;
  std::optional<double> max_sm_clock_mhz, max_memory_clock_mhz;
  std::optional<double> power_limit_w;         ///< the one enforced
  std::map<std::string, std::string> unknown;  ///< as in GpuConditions

  friend bool operator==(const GpuSettings&, const GpuSettings&) = default;
};
Json to_json(const GpuSettings& settings);
Result<GpuSettings> gpu_settings_from_json(const Json& json);

}  // namespace wb::measure
