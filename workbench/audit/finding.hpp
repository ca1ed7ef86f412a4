// SPDX-License-Identifier: MIT
// Results of a check: a figure that does not follow (Finding) or that does (HeldFigure), with the
// formula in numbers. A check reads Facts and writes Notes; it keeps no state.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wb::audit {

/// contradiction: figures of one table or one equation, or a GPU's limits, exclude the printed one.
/// doubtful: the claim does not follow, or rests on misleading figures. unknown: cannot be decided.
enum class Severity { contradiction, doubtful, unknown };
constexpr std::string_view to_string(Severity value) {
  return value == Severity::contradiction ? "contradiction"
         : value == Severity::doubtful    ? "doubtful"
                                          : "unknown";
}

struct Finding {
  Severity severity = Severity::contradiction;
  int line = 0;
  std::string printed = {};    ///< the figures with a few words of the document
  std::string computed = {};   ///< the formula with numbers and its result
  std::string meaning = {};    ///< one sentence: why it matters, or what to do
  std::string tolerance = {};  ///< of the printed digits; empty when figures are exact
  std::vector<int> also = {};  ///< other lines that say the same or the opposite
  std::string check = {};      ///< set by audit_document
};

struct HeldFigure {
  int line = 0;
  std::string what;  ///< "7.93x: 0.081 / 0.010 = 7.67 to 8.58"
  std::string check;
};

class Notes {
 public:
  void add(Finding finding) { m_findings.push_back(std::move(finding)); }
  void held(int line, std::string what) { m_held.push_back({line, std::move(what), {}}); }
  std::vector<Finding> m_findings;
  std::vector<HeldFigure> m_held;
};

}  // namespace wb::audit
