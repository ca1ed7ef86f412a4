// SPDX-License-Identifier: MIT
// GpuMonitor: NVML's readings of the measured GPU: settings, conditions, and foreign processes. It
// never fails: an unavailable figure is absent, with the reason. Used by the supervisor, which has
// no CUDA context; never by a subject.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "measure/conditions.hpp"
#include "worker/cuda/nvml.hpp"

namespace wb::worker::cuda {

/// Identifies the worker's own processes.
struct OwnProcesses {
  /// Includes processes of other workers, which wait for the device lock meanwhile.
  std::function<bool(std::int64_t pid)> contains;
  std::function<std::int64_t()> count;  ///< own processes that may have a context on the device
};

class GpuMonitor {
 public:
  /// `uuid` as the CUDA driver gives it, "GPU-…"; for a MIG instance NVML uses "MIG-…".
  GpuMonitor(const char* library, const std::string& uuid, OwnProcesses own);

  [[nodiscard]] measure::GpuSettings settings() const;
  /// One reading of clocks, power, temperature and clocks event reasons.
  [[nodiscard]] measure::GpuConditions read() const;
  /// Reads only other_processes, or why they are unknown. The worker must already have a context
  /// there (its judge has), since its own processes show whether NVML uses this system's process
  /// ids. If it does not (a container with host ids), only the excess over its own number is
  /// certainly foreign, and their ids are unknown.
  [[nodiscard]] measure::GpuConditions look_for_others() const;

 private:
  using Unknown = std::map<std::string, std::string>;

  void find_device(const std::string& uuid);
  /// A figure of the device, from `function`, divided by `per_unit`; else nothing, with the reason
  /// in `unknown`.
  template <typename Function, typename... Which>
  std::optional<double> figure(const char* name, double per_unit, Unknown& unknown,
                               Function function, Which... which) const;
  [[nodiscard]] std::string why(bool is_there, NvmlStatus status) const;
  [[nodiscard]] std::optional<std::vector<std::string>> event_reasons(Unknown& unknown) const;
  [[nodiscard]] std::optional<std::vector<NvmlProcess>> processes(Unknown& unknown) const;
  /// How many of `others` ran something on the device within the last second of NVML's samples.
  [[nodiscard]] std::optional<std::int64_t> busy_among(const std::vector<NvmlProcess>& others,
                                                       Unknown& unknown) const;

  NvmlPtr m_nvml;
  NvmlDevice m_device = nullptr;
  bool m_is_mig = false;
  OwnProcesses m_own;
  std::string m_absent;  ///< why there are no figures at all; else empty
};

}  // namespace wb::worker::cuda
