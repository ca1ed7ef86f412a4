// SPDX-License-Identifier: MIT
// A GPU's peak rates in the form of TraceLens' platform files: memory bandwidth, and a rate for
// each unit and precision. Rates are dense; each platform names the source of its figures.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"

namespace wb::trace {

struct PlatformSpec {
  std::string name;
  double mem_bw_gbps = 0;  ///< 10^9 bytes each second
  double memory_gb = 0;
  /// "matrix_bf16", "vector_fp32", … -> TFLOP/s. Absent entries are unknown.
  std::map<std::string, double> max_achievable_tflops;
  std::string source;
};

/// The built-in platforms, in the order of the documentation.
std::vector<PlatformSpec> known_platforms();
/// By a short name ("MI300X", "A100") or a driver's full one, in any case. Nothing when unknown; a
/// similar GPU does not match, since its figures differ.
std::optional<PlatformSpec> known_platform(std::string_view name);
/// `word`: a known name, or a JSON file {"name", "mem_bw_gbps", "memory_gb",
/// "max_achievable_tflops": {…}, "source"?}. Errors: usage (unknown name; lists the known ones),
/// not_found, parse, invalid.
Result<PlatformSpec> read_platform(const FileSystem& file_system, std::string_view word);
/// The rate for a dtype word on matrix units; for fp32 and fp64, if that is absent, on vector
/// units. Returns the key too.
std::optional<std::pair<std::string, double>> peak_for(
    const std::map<std::string, double>& max_achievable_tflops, std::string_view dtype);

}  // namespace wb::trace
