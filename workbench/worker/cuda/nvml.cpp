// SPDX-License-Identifier: MIT
#include "worker/cuda/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace wb::worker::cuda {
namespace {

/// Sets `to` to the library's function of that name; null without one.
template <typename Function>
void look_up(void* library, const char* name, Function& to) {
  void* const symbol = ::dlsym(library, name);
  static_assert(sizeof symbol == sizeof to);
  std::memcpy(&to, &symbol, sizeof to);  // C++ has no cast from void* to a function
}

}  // namespace

Result<NvmlPtr> Nvml::load(const char* library) {
  void* const handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const words = ::dlerror();
    return Error{ErrorCode::not_found, "load NVML", library,
                 words == nullptr ? "it is not there" : words, ""};
  }
  // Never unloaded, like the driver, since its process state would not survive it.
  std::shared_ptr<Nvml> nvml(new Nvml(handle));
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
  const auto find = [this](const char* name, auto& to) { look_up(m_library, name, to); };
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
