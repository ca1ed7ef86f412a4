// SPDX-License-Identifier: MIT
#include "audit/field.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace wb::audit {
namespace {

struct OtherReading {
  std::string_view check, reason;
};

// Fields in which, on public reports, these checks were wrong more often than right.
constexpr std::array<OtherReading, 9> k_readings{{
    {"counts", "one noun may count several sets there"},
    {"geometry", "grids, blocks and threads may be no launch there"},
    {"scaling", "\"linear\" may be told of another size there"},
    {"scaling_claims", "work may be counted by another size there"},
    {"list_totals", "a total may be of more than its list there"},
    {"changes", "a factor may be of another figure than the two beside it there"},
    {"superlatives", "what is best may be judged by other figures there"},
    {"repeated_figures", "a duration or a cost may be of several things there"},
    {"throughput", "rates may count other work than that of attention there"},
}};

// One term with its spellings; a writer of "flash attention" uses only one of them.
using Term = std::array<std::string_view, 4>;
constexpr std::array<Term, 17> k_terms{{
    {"kernel", "kernels"},
    {"gpu", "gpus"},
    {"cuda"},
    {"rocm"},
    {"attention", "flashattention"},
    {"sdpa"},
    {"cudnn"},
    {"cublas"},
    {"cutlass"},
    {"triton"},
    {"warp", "warps"},
    {"thread block", "thread blocks"},
    {"occupancy"},
    {"shared memory", "smem"},
    {"tflop/s", "tflops", "tflops/s"},
    {"tensor core", "tensor cores"},
    {"hbm"},
}};
constexpr std::size_t k_terms_of_a_report = 3;

bool names(const Document& document, const Term& term) {
  return std::any_of(document.lines.begin(), document.lines.end(), [&](const Line& line) {
    return std::any_of(term.begin(), term.end(), [&](std::string_view word) {
      return !word.empty() && has_word(line.lower, word);
    });
  });
}

}  // namespace

std::string_view other_reading(std::string_view check) {
  const auto* at = std::find_if(k_readings.begin(), k_readings.end(),
                                [&](const OtherReading& one) { return one.check == check; });
  return at == k_readings.end() ? std::string_view{} : at->reason;
}

bool is_about_kernels(const Document& document) {
  std::size_t named = 0;
  for (const Term& term : k_terms) {
    if (names(document, term) && ++named == k_terms_of_a_report) return true;
  }
  return false;
}

void doubt_other_fields(std::vector<Finding>& findings) {
  for (Finding& finding : findings) {
    const std::string_view reason = other_reading(finding.check);
    if (finding.severity != Severity::contradiction || reason.empty()) continue;
    finding.severity = Severity::doubtful;
    finding.meaning += fmt::format("{}the report is not about kernels on a device: {}",
                                   finding.meaning.empty() ? "" : "; ", reason);
  }
}

}  // namespace wb::audit
