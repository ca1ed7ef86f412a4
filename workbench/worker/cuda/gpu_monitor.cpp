// SPDX-License-Identifier: MIT
#include "worker/cuda/gpu_monitor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace wb::worker::cuda {

using measure::GpuConditions;

namespace {

constexpr std::size_t k_most_processes = 4'096;
constexpr unsigned long long k_lately_us = 1'000'000;  // NVML's samples last up to a second
constexpr std::string_view k_gpu_prefix = "GPU-";

std::optional<measure::ReadingRange> one_reading(std::optional<double> value) {
  if (!value) return std::nullopt;
  return measure::ReadingRange{*value, *value, *value};
}

/// A list whose length NVML reports only on request; it may grow between two requests.
template <typename Item, typename Ask>
NvmlStatus read_growing(std::vector<Item>& items, const Ask& ask) {
  NvmlStatus status = NvmlStatus::insufficient_size;
  items.resize(64);
  while (status == NvmlStatus::insufficient_size && items.size() <= k_most_processes) {
    auto count = static_cast<unsigned>(items.size());
    status = ask(items.data(), &count);
    items.resize(status == NvmlStatus::success ? std::min<std::size_t>(count, items.size())
                                               : 2 * items.size());
  }
  if (status != NvmlStatus::success) items.clear();
  return status;
}

}  // namespace

GpuMonitor::GpuMonitor(const char* library, const std::string& uuid, OwnProcesses own)
    : m_own(std::move(own)) {
  auto nvml = Nvml::load(library);
  if (!nvml.ok()) {
    m_absent = nvml.error().cause;
    return;
  }
  m_nvml = *std::move(nvml);
  find_device(uuid);
}

void GpuMonitor::find_device(const std::string& uuid) {
  const auto find = m_nvml->functions().find_device;
  NvmlStatus status = NvmlStatus::not_found;
  if (find != nullptr) status = find(uuid.c_str(), &m_device);
  if (find != nullptr && status != NvmlStatus::success && uuid.starts_with(k_gpu_prefix)) {
    const std::string of_instance = "MIG-" + uuid.substr(k_gpu_prefix.size());
    m_is_mig = find(of_instance.c_str(), &m_device) == NvmlStatus::success;
    if (m_is_mig) return;
  }
  if (status == NvmlStatus::success) return;
  m_device = nullptr;
  m_absent = "find the GPU by its UUID: " + m_nvml->reason(find != nullptr, status);
}

std::string GpuMonitor::why(bool is_there, NvmlStatus status) const {
  return (m_is_mig ? "a MIG instance: " : "") + m_nvml->reason(is_there, status);
}

template <typename Function, typename... Which>
std::optional<double> GpuMonitor::figure(const char* name, double per_unit, Unknown& unknown,
                                         Function function, Which... which) const {
  unsigned value = 0;
  NvmlStatus status = NvmlStatus::not_supported;
  if (function != nullptr) status = function(m_device, which..., &value);
  if (status == NvmlStatus::success) return value / per_unit;
  unknown[name] = why(function != nullptr, status);
  return std::nullopt;
}

measure::GpuSettings GpuMonitor::settings() const {
  measure::GpuSettings settings;
  if (!m_absent.empty()) {
    settings.unknown["nvml"] = m_absent;
    return settings;
  }
  const NvmlFunctions& f = m_nvml->functions();
  Unknown& unknown = settings.unknown;
  std::array<char, 96> version{};
  NvmlStatus status = NvmlStatus::not_supported;
  if (f.driver_version != nullptr) {
    status = f.driver_version(version.data(), static_cast<unsigned>(version.size() - 1));
  }
  if (status == NvmlStatus::success) settings.driver_version = version.data();
  if (status != NvmlStatus::success) {
    unknown["driver_version"] = why(f.driver_version != nullptr, status);
  }
  int is_on = 0;
  status = NvmlStatus::not_supported;
  if (f.persistence_mode != nullptr) status = f.persistence_mode(m_device, &is_on);
  if (status == NvmlStatus::success) settings.persistence_mode = is_on != 0;
  if (status != NvmlStatus::success) {
    unknown["persistence_mode"] = why(f.persistence_mode != nullptr, status);
  }
  settings.max_sm_clock_mhz = figure("max_sm_clock_mhz", 1, unknown, f.max_clock, NvmlClock::sm);
  settings.max_memory_clock_mhz =
      figure("max_memory_clock_mhz", 1, unknown, f.max_clock, NvmlClock::memory);
  settings.power_limit_w = figure("power_limit_w", 1e3, unknown, f.power_limit);
  return settings;
}

GpuConditions GpuMonitor::read() const {
  GpuConditions conditions;
  if (!m_absent.empty()) {
    conditions.unknown["nvml"] = m_absent;
    return conditions;
  }
  const NvmlFunctions& f = m_nvml->functions();
  Unknown& unknown = conditions.unknown;
  conditions.readings = 1;
  conditions.sm_clock_mhz = one_reading(figure("sm_clock_mhz", 1, unknown, f.clock, NvmlClock::sm));
  conditions.memory_clock_mhz =
      one_reading(figure("memory_clock_mhz", 1, unknown, f.clock, NvmlClock::memory));
  conditions.power_w = one_reading(figure("power_w", 1e3, unknown, f.power));
  conditions.temperature_c =
      one_reading(figure("temperature_c", 1, unknown, f.temperature, k_nvml_temperature_gpu));
  conditions.clocks_event_reasons = event_reasons(unknown);
  return conditions;
}

std::optional<std::vector<std::string>> GpuMonitor::event_reasons(Unknown& unknown) const {
  const auto ask = m_nvml->functions().event_reasons;
  unsigned long long bits = 0;
  NvmlStatus status = NvmlStatus::not_supported;
  if (ask != nullptr) status = ask(m_device, &bits);
  if (status != NvmlStatus::success) {
    unknown["clocks_event_reasons"] = why(ask != nullptr, status);
    return std::nullopt;
  }
  // Readings are taken between blocks, so idleness says nothing about the turn.
  bits &= ~k_nvml_reason_gpu_idle;
  std::vector<std::string> words;
  for (const NvmlReason& reason : k_nvml_reasons) {
    if ((bits & reason.bit) != 0) words.emplace_back(reason.word);
    bits &= ~reason.bit;
  }
  if (bits != 0) words.push_back(fmt::format("unknown_{:#x}", bits));
  std::sort(words.begin(), words.end());
  return words;
}

std::optional<std::vector<NvmlProcess>> GpuMonitor::processes(Unknown& unknown) const {
  const auto ask = m_nvml->functions().processes;
  std::vector<NvmlProcess> listed;
  NvmlStatus status = NvmlStatus::not_supported;
  if (ask != nullptr) {
    status = read_growing(
        listed, [&](NvmlProcess* room, unsigned* count) { return ask(m_device, count, room); });
  }
  if (status == NvmlStatus::success) return listed;
  unknown["other_processes"] = why(ask != nullptr, status);
  return std::nullopt;
}

GpuConditions GpuMonitor::look_for_others() const {
  GpuConditions conditions;
  if (!m_absent.empty()) {
    conditions.unknown["nvml"] = m_absent;
    return conditions;
  }
  auto listed = processes(conditions.unknown);
  if (!listed) return conditions;
  if (listed->empty()) {
    conditions.unknown["other_processes"] =
        "NVML lists no process, not even the worker's own: it does not show them here";
    return conditions;
  }
  measure::OtherProcesses& others = conditions.other_processes.emplace();
  const auto all = static_cast<std::int64_t>(listed->size());
  std::erase_if(*listed, [this](const NvmlProcess& item) { return m_own.contains(item.pid); });
  others.count = static_cast<std::int64_t>(listed->size());
  if (others.count == all) {
    others.count = std::max<std::int64_t>(0, all - m_own.count());
    conditions.unknown["other_processes.busy"] =
        "NVML numbers processes as another system does: counted, not told apart";
    return conditions;
  }
  double bytes = 0;
  bool is_known = true;
  for (const NvmlProcess& other : *listed) {
    is_known = is_known && other.used_bytes != k_nvml_not_available;
    bytes += static_cast<double>(other.used_bytes);
  }
  if (is_known) others.memory_bytes = bytes;
  if (!is_known) conditions.unknown["other_processes.memory_bytes"] = "NVML does not say";
  others.busy = listed->empty() ? 0 : busy_among(*listed, conditions.unknown);
  return conditions;
}

std::optional<std::int64_t> GpuMonitor::busy_among(const std::vector<NvmlProcess>& others,
                                                   Unknown& unknown) const {
  const auto ask = m_nvml->functions().utilization;
  std::vector<NvmlUtilization> samples;
  NvmlStatus status = NvmlStatus::not_supported;
  if (ask != nullptr) {
    status = read_growing(samples, [&](NvmlUtilization* room, unsigned* count) {
      return ask(m_device, room, count, 0);
    });
  }
  if (status == NvmlStatus::not_found) return 0;  // no process ran anything in these samples
  if (status != NvmlStatus::success) {
    unknown["other_processes.busy"] = why(ask != nullptr, status);
    return std::nullopt;
  }
  // Relative to the newest sample, since the zero of NVML's clock is unknown.
  unsigned long long newest_us = 0;
  for (const NvmlUtilization& sample : samples) newest_us = std::max(newest_us, sample.time_us);
  return std::count_if(others.begin(), others.end(), [&](const NvmlProcess& other) {
    return std::any_of(samples.begin(), samples.end(), [&](const NvmlUtilization& sample) {
      return sample.pid == other.pid && sample.sm > 0 && newest_us - sample.time_us <= k_lately_us;
    });
  });
}

}  // namespace wb::worker::cuda
