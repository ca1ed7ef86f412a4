// SPDX-License-Identifier: MIT
// The part of NVML (NVIDIA Management Library) that the worker uses, declared from its public
// documentation, like driver_api.hpp: found at run time (nvml.hpp), and every function may be
// missing. All functions only read; none changes a device.
#pragma once

#include <cstdint>

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

}  // namespace wb::worker::cuda
