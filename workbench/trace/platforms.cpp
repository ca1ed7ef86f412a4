// SPDX-License-Identifier: MIT
// AMD's measured rates are those that AMD publishes and TraceLens (MIT) ships, so that shares are
// comparable; NVIDIA's are the dense datasheet peaks of the device table.
#include "trace/platforms.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/ascii.hpp"
#include "core/json.hpp"
#include "device/device.hpp"
#include "trace/trace.hpp"

namespace wb::trace {
namespace {

constexpr double k_tera = 1e12;
constexpr std::uint64_t k_max_file_bytes = 1u << 20;

constexpr std::string_view k_measured =
    "achievable rates measured by AMD (ROCm blog \"Measuring Max-Achievable FLOPs\"), as TraceLens "
    "has them; memory: AMD datasheet";

PlatformSpec mi300x() {
  return {"MI300X",
          5300,
          192,
          {{"matrix_fp16", 654},
           {"matrix_bf16", 708},
           {"matrix_fp32", 163},
           {"matrix_fp64", 81},
           {"matrix_fp8", 1273},
           {"matrix_int8", 2600},
           {"vector_fp16", 163},
           {"vector_bf16", 163},
           {"vector_fp32", 81},
           {"vector_fp64", 40}},
          std::string(k_measured)};
}

PlatformSpec mi325x() {
  return {"MI325X",
          6000,
          256,
          {{"matrix_fp16", 794},
           {"matrix_bf16", 843},
           {"matrix_fp32", 194},
           {"matrix_fp8", 1519},
           {"matrix_int8", 3094},
           {"vector_fp16", 194},
           {"vector_fp32", 97}},
          std::string(k_measured)};
}

PlatformSpec mi355x() {
  return {"MI355X",
          8000,
          288,
          {{"matrix_fp16", 2516.6},
           {"matrix_bf16", 2516.6},
           {"matrix_fp8", 5033.2},
           {"matrix_int8", 5033.2},
           {"vector_fp32", 157.3},
           {"vector_fp64", 78.6}},
          "AMD Instinct MI355X datasheet, dense theoretical peaks"};
}

PlatformSpec of_device(std::string name, const device::Device& device) {
  PlatformSpec spec;
  spec.name = std::move(name);
  const auto add = [&](const char* key, const std::optional<device::DeviceFact>& rate) {
    if (rate) spec.max_achievable_tflops[key] = rate->value / k_tera;
  };
  add("matrix_fp16", device.f16_flops_per_s);
  add("matrix_bf16", device.bf16_flops_per_s);
  add("vector_fp32", device.f32_flops_per_s);
  if (device.memory_bytes_per_s) {
    spec.mem_bw_gbps = device.memory_bytes_per_s->value / k_giga;
    spec.source = device.memory_bytes_per_s->source + " (dense peaks of the datasheet)";
  }
  if (device.memory_bytes) spec.memory_gb = device.memory_bytes->value / k_giga;
  return spec;
}

struct ShortName {
  std::string_view name, device;
};
/// For a card with several forms, the one that is most common in servers.
constexpr ShortName k_short_names[] = {{"L4", "NVIDIA L4"},
                                       {"A100", "NVIDIA A100-SXM4-80GB"},
                                       {"H100", "NVIDIA H100 80GB HBM3"},
                                       {"H200", "NVIDIA H200"},
                                       {"B200", "NVIDIA B200"},
                                       {"RTX 4000 Ada", "NVIDIA RTX 4000 Ada Generation"}};

std::string lower_words(std::string_view text) {
  std::string low(text);
  std::transform(low.begin(), low.end(), low.begin(),
                 [](char c) { return c == '_' ? ' ' : ascii::lower(c); });
  return low;
}

Result<PlatformSpec> read_file(const FileSystem& file_system, const fs::path& path) {
  WB_TRY_ASSIGN(const std::string text, file_system.read(path, k_max_file_bytes));
  WB_TRY_ASSIGN(const Json root, parse_json(text, path.string()));
  ObjectReader reader(root, path.string());
  PlatformSpec spec;
  spec.name = reader.string("name");
  spec.mem_bw_gbps = reader.real("mem_bw_gbps");
  spec.memory_gb = reader.real_or("memory_gb", 0);
  spec.source = reader.string_or("source", "the user's file " + path.filename().string());
  const Json* rates = reader.member("max_achievable_tflops");
  if (spec.mem_bw_gbps <= 0) reader.fail("mem_bw_gbps", "must be above 0");
  if (rates == nullptr || !rates->is_object() || rates->empty()) {
    reader.fail("max_achievable_tflops", "must be an object such as {\"matrix_bf16\": 708}");
  } else {
    for (const auto& [key, rate] : rates->items()) {
      if (!rate.is_number() || !(rate.get<double>() > 0) || !std::isfinite(rate.get<double>())) {
        reader.fail("max_achievable_tflops", fmt::format("\"{}\" must be above 0", printable(key)));
        break;
      }
      spec.max_achievable_tflops[key] = rate.get<double>();
    }
  }
  WB_TRY(reader.finish(/*allow_unknown=*/true));
  return spec;
}

}  // namespace

std::vector<PlatformSpec> known_platforms() {
  std::vector<PlatformSpec> platforms;
  for (const auto& [name, device] : k_short_names) {
    if (const auto found = device::known_gpu(device)) {
      platforms.push_back(of_device(std::string(name), *found));
    }
  }
  platforms.push_back(mi300x());
  platforms.push_back(mi325x());
  platforms.push_back(mi355x());
  return platforms;
}

std::optional<PlatformSpec> known_platform(std::string_view name) {
  const std::string low = lower_words(name);
  for (PlatformSpec& spec : known_platforms()) {
    const std::string own = lower_words(spec.name);
    const bool amd = own.starts_with("mi3");
    if (low == own || (amd && (low == "amd instinct " + own || low == "amd " + own ||
                               low.starts_with("amd instinct " + own + " ")))) {
      return std::move(spec);
    }
  }
  const auto device = device::known_gpu(name);
  if (!device || device->backend != "cuda") return std::nullopt;
  const auto* named =
      std::find_if(std::begin(k_short_names), std::end(k_short_names),
                   [&](const ShortName& entry) { return entry.device == device->name; });
  const bool is_short = named != std::end(k_short_names);
  return of_device(is_short ? std::string(named->name) : device->name, *device);
}

Result<PlatformSpec> read_platform(const FileSystem& file_system, std::string_view word) {
  if (word.ends_with(".json")) return read_file(file_system, fs::path(word));
  if (auto known = known_platform(word)) return *std::move(known);
  std::vector<std::string> names;
  for (const PlatformSpec& spec : known_platforms()) names.push_back(spec.name);
  return Error{ErrorCode::usage, "find the platform", printable(word), "its peaks are not known",
               fmt::format("known: {}; or name a JSON file with mem_bw_gbps and "
                           "max_achievable_tflops",
                           fmt::join(names, ", "))};
}

std::optional<std::pair<std::string, double>> peak_for(
    const std::map<std::string, double>& max_achievable_tflops, std::string_view dtype) {
  std::vector<std::string> keys{"matrix_" + std::string(dtype)};
  if (dtype == "fp32" || dtype == "fp64") keys.push_back("vector_" + std::string(dtype));
  for (const std::string& key : keys) {
    const auto found = max_achievable_tflops.find(key);
    if (found != max_achievable_tflops.end() && found->second > 0) return *found;
  }
  return std::nullopt;
}

}  // namespace wb::trace
