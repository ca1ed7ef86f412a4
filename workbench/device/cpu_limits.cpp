// SPDX-License-Identifier: MIT
#include "device/cpu_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/ascii.hpp"
#include "core/json.hpp"
#include "device/device.hpp"

namespace wb::device {
namespace {

namespace fs = std::filesystem;

std::string_view first_word(std::string_view text) {
  const auto words = ascii::words(text);
  return words.empty() ? std::string_view() : words.front();
}

std::optional<double> quota_of(const std::string& quota, const std::string& period) {
  const auto most = ascii::number<std::int64_t>(first_word(quota));  // "max" and -1 mean no quota
  const auto of = ascii::number<std::int64_t>(first_word(period));
  if (!most || !of || *most <= 0 || *of <= 0) return std::nullopt;
  return static_cast<double>(*most) / static_cast<double>(*of);
}

std::vector<int> cpus_of(const std::string& text) {
  const auto cpus = parse_cpu_set(first_word(text));
  return cpus.ok() ? *cpus : std::vector<int>{};
}

}  // namespace

std::optional<CpuGroups::Quota> CpuGroups::quota() const {
  std::optional<Quota> least;
  for (const ControlGroup& group : m_groups) {
    const fs::path source = group.folder / (group.is_v2 ? "cpu.max" : "cpu.cfs_quota_us");
    const std::string text = file_content(source);
    const auto words = ascii::words(text);
    const std::string period = !group.is_v2       ? file_content(group.folder / "cpu.cfs_period_us")
                               : words.size() > 1 ? std::string(words[1])
                                                  : std::string();
    const auto cpus = quota_of(text, period);
    if (cpus && (!least || *cpus < least->cpus)) least = Quota{*cpus, source.string()};
  }
  return least;
}

CpuGroups::Stops CpuGroups::stops() const {
  Stops all;
  for (const ControlGroup& group : m_groups) {
    const std::string text = file_content(group.folder / "cpu.stat");
    for (const std::string_view line : ascii::parts(text, '\n')) {
      const auto words = ascii::words(line);
      if (words.size() != 2) continue;
      const std::int64_t value = ascii::number<std::int64_t>(words[1]).value_or(0);
      if (words[0] == "nr_throttled") all.periods += value;
      if (words[0] == "throttled_usec" || words[0] == "throttled_time") all.time += value;
    }
  }
  return all;
}

CpuLimits cpu_limits(const std::vector<int>& allowed, const fs::path& root) {
  CpuLimits limits;
  limits.quota = CpuGroups(root).quota();
  limits.allowed = allowed;
  const fs::path cpus = root / "sys/devices/system/cpu";
  limits.online = cpus_of(file_content(cpus / "online"));
  for (const int cpu : allowed) {
    const fs::path file = cpus / fmt::format("cpu{}", cpu) / "topology/thread_siblings_list";
    for (const int sibling : cpus_of(file_content(file))) {
      if (std::find(allowed.begin(), allowed.end(), sibling) != allowed.end()) continue;
      limits.siblings.push_back(sibling);
    }
  }
  std::sort(limits.siblings.begin(), limits.siblings.end());
  limits.siblings.erase(std::unique(limits.siblings.begin(), limits.siblings.end()),
                        limits.siblings.end());
  return limits;
}

Json to_json(const CpuLimits& limits) {
  Json json{{"allowed", cpu_set_text(limits.allowed)},
            {"online", cpu_set_text(limits.online)},
            {"siblings", cpu_set_text(limits.siblings)}};
  if (limits.quota) {
    json["quota"] = {{"cpus", limits.quota->cpus}, {"source", limits.quota->source}};
  }
  return json;
}

Result<CpuLimits> cpu_limits_from_json(const Json& json) {
  ObjectReader reader(json, "limits of the CPUs");
  CpuLimits limits;
  limits.allowed = cpus_of(reader.string("allowed"));
  limits.online = cpus_of(reader.string("online"));
  limits.siblings = cpus_of(reader.string("siblings"));
  const Json* quota = reader.member("quota");
  WB_TRY(reader.finish(true));
  if (quota != nullptr) {
    ObjectReader of_quota(*quota, "a quota of CPU time");
    limits.quota = CpuGroups::Quota{of_quota.real("cpus"), of_quota.string("source")};
    if (!(limits.quota->cpus > 0)) of_quota.fail("cpus", "must be above 0");
    WB_TRY(of_quota.finish(true));
  }
  return limits;
}

bool is_short(const CpuLimits& limits) {
  return limits.quota && limits.quota->cpus < static_cast<double>(limits.allowed.size());
}

std::string quota_text(const CpuLimits& limits) {
  if (!limits.quota) return {};
  return fmt::format("{:.3g} CPUs of {} ({})", limits.quota->cpus, limits.allowed.size(),
                     limits.quota->source);
}

std::int64_t default_threads(const CpuLimits& limits) {
  const auto all = static_cast<std::int64_t>(limits.allowed.size());
  if (!is_short(limits)) return std::max<std::int64_t>(all, 1);
  return std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(limits.quota->cpus)), 1);
}

}  // namespace wb::device
