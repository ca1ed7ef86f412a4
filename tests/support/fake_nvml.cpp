// SPDX-License-Identifier: MIT
// An NVML as a shared library whose answers a test scripts (fake_nvml.hpp). WB_FAKE_NVML_OLD leaves
// out what older ones do not have: the clocks event reasons have their former name, and processes
// are not listed.
#include "support/fake_nvml.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

using wb::testing::FakeNvml;
using wb::worker::cuda::NvmlClock;
using wb::worker::cuda::NvmlDevice;
using wb::worker::cuda::NvmlProcess;
using wb::worker::cuda::NvmlStatus;
using wb::worker::cuda::NvmlUtilization;

namespace {

FakeNvml& script() {
  static FakeNvml instance;
  return instance;
}

NvmlDevice the_device() {
  static char place = 0;
  return reinterpret_cast<NvmlDevice>(&place);
}

template <typename Value>
NvmlStatus give(const char* function, NvmlDevice device, Value from, Value* to) {
  if (device != the_device()) return static_cast<NvmlStatus>(2);  // NVML_ERROR_INVALID_ARGUMENT
  const NvmlStatus status = script().status(function);
  if (status == NvmlStatus::success) *to = from;
  return status;
}

template <typename Item>
NvmlStatus give_list(const char* function, NvmlDevice device, const std::vector<Item>& from,
                     Item* room, unsigned* count) {
  if (device != the_device()) return static_cast<NvmlStatus>(2);
  const NvmlStatus status = script().status(function);
  if (status != NvmlStatus::success) return status;
  const bool fits = from.size() <= *count;
  *count = static_cast<unsigned>(from.size());
  if (!fits) return NvmlStatus::insufficient_size;
  std::copy(from.begin(), from.end(), room);
  return NvmlStatus::success;
}

}  // namespace

extern "C" {

FakeNvml* wb_fake_nvml_script() {
  return &script();
}

NvmlStatus nvmlInit_v2() {
  ++script().starts;
  return script().init_status;
}
NvmlStatus nvmlShutdown() {
  ++script().ends;
  return NvmlStatus::success;
}
const char* nvmlErrorString(NvmlStatus status) {
  switch (status) {
    case NvmlStatus::not_supported:
      return "Not Supported";
    case NvmlStatus::no_permission:
      return "Insufficient Permissions";
    case NvmlStatus::not_found:
      return "Not Found";
    default:
      return "Unknown Error";
  }
}
NvmlStatus nvmlSystemGetDriverVersion(char* text, unsigned bytes) {
  const NvmlStatus status = script().status("nvmlSystemGetDriverVersion");
  if (status == NvmlStatus::success) std::strncpy(text, script().driver_version.c_str(), bytes);
  return status;
}
NvmlStatus nvmlDeviceGetHandleByUUID(const char* uuid, NvmlDevice* device) {
  if (script().uuid != uuid) return NvmlStatus::not_found;
  *device = the_device();
  return NvmlStatus::success;
}
NvmlStatus nvmlDeviceGetClockInfo(NvmlDevice device, NvmlClock clock, unsigned* mhz) {
  const bool sm = clock == NvmlClock::sm;
  script().readings += sm ? 1 : 0;
  if (sm) std::this_thread::sleep_for(std::chrono::microseconds(script().reading_takes_us));
  return give("nvmlDeviceGetClockInfo", device,
              sm ? script().sm_clock_mhz : script().memory_clock_mhz, mhz);
}
NvmlStatus nvmlDeviceGetMaxClockInfo(NvmlDevice device, NvmlClock clock, unsigned* mhz) {
  const bool sm = clock == NvmlClock::sm;
  return give("nvmlDeviceGetMaxClockInfo", device,
              sm ? script().max_sm_clock_mhz : script().max_memory_clock_mhz, mhz);
}
NvmlStatus nvmlDeviceGetPowerUsage(NvmlDevice device, unsigned* milliwatts) {
  return give("nvmlDeviceGetPowerUsage", device, script().power_mw, milliwatts);
}
NvmlStatus nvmlDeviceGetEnforcedPowerLimit(NvmlDevice device, unsigned* milliwatts) {
  return give("nvmlDeviceGetEnforcedPowerLimit", device, script().power_limit_mw, milliwatts);
}
NvmlStatus nvmlDeviceGetTemperature(NvmlDevice device, int sensor, unsigned* celsius) {
  if (sensor != 0) return NvmlStatus::not_supported;
  return give("nvmlDeviceGetTemperature", device, script().temperature_c, celsius);
}
NvmlStatus nvmlDeviceGetPersistenceMode(NvmlDevice device, int* is_on) {
  return give("nvmlDeviceGetPersistenceMode", device, script().persistence_mode, is_on);
}
#if WB_FAKE_NVML_OLD
NvmlStatus nvmlDeviceGetCurrentClocksThrottleReasons(NvmlDevice device, unsigned long long* bits) {
#else
NvmlStatus nvmlDeviceGetComputeRunningProcesses_v3(NvmlDevice device, unsigned* count,
                                                   NvmlProcess* room) {
  return give_list("nvmlDeviceGetComputeRunningProcesses_v3", device, script().processes, room,
                   count);
}
NvmlStatus nvmlDeviceGetProcessUtilization(NvmlDevice device, NvmlUtilization* room,
                                           unsigned* count, unsigned long long) {
  if (script().utilization.empty()) return NvmlStatus::not_found;
  return give_list("nvmlDeviceGetProcessUtilization", device, script().utilization, room, count);
}
NvmlStatus nvmlDeviceGetCurrentClocksEventReasons(NvmlDevice device, unsigned long long* bits) {
#endif
  return give("nvmlDeviceGetCurrentClocksEventReasons", device, script().event_reasons, bits);
}
}
