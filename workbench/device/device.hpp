// SPDX-License-Identifier: MIT
// Facts about the device of a session, each with its source, and the table of GPUs with their dense
// peaks. Used by worker (detect), measure (refusal), analyze.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.hpp"
#include "core/error.hpp"
#include "core/json_fwd.hpp"

namespace wb::device {

/// A number and its source ("datasheet", "calibrated at open", "sysfs").
struct DeviceFact {
  double value = 0;
  std::string source;
};

/// Peaks are dense (no sparsity). Absent facts are unknown, never guessed. The f32 peak of a GPU is
/// that of its vector units; a kernel that splits f32 into tensor-core products may exceed it.
struct Device {
  std::string backend;       ///< "cpu", "cuda" or "hip"
  std::string id;            ///< stable: GPU UUID, or "cpu:<model>:<cpu set>"
  std::string name;          ///< "NVIDIA H200", "AMD EPYC …"
  std::string architecture;  ///< "x86-64-v3", "sm_90"
  std::int64_t units = 0;    ///< SMs, or CPU cores in the set
  std::optional<DeviceFact> f32_flops_per_s, f16_flops_per_s, bf16_flops_per_s;
  std::optional<DeviceFact> memory_bytes_per_s;
  /// CPU: l1 (data) and l2 of one core, l3 of all instances that the set reaches. GPU: l2 of the
  /// whole device, l3 if it has one, the largest shared memory of one unit.
  std::optional<DeviceFact> l1_bytes, l2_bytes, l3_bytes, shared_bytes_per_unit;
  std::optional<DeviceFact> memory_bytes;
};

std::optional<DeviceFact> peak_flops_per_s(const Device& device, Dtype dtype);

/// How a kernel makes one f32 product: of several products of faster units.
struct SplitProducts {
  std::string units = "tf32";  ///< "tf32", "f16" or "bf16"
  double products = 3;

  friend bool operator==(const SplitProducts&, const SplitProducts&) = default;
};
/// The peak of f32 FLOP that are made so. That of tf32 is half of f16's, as in NVIDIA's data sheets
/// since sm_80. Nothing where it is not known.
std::optional<DeviceFact> split_peak_flops_per_s(const Device& device, const SplitProducts& split);

Json to_json(const Device& device);
Result<Device> device_from_json(const Json& json);

/// The host's CPU as a device: name, cores of the allowed CPU set, caches from sysfs. Without
/// peaks, which the worker calibrates. What cannot be read stays unknown.
Device detect_cpu();

/// Reads proc/ and sys/ below `root`, for the CPUs in `allowed`; for tests.
Device detect_cpu_in(const std::filesystem::path& root, const std::vector<int>& allowed);

/// The CPUs that this process may run on (sched_getaffinity), ascending.
std::vector<int> allowed_cpus();

/// "0-3,8" for {0,1,2,3,8}: the form of taskset and cgroups.
std::string cpu_set_text(const std::vector<int>& cpus);
/// The inverse: ascending and unique. Errors: parse (no list of CPUs below 4096).
Result<std::vector<int>> parse_cpu_set(std::string_view text);

/// Looks up the built-in GPU table by whole words of the driver's name in any case ("A100" and
/// "80GB"). Similar devices have no entry: MIG slices, laptop parts, "GH200", "L40S". Each fact
/// names its datasheet.
std::optional<Device> known_gpu(std::string_view name);
std::vector<Device> known_gpus();

}  // namespace wb::device
