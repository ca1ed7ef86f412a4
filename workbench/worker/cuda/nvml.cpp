// SPDX-License-Identifier: MIT
#include "worker/cuda/nvml.hpp"

#include <fmt/format.h>

#include <utility>

namespace wb::worker::cuda {

Result<NvmlPtr> Nvml::load(const char* library) {
  auto opened = Library::open(library, "it is not there");
  if (!opened.ok()) {
    return Error{ErrorCode::not_found, "load NVML", library, opened.error(), ""};
  }
  std::shared_ptr<Nvml> nvml(new Nvml(*opened));
  nvml->find_functions();
  if (nvml->m_functions.init == nullptr) {
    return Error{ErrorCode::not_found, "use NVML", library, "it has no function nvmlInit_v2", ""};
  }
  if (const NvmlStatus status = nvml->m_functions.init(); status != NvmlStatus::success) {
    return Error{ErrorCode::environment, "start NVML", library, nvml->reason(true, status), ""};
  }
  nvml->m_is_started = true;
  return NvmlPtr(std::move(nvml));
}

Nvml::~Nvml() {
  if (m_is_started && m_functions.shutdown != nullptr) {
    static_cast<void>(m_functions.shutdown());  // nothing can be done about a failure
  }
}

void Nvml::find_functions() {
  NvmlFunctions& f = m_functions;
  const auto find = [this](const char* name, auto& to) { m_library.find(name, to); };
  find("nvmlInit_v2", f.init);
  find("nvmlShutdown", f.shutdown);
  find("nvmlErrorString", f.error_string);
  find("nvmlSystemGetDriverVersion", f.driver_version);
  find("nvmlDeviceGetHandleByUUID", f.find_device);
  find("nvmlDeviceGetClockInfo", f.clock);
  find("nvmlDeviceGetMaxClockInfo", f.max_clock);
  find("nvmlDeviceGetPowerUsage", f.power);
  find("nvmlDeviceGetEnforcedPowerLimit", f.power_limit);
  find("nvmlDeviceGetTemperature", f.temperature);
  find("nvmlDeviceGetCurrentClocksEventReasons", f.event_reasons);
  if (f.event_reasons == nullptr) {
    find("nvmlDeviceGetCurrentClocksThrottleReasons", f.event_reasons);
  }
  find("nvmlDeviceGetPersistenceMode", f.persistence_mode);
  find("nvmlDeviceGetComputeRunningProcesses_v3", f.processes);
  find("nvmlDeviceGetProcessUtilization", f.utilization);
}

std::string Nvml::reason(bool is_there, NvmlStatus status) const {
  if (!is_there) return "this NVML has no such function";
  const char* const words =
      m_functions.error_string == nullptr ? nullptr : m_functions.error_string(status);
  return fmt::format("{} ({})", words == nullptr ? "NVML failed" : words, static_cast<int>(status));
}

}  // namespace wb::worker::cuda
