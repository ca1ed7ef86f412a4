// SPDX-License-Identifier: MIT
#include "analyze/compiled_code.hpp"
#include "core/json.hpp"

#include <fmt/format.h>

#include <algorithm>
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

}  // namespace wb::analyze
