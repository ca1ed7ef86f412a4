// SPDX-License-Identifier: MIT
// What a GPU can do at most, in the shape of TraceLens' platform files: memory bandwidth and a rate
// for each unit and precision. Rates are dense; each platform says where its figures are from.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.hpp"
#include "core/error.hpp"

namespace wb::trace {

struct PlatformSpec {
  std::string name;
  double mem_bw_gbps = 0;  ///< 10^9 bytes each second
  double memory_gb = 0;
  /// "matrix_bf16", "vector_fp32", … -> TFLOP/s. What is not in it is not known.
  std::map<std::string, double> max_achievable_tflops;
  std::string source;
};

/// The built-in ones, in the order of documentation.
std::vector<PlatformSpec> known_platforms();
/// By a short name ("MI300X", "A100") or a driver's full one, in any case. Nothing when unknown: a
/// GPU that is only similar has other figures.
std::optional<PlatformSpec> known_platform(std::string_view name);
/// `word`: a known name, or a JSON file {"name", "mem_bw_gbps", "memory_gb",
/// "max_achievable_tflops": {…}, "source"?}. Errors: usage (unknown name: the known ones are
/// listed), not_found, parse, invalid.
Result<PlatformSpec> read_platform(const FileSystem& file_system, std::string_view word);
/// The rate for a dtype word: on matrix units, for fp32 and fp64 else on vector units. The key is
/// which one it was.
std::optional<std::pair<std::string, double>> peak_for(
    const std::map<std::string, double>& max_achievable_tflops, std::string_view dtype);

}  // namespace wb::trace
