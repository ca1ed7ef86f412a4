// SPDX-License-Identifier: MIT
// GpuMonitor: what NVML says about the GPU that is measured on: settings, conditions, and processes
// of others. It never fails: what cannot be had is absent, and the answer says why. Who calls: the
// supervisor, which has no CUDA context of its own; never a subject.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "measure/conditions.hpp"
#include "worker/cuda/nvml.hpp"

namespace wb::worker::cuda {

/// Which processes are the worker's own.
struct OwnProcesses {
  /// Those of other workers too, which wait for the device lock meanwhile.
  std::function<bool(std::int64_t pid)> contains;
  std::function<std::int64_t()> count;  ///< those that may have a context on the device
};

class GpuMonitor {
 public:
  /// `uuid` as the CUDA driver says it, "GPU-…"; of a MIG instance NVML knows it as "MIG-…".
  GpuMonitor(const char* library, const std::string& uuid, OwnProcesses own);

  [[nodiscard]] measure::GpuSettings settings() const;
  /// One reading of clocks, power, temperature and clocks event reasons.
  [[nodiscard]] measure::GpuConditions read() const;
  /// Only other_processes, or why they are unknown. The worker must have a context there already
  /// (its judge has): by its own processes it sees whether NVML numbers them as this system does.
  /// Where it does not (a container that sees host numbers), only those beyond the number of its
  /// own are certain to be others, and nobody knows which.
  [[nodiscard]] measure::GpuConditions look_for_others() const;

 private:
  using Unknown = std::map<std::string, std::string>;

  void find_device(const std::string& uuid);
  /// The figure that `function` gives for the device, of which `per_unit` make one of ours; else
  /// nothing and the reason.
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
  std::string m_absent;  ///< why there are no figures at all; empty where there are
};

}  // namespace wb::worker::cuda
