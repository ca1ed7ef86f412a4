// SPDX-License-Identifier: MIT
#include "device/device.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <limits>
#include <set>
#include <stdexcept>
#include <string_view>

#include "core/json.hpp"

namespace wb::device {
namespace {

/// The facts of a device with their JSON keys, used in both directions.
struct FactField {
  const char* key;
  std::optional<DeviceFact> Device::*member;
};
constexpr std::array<FactField, 9> k_fact_fields{
    {{"f32_flops_per_s", &Device::f32_flops_per_s},
     {"f16_flops_per_s", &Device::f16_flops_per_s},
     {"bf16_flops_per_s", &Device::bf16_flops_per_s},
     {"memory_bytes_per_s", &Device::memory_bytes_per_s},
     {"l1_bytes", &Device::l1_bytes},
     {"l2_bytes", &Device::l2_bytes},
     {"l3_bytes", &Device::l3_bytes},
     {"shared_bytes_per_unit", &Device::shared_bytes_per_unit},
     {"memory_bytes", &Device::memory_bytes}}};

Result<DeviceFact> fact_from_json(const Json& json, std::string what) {
  ObjectReader reader(json, std::move(what));
  DeviceFact fact{reader.real("value"), reader.string("source")};
  if (!(fact.value > 0)) reader.fail("value", "must be above 0");
  if (fact.source.empty()) reader.fail("source", "must say where the value comes from");
  WB_TRY(reader.finish());
  return fact;
}

}  // namespace

std::optional<DeviceFact> peak_flops_per_s(const Device& device, Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return device.f32_flops_per_s;
    case Dtype::f16:
      return device.f16_flops_per_s;
    case Dtype::bf16:
      return device.bf16_flops_per_s;
  }
  throw std::logic_error("a Dtype outside its enumeration");
}

std::optional<DeviceFact> split_peak_flops_per_s(const Device& device, const SplitProducts& split) {
  const auto& [units, products] = split;
  const bool is_tf32 = units == "tf32";
  if (!is_tf32 && units != "f16" && units != "bf16") return std::nullopt;
  const auto peak = units == "bf16" ? device.bf16_flops_per_s : device.f16_flops_per_s;
  if (device.backend != "cuda" || !peak || !(products >= 1)) return std::nullopt;
  const double rate = is_tf32 ? peak->value / 2 : peak->value;
  return DeviceFact{rate / products,
                    peak->source + (is_tf32 ? ", tf32 at half of f16" : std::string())};
}

Json to_json(const Device& device) {
  Json json{{"backend", device.backend},
            {"id", device.id},
            {"name", device.name},
            {"architecture", device.architecture},
            {"units", device.units}};
  for (const FactField& field : k_fact_fields) {
    if (const auto& fact = device.*field.member) {
      json[field.key] = {{"value", fact->value}, {"source", fact->source}};
    }
  }
  return json;
}

Result<Device> device_from_json(const Json& json) {
  ObjectReader reader(json, "a device");
  Device device;
  device.backend = reader.string("backend");
  device.id = reader.string("id");
  device.name = reader.string("name");
  device.architecture = reader.string("architecture");
  device.units = reader.integer("units", 0, std::numeric_limits<std::int32_t>::max());
  std::array<const Json*, k_fact_fields.size()> facts{};
  for (std::size_t i = 0; i < facts.size(); ++i) facts[i] = reader.member(k_fact_fields[i].key);
  WB_TRY(reader.finish());
  for (std::size_t i = 0; i < facts.size(); ++i) {
    if (facts[i] == nullptr) continue;
    WB_TRY_ASSIGN(device.*k_fact_fields[i].member,
                  fact_from_json(*facts[i], std::string("a device, ") + k_fact_fields[i].key));
  }
  return device;
}

// The host's CPU from /proc and /sys.

namespace {

namespace fs = std::filesystem;

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

constexpr int k_max_cpu = 4'095;

std::optional<int> cpu_number(std::string_view text) {
  int cpu = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cpu);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && cpu >= 0 && cpu <= k_max_cpu ? std::optional(cpu) : std::nullopt;
}

/// The first line, trimmed; empty when the file cannot be read.
std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return std::string(trimmed(line));
}

/// Value of the first "key : value" line of a /proc file; empty when there is none.
std::string proc_field(const fs::path& path, std::string_view key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const std::string_view view(line);
    const auto colon = view.find(':');
    if (colon != std::string_view::npos && trimmed(view.substr(0, colon)) == key) {
      return std::string(trimmed(view.substr(colon + 1)));
    }
  }
  return {};
}

/// "32K", "1024K", "16M", "123 kB" as bytes; nothing when it is none of these.
std::optional<double> size_of_text(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || number <= 0) return std::nullopt;
  const auto unit = trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
  double factor = 0;
  if (unit.empty()) factor = 1;
  if (unit == "K" || unit == "kB") factor = 1024;
  if (unit == "M") factor = 1024.0 * 1024.0;
  if (unit == "G") factor = 1024.0 * 1024.0 * 1024.0;
  if (factor == 0) return std::nullopt;
  return static_cast<double>(number) * factor;
}

fs::path cpu_folder(const fs::path& root, int cpu) {
  return root / "sys/devices/system/cpu" / fmt::format("cpu{}", cpu);
}

/// Cores, not hardware threads: CPUs with equal package and core numbers count once.
std::int64_t count_cores(const fs::path& root, const std::vector<int>& allowed) {
  std::set<std::string> cores;
  for (const int cpu : allowed) {
    const fs::path topology = cpu_folder(root, cpu) / "topology";
    const std::string core = first_line(topology / "core_id");
    const std::string package = first_line(topology / "physical_package_id");
    // Without a topology each CPU counts as a core.
    cores.insert(core.empty() ? fmt::format("cpu {}", cpu) : package + ":" + core);
  }
  return static_cast<std::int64_t>(cores.size());
}

void read_caches(const fs::path& root, const std::vector<int>& allowed, Device& device) {
  std::set<std::string> seen_l3;
  for (const int cpu : allowed) {
    for (int index = 0; index < 16; ++index) {
      const fs::path folder = cpu_folder(root, cpu) / "cache" / fmt::format("index{}", index);
      const std::string level = first_line(folder / "level");
      if (level.empty()) break;
      const std::string type = first_line(folder / "type");
      const auto bytes = size_of_text(first_line(folder / "size"));
      if (type == "Instruction" || !bytes) continue;
      if (level == "1" && !device.l1_bytes) device.l1_bytes = DeviceFact{*bytes, "sysfs"};
      if (level == "2" && !device.l2_bytes) device.l2_bytes = DeviceFact{*bytes, "sysfs"};
      if (level != "3") continue;
      const std::string sharers = first_line(folder / "shared_cpu_list");
      if (!seen_l3.insert(sharers.empty() ? fmt::format("cpu {}", cpu) : sharers).second) continue;
      device.l3_bytes =
          DeviceFact{(device.l3_bytes ? device.l3_bytes->value : 0) + *bytes, "sysfs"};
    }
  }
}

/// The psABI level of the running CPU, or uname's machine name.
std::string architecture() {
#if defined(__x86_64__)
  const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return v4 ? "x86-64-v4" : v3 ? "x86-64-v3" : v2 ? "x86-64-v2" : "x86-64";
#else
  utsname name{};
  return uname(&name) == 0 ? name.machine : "";
#endif
}

}  // namespace

std::vector<int> allowed_cpus() {
  // The kernel refuses sets smaller than its own, so grow until it accepts.
  for (int capacity = 1024; capacity <= 1 << 20; capacity *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(capacity));
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(capacity));
    CPU_ZERO_S(bytes, set);
    std::vector<int> cpus;
    const bool done = sched_getaffinity(0, bytes, set) == 0;
    for (int cpu = 0; done && cpu < capacity; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (done) return cpus;
  }
  return {};
}

std::string cpu_set_text(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += last == i ? fmt::format("{}", cpus[i]) : fmt::format("{}-{}", cpus[i], cpus[last]);
    i = last + 1;
  }
  return text;
}

Result<std::vector<int>> parse_cpu_set(std::string_view text) {
  std::vector<int> cpus;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, comma - begin);
    const std::size_t dash = part.find('-');
    const auto first = cpu_number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : cpu_number(part.substr(dash + 1));
    if (!first || !last || *last < *first) {
      return Error{ErrorCode::parse, "use the CPU set", printable(text),
                   "\"" + printable(part, 40) + "\" is no CPU or range", "write it as \"0-3,8\""};
    }
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
    begin = comma + 1;
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

Device detect_cpu_in(const fs::path& root, const std::vector<int>& allowed) {
  Device device;
  device.backend = "cpu";
  device.name = proc_field(root / "proc/cpuinfo", "model name");
  if (device.name.empty()) device.name = proc_field(root / "proc/cpuinfo", "CPU part");
  if (device.name.empty()) device.name = "unknown CPU";
  device.architecture = architecture();
  device.units = count_cores(root, allowed);
  device.id = fmt::format("cpu:{}:{}", device.name, cpu_set_text(allowed));
  read_caches(root, allowed, device);
  if (const auto bytes = size_of_text(proc_field(root / "proc/meminfo", "MemTotal"))) {
    device.memory_bytes = DeviceFact{*bytes, "/proc/meminfo"};
  }
  return device;
}

Device detect_cpu() {
  return detect_cpu_in("/", allowed_cpus());
}

}  // namespace wb::device
