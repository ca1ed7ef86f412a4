// SPDX-License-Identifier: MIT
// NVML (NVIDIA Management Library), loaded at run time. Its failures are no errors: what is
// missing, unsupported or not permitted is returned as the reason why a figure is absent. The part
// that the worker uses is declared here from its public documentation, like the driver in
// driver.hpp; every function may be missing, all of them only read. Used by GpuMonitor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "worker/library.hpp"

namespace wb::worker::cuda {

/// nvmlReturn_t: the values that the code distinguishes; the library names all others.
enum class NvmlStatus : int {
  success = 0,
  not_supported = 3,
  no_permission = 4,
  not_found = 6,
  insufficient_size = 7,
};

using NvmlDevice = struct nvmlDevice_st*;

/// nvmlClockType_t
enum class NvmlClock : int { sm = 1, memory = 2 };
/// nvmlTemperatureSensors_t: the sensor on the GPU's die.
inline constexpr int k_nvml_temperature_gpu = 0;
/// NVML_VALUE_NOT_AVAILABLE: an unknown number of bytes.
inline constexpr unsigned long long k_nvml_not_available = ~0ULL;

/// nvmlProcessInfo_v2_t
struct NvmlProcess {
  unsigned pid;  ///< in the caller's numbering, or the host's (containers)
  unsigned long long used_bytes;
  unsigned gpu_instance_id, compute_instance_id;
};
static_assert(sizeof(NvmlProcess) == 24);

/// nvmlProcessUtilizationSample_t: one process in one sampling period of the library, which lasts
/// between a sixth of a second and a second. Shares are percent.
struct NvmlUtilization {
  unsigned pid;
  unsigned long long time_us;
  unsigned sm, memory, encoder, decoder;
};
static_assert(sizeof(NvmlUtilization) == 32);

/// One pointer per function, null when the library lacks it; the comment gives the documented name.
struct NvmlFunctions {
  NvmlStatus (*init)() = nullptr;                                       ///< nvmlInit_v2
  NvmlStatus (*shutdown)() = nullptr;                                   ///< nvmlShutdown
  const char* (*error_string)(NvmlStatus) = nullptr;                    ///< nvmlErrorString
  NvmlStatus (*driver_version)(char* text, unsigned bytes) = nullptr;   ///< nvmlSystemGetDriver…
  NvmlStatus (*find_device)(const char* uuid, NvmlDevice*) = nullptr;   ///< nvmlDeviceGetHandle…
  NvmlStatus (*clock)(NvmlDevice, NvmlClock, unsigned* mhz) = nullptr;  ///< …GetClockInfo
  NvmlStatus (*max_clock)(NvmlDevice, NvmlClock, unsigned* mhz) = nullptr;  ///< …GetMaxClockInfo
  NvmlStatus (*power)(NvmlDevice, unsigned* milliwatts) = nullptr;          ///< …GetPowerUsage
  NvmlStatus (*power_limit)(NvmlDevice, unsigned* milliwatts) = nullptr;  ///< …GetEnforcedPower…
  NvmlStatus (*temperature)(NvmlDevice, int sensor, unsigned* celsius) = nullptr;
  /// nvmlDeviceGetCurrentClocksEventReasons; …ThrottleReasons before driver 535.
  NvmlStatus (*event_reasons)(NvmlDevice, unsigned long long* bits) = nullptr;
  NvmlStatus (*persistence_mode)(NvmlDevice, int* is_on) = nullptr;
  /// nvmlDeviceGetComputeRunningProcesses_v3: `count` is the capacity, then the number of
  /// processes.
  NvmlStatus (*processes)(NvmlDevice, unsigned* count, NvmlProcess*) = nullptr;
  /// nvmlDeviceGetProcessUtilization: samples newer than `since_us`; not_found when there are none.
  NvmlStatus (*utilization)(NvmlDevice, NvmlUtilization*, unsigned* count,
                            unsigned long long since_us) = nullptr;
};

/// The bits of NVML's clocks event reasons.
struct NvmlReason {
  unsigned long long bit;
  const char* word;
};
inline constexpr unsigned long long k_nvml_reason_gpu_idle = 0x1;
inline constexpr NvmlReason k_nvml_reasons[] = {{0x2, "applications_clocks_setting"},
                                                {0x4, "sw_power_cap"},
                                                {0x8, "hw_slowdown"},
                                                {0x10, "sync_boost"},
                                                {0x20, "sw_thermal_slowdown"},
                                                {0x40, "hw_thermal_slowdown"},
                                                {0x80, "hw_power_brake_slowdown"},
                                                {0x100, "display_clock_setting"}};

inline constexpr const char* k_nvml_library = "libnvidia-ml.so.1";

class Nvml;
using NvmlPtr = std::shared_ptr<const Nvml>;

class Nvml {
 public:
  /// Errors: not_found (no such library, or one without nvmlInit_v2), environment (it does not
  /// start).
  static Result<NvmlPtr> load(const char* library = k_nvml_library);
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  [[nodiscard]] const NvmlFunctions& functions() const { return m_functions; }
  /// Why a function gave nothing, in the library's words: "Not Supported (3)". `is_there`: whether
  /// the library has the function.
  [[nodiscard]] std::string reason(bool is_there, NvmlStatus status) const;

 private:
  explicit Nvml(const Library& library) : m_library(library) {}
  void find_functions();

  Library m_library;
  NvmlFunctions m_functions;
  bool m_is_started = false;
};

}  // namespace wb::worker::cuda
