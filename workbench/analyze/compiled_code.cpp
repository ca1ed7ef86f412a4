// SPDX-License-Identifier: MIT
#include "analyze/compiled_code.hpp"
#include "core/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>

namespace wb::analyze {

using measure::Finding;
using variant::KernelResources;
using variant::PtxasWarning;

namespace {

constexpr std::string_view k_analysis = "ptxas";
constexpr std::string_view k_build_unseen =
    "what it costs here: only a variant without it, measured beside this one, tells";

Finding build_finding(std::string statement, Json figures) {
  return {.analysis = std::string(k_analysis),
          .statement = std::move(statement),
          .problem = {},
          .figures = std::move(figures),
          .events = {},
          .unseen = std::string(k_build_unseen)};
}

std::string more(std::int64_t count) {
  return count == 0 ? std::string() : " and " + fmt::to_string(count) + " more";
}

bool is_word_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// The words of a template's arguments: "__half", "64", "Shape" of "flash<Shape<__half, 64>>".
std::vector<std::string_view> argument_words(std::string_view kernel) {
  std::vector<std::string_view> words;
  for (std::size_t at = std::min(kernel.find('<'), kernel.size()); at < kernel.size();) {
    std::size_t end = at;
    while (end < kernel.size() && is_word_character(kernel[end])) ++end;
    if (end > at) words.push_back(kernel.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

/// True when a kernel for head dimensions of `size` may be used for `wanted`: the same, or the next
/// multiple or power of two that kernels have.
bool holds_head_dim(std::int64_t size, std::int64_t wanted) {
  const auto next = [wanted](std::int64_t step) { return (wanted + step - 1) / step * step; };
  if (size == wanted) return true;
  for (const std::int64_t step : {8, 16, 32, 64, 128}) {
    if (size == next(step)) return true;
  }
  return size == static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(wanted)));
}

}  // namespace

std::vector<Finding> build_findings(const variant::PtxasRecord& record, std::string_view subject) {
  std::vector<Finding> findings;
  const auto spills = [](const KernelResources& kernel) {
    return variant::spilled_bytes(kernel) > 0;
  };
  const std::int64_t spilling =
      std::count_if(record.kernels.begin(), record.kernels.end(), spills) +
      record.spilling_left_out;
  const std::int64_t kernels =
      static_cast<std::int64_t>(record.kernels.size()) + record.kernels_left_out;
  if (spilling > 0) {
    const KernelResources& worst =
        *std::max_element(record.kernels.begin(), record.kernels.end(),
                          [](const KernelResources& one, const KernelResources& other) {
                            return variant::spilled_bytes(one) < variant::spilled_bytes(other);
                          });
    findings.push_back(
        build_finding(fmt::to_string(spilling) + " of " + fmt::to_string(kernels) + " kernels of " +
                          std::string(subject) + " spill registers: " + worst.kernel + " stores " +
                          fmt::to_string(worst.spill_store_bytes) + " and loads " +
                          fmt::to_string(worst.spill_load_bytes) + " bytes a thread at " +
                          fmt::to_string(worst.registers) + " registers",
                      {{"spilling_kernels", spilling},
                       {"kernels", kernels},
                       {"worst_kernel", worst.kernel},
                       {"registers", worst.registers},
                       {"spill_store_bytes", worst.spill_store_bytes},
                       {"spill_load_bytes", worst.spill_load_bytes}}));
  }
  std::map<std::string, std::vector<const PtxasWarning*>> by_code;
  for (const PtxasWarning& warning : record.warnings) by_code[warning.code].push_back(&warning);
  for (const auto& [code, warnings] : by_code) {
    const PtxasWarning& first = *warnings.front();
    const auto left_out = record.codes_left_out.find(code);
    const std::int64_t count = static_cast<std::int64_t>(warnings.size()) +
                               (left_out == record.codes_left_out.end() ? 0 : left_out->second);
    const std::string where = first.kernel.empty() ? std::string(subject) : first.kernel;
    findings.push_back(
        build_finding("ptxas " + code + " for " + where + more(count - 1) + ": " + first.text,
                      {{"code", code}, {"warnings", count}, {"kernel", first.kernel}}));
  }
  return findings;
}

bool may_serve(std::string_view kernel, const problem::Problem& problem) {
  std::vector<Dtype> dtypes;
  bool has_number = false, has_head_dim = false;
  bool names_float = false;
  for (const std::string_view word : argument_words(kernel)) {
    if (word == "__half" || word == "half") dtypes.push_back(Dtype::f16);
    if (word == "__nv_bfloat16" || word == "nv_bfloat16") dtypes.push_back(Dtype::bf16);
    names_float = names_float || word == "float";
    std::int64_t number = 0;
    const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (fault != std::errc() || end != word.data() + word.size() || number < 1) continue;
    has_number = true;
    has_head_dim =
        has_head_dim || holds_head_dim(number, problem.D) || holds_head_dim(number, problem.Dv);
  }
  // Beside a dtype of 16 bits, float is that of sums.
  if (names_float && dtypes.empty()) dtypes.push_back(Dtype::f32);
  if (!dtypes.empty() && std::find(dtypes.begin(), dtypes.end(), problem.dtype) == dtypes.end()) {
    return false;
  }
  const bool is_cut = kernel.find("...") != std::string_view::npos;
  return !has_number || has_head_dim || is_cut;
}

}  // namespace wb::analyze
