// SPDX-License-Identifier: MIT
// The answers of a fake NVML (fake_nvml.cpp, a shared library). A test gets the script of the
// library that it passes to the code under test, and can change it.
#pragma once

#include <dlfcn.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "worker/cuda/nvml.hpp"

namespace wb::testing {

struct FakeNvml {
  using Status = worker::cuda::NvmlStatus;

  Status init_status = Status::success;
  int starts = 0, ends = 0;
  /// By the function's documented name; others succeed.
  std::map<std::string, Status> statuses;
  std::string uuid = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f";
  std::string driver_version = "580.65.06";
  int persistence_mode = 1;
  unsigned sm_clock_mhz = 1'980, memory_clock_mhz = 3'201;
  unsigned max_sm_clock_mhz = 1'980, max_memory_clock_mhz = 3'201;
  unsigned power_mw = 412'500, power_limit_mw = 700'000, temperature_c = 41;
  unsigned long long event_reasons = 0x1;  ///< gpu_idle
  std::vector<worker::cuda::NvmlProcess> processes;
  std::vector<worker::cuda::NvmlUtilization> utilization;
  int readings = 0;               ///< of the SM clock
  unsigned reading_takes_us = 0;  ///< each of them

  [[nodiscard]] Status status(const std::string& function) const {
    const auto found = statuses.find(function);
    return found == statuses.end() ? Status::success : found->second;
  }
};

/// The script of the library at `path`, as new.
inline FakeNvml& fake_nvml(const char* path) {
  void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(::dlerror());
  const auto script = reinterpret_cast<FakeNvml* (*)()>(::dlsym(library, "wb_fake_nvml_script"));
  if (script == nullptr) throw std::runtime_error("this is no fake NVML");
  return *script() = FakeNvml{};
}

}  // namespace wb::testing
