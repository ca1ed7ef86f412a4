// SPDX-License-Identifier: MIT
// GPUs with their makers' figures. Makers print tensor rates with 2:4 sparsity; these are dense,
// half of those. A running device reports its own facts; this table adds peaks and bandwidth, which
// no driver reports.
#include <algorithm>
#include <array>
#include <string_view>

#include "core/ascii.hpp"
#include "device/device.hpp"

namespace wb::device {
namespace {

constexpr double k_tera = 1e12;
constexpr double k_giga = 1e9;
constexpr double k_mib = 1024.0 * 1024.0;
constexpr double k_kib = 1024.0;

struct GpuRow {
  std::array<std::string_view, 2> marks;  ///< all must occur in the driver's name, in any case
  std::string_view name;
  std::string_view backend;
  std::string_view architecture;
  int units;
  double f32_tflops;   ///< vector units
  double half_tflops;  ///< f16 and bf16 on the matrix units, f32 accumulation, dense
  double memory_gb_per_s;
  double memory_gb;  ///< 10^9 bytes, as sold
  double l2_mib;
  double l3_mib;      ///< 0: none
  double shared_kib;  ///< the largest shared memory of one SM (CU)
  std::string_view datasheet;
  std::string_view cache_source;
};

constexpr std::string_view k_ampere_guide =
    "NVIDIA A100 Tensor Core GPU Architecture white paper; CUDA Programming Guide, compute "
    "capability 8.0";
constexpr std::string_view k_hopper_guide =
    "NVIDIA H100 Tensor Core GPU Architecture white paper; CUDA Programming Guide, compute "
    "capability 9.0";
constexpr std::string_view k_blackwell_guide =
    "NVIDIA Blackwell Tuning Guide; CUDA Programming Guide, compute capability 10.0";
constexpr std::string_view k_ada_guide =
    "NVIDIA Ada GPU Architecture white paper (AD104); CUDA Programming Guide, compute capability "
    "8.9";

constexpr std::string_view k_a100 = "NVIDIA A100 datasheet";
constexpr std::string_view k_h100 = "NVIDIA H100 datasheet, dense";
constexpr std::string_view k_h200 = "NVIDIA H200 datasheet, dense";
constexpr std::string_view k_b200 =
    "NVIDIA Blackwell Architecture Technical Brief (HGX B200, per GPU), dense";
constexpr std::string_view k_mi300x = "AMD Instinct MI300X datasheet";
constexpr std::string_view k_rtx_4000 =
    "NVIDIA RTX 4000 Ada Generation datasheet; f16 and bf16 from its tensor cores at the clock of "
    "its f32 rate";
constexpr std::string_view k_l4 = "NVIDIA L4 datasheet, dense";
constexpr std::string_view k_cdna3_guide = "AMD CDNA 3 architecture white paper (L2: 8 x 4 MB)";

// More specific rows first: the first row whose marks all occur is used.
constexpr std::array<GpuRow, 12> k_rows{{
    // marks, name, backend, architecture,
    //   units, f32 and half TFLOP/s, GB/s, GB, L2 and L3 MiB, shared KiB, sources
    {{"A100", "80GB PCIe"},
     "NVIDIA A100 80GB PCIe",
     "cuda",
     "sm_80",
     108,
     19.5,
     312,
     1935,
     80,
     40,
     0,
     164,
     k_a100,
     k_ampere_guide},
    {{"A100", "80GB"},
     "NVIDIA A100-SXM4-80GB",
     "cuda",
     "sm_80",
     108,
     19.5,
     312,
     2039,
     80,
     40,
     0,
     164,
     k_a100,
     k_ampere_guide},
    {{"A100", "40GB"},
     "NVIDIA A100-SXM4-40GB",
     "cuda",
     "sm_80",
     108,
     19.5,
     312,
     1555,
     40,
     40,
     0,
     164,
     k_a100,
     k_ampere_guide},
    {{"H100", "PCIe"},
     "NVIDIA H100 PCIe",
     "cuda",
     "sm_90",
     114,
     51,
     756.5,
     2039,
     80,
     50,
     0,
     228,
     k_h100,
     k_hopper_guide},
    {{"H100", "NVL"},
     "NVIDIA H100 NVL",
     "cuda",
     "sm_90",
     132,
     60,
     835.5,
     3900,
     94,
     50,
     0,
     228,
     k_h100,
     k_hopper_guide},
    {{"H100", "HBM3"},
     "NVIDIA H100 80GB HBM3",
     "cuda",
     "sm_90",
     132,
     67,
     989.5,
     3350,
     80,
     50,
     0,
     228,
     k_h100,
     k_hopper_guide},
    {{"H200", "NVL"},
     "NVIDIA H200 NVL",
     "cuda",
     "sm_90",
     132,
     60,
     835.5,
     4800,
     141,
     50,
     0,
     228,
     k_h200,
     k_hopper_guide},
    {{"H200", ""},
     "NVIDIA H200",
     "cuda",
     "sm_90",
     132,
     67,
     989.5,
     4800,
     141,
     50,
     0,
     228,
     k_h200,
     k_hopper_guide},
    {{"B200", ""},
     "NVIDIA B200",
     "cuda",
     "sm_100",
     148,
     80,
     2250,
     8000,
     180,
     126,
     0,
     228,
     k_b200,
     k_blackwell_guide},
    {{"MI300X", ""},
     "AMD Instinct MI300X",
     "hip",
     "gfx942",
     304,
     163.4,
     1307.4,
     5300,
     192,
     32,
     256,
     64,
     k_mi300x,
     k_cdna3_guide},
    {{"RTX 4000 Ada", ""},
     "NVIDIA RTX 4000 Ada Generation",
     "cuda",
     "sm_89",
     48,
     26.7,
     106.8,
     360,
     20,
     48,
     0,
     100,
     k_rtx_4000,
     k_ada_guide},
    {{"L4", ""},
     "NVIDIA L4",
     "cuda",
     "sm_89",
     58,
     30.3,
     121,
     300,
     24,
     48,
     0,
     100,
     k_l4,
     k_ada_guide},
}};
// clang-format on

bool same_in_any_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return ascii::lower(x) == ascii::lower(y); });
}

/// True when `mark` occurs as whole words: "NVIDIA L4" is not in "NVIDIA L40S", nor "H200" in
/// "GH200".
bool has_mark(std::string_view text, std::string_view mark) {
  const auto is_word = ascii::is_alnum;
  if (mark.empty()) return true;
  for (std::size_t at = 0; at + mark.size() <= text.size(); ++at) {
    const std::size_t after = at + mark.size();
    if (same_in_any_case(text.substr(at, mark.size()), mark) &&
        (at == 0 || !is_word(text[at - 1])) && (after == text.size() || !is_word(text[after]))) {
      return true;
    }
  }
  return false;
}

Device device_of(const GpuRow& row) {
  const std::string datasheet(row.datasheet);
  const std::string caches(row.cache_source);
  Device device;
  device.backend = row.backend;
  device.name = row.name;
  device.architecture = row.architecture;
  device.units = row.units;
  device.f32_flops_per_s = DeviceFact{row.f32_tflops * k_tera, datasheet};
  device.f16_flops_per_s = DeviceFact{row.half_tflops * k_tera, datasheet};
  device.bf16_flops_per_s = DeviceFact{row.half_tflops * k_tera, datasheet};
  device.memory_bytes_per_s = DeviceFact{row.memory_gb_per_s * k_giga, datasheet};
  device.memory_bytes = DeviceFact{row.memory_gb * k_giga, datasheet};
  device.l2_bytes = DeviceFact{row.l2_mib * k_mib, caches};
  if (row.l3_mib > 0) device.l3_bytes = DeviceFact{row.l3_mib * k_mib, caches};
  device.shared_bytes_per_unit = DeviceFact{row.shared_kib * k_kib, caches};
  return device;
}

}  // namespace

std::optional<Device> known_gpu(std::string_view name) {
  // A slice of a device, or its mobile version, has other peaks than the device.
  if (has_mark(name, "MIG") || has_mark(name, "Laptop")) return std::nullopt;
  for (const GpuRow& row : k_rows) {
    if (has_mark(name, row.marks[0]) && has_mark(name, row.marks[1])) return device_of(row);
  }
  return std::nullopt;
}

std::vector<Device> known_gpus() {
  std::vector<Device> devices;
  for (const GpuRow& row : k_rows) devices.push_back(device_of(row));
  return devices;
}

}  // namespace wb::device
