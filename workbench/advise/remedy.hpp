// SPDX-License-Identifier: MIT
// Private to advise: which findings a cause's rule reads and which cause they separate best;
// whether a technique of the catalogue is applicable to a kernel, and its expected gain over a
// suite. Both the roadmap and the remedies of causes use the latter, so that neither advises what
// the other excludes.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "advise/diagnosis.hpp"
#include "catalogue/techniques.hpp"

namespace wb::advise {

/// A smaller gain is not worth a step of its own.
inline constexpr double k_least_expected = 1.005;
/// Factor of a gain's logarithm, in an order by merit, for weak evidence.
inline constexpr double k_weak_merit = 0.5;

/// Whether the finding fulfills the rule for this target. Shares of a peak under another plan than
/// the objective's say something only to rules that ask for that plan.
bool fits(const catalogue::CauseRule& rule, const Target& target, const measure::Finding& finding);

/// Labels of the problems that the finding is about by this rule; empty: the subject in general.
std::vector<std::string> problems_of(const catalogue::CauseRule& rule,
                                     const measure::Finding& finding);

inline bool is_stronger(catalogue::RuleStrength one, catalogue::RuleStrength other) {
  return static_cast<int>(one) < static_cast<int>(other);
}

/// Which cause each observation separates best. An observation is a figure of a finding.
class Ownership {
 public:
  /// `causes`: those that can be at work, in the registry's order; they must outlive this.
  Ownership(const std::vector<const catalogue::Cause*>& causes, const Target& target,
            const std::vector<measure::Finding>& findings);
  /// The other cause that the finding at this position separates better than this rule's: by a rule
  /// on a figure of both that is stronger, then has fewer predicates, then comes first. Empty:
  /// none.
  [[nodiscard]] std::string better(std::size_t finding, const catalogue::Cause& cause,
                                   const catalogue::CauseRule& rule) const;

 private:
  struct Claim {
    const catalogue::Cause* cause = nullptr;
    const catalogue::CauseRule* rule = nullptr;
  };
  std::map<std::size_t, std::vector<Claim>> m_claims;
};

bool is_among(const std::vector<std::string>& words, std::string_view word);
/// The first of `words` that is in `present`; empty when none is.
std::string first_present(const std::vector<std::string>& words,
                          const std::vector<std::string>& present);

/// Why a kernel with the techniques `present` cannot use it; empty: it can. An absent architecture
/// excludes nothing; an empty one supports no technique that requires one.
std::string exclusion(const catalogue::Technique& technique,
                      const std::vector<std::string>& present,
                      std::optional<std::string_view> architecture);

/// Sums a technique's expected gain over problems: the catalogue's range where it helps, limited by
/// the distance to the roofline, and 1 elsewhere.
class SuiteGain {
 public:
  /// `calibration`: the share of predicted logarithms that was measured so far; it moves the
  /// expected gain within the catalogue's range. `measured`: logarithms of isolated trials, which
  /// count beside that expectation, each as much as it, and widen the range.
  explicit SuiteGain(const catalogue::Technique& technique, double calibration = 1,
                     const std::vector<double>& measured = {});
  /// Adds a problem on which it has no effect.
  void add_untouched(double weight) { m_weight += weight; }
  /// Adds a problem on which it helps; without `room_ratio` the distance to its bound is unknown.
  void add_helped(double weight, std::optional<double> room_ratio);
  /// The geometric mean over the suite; nothing when the suite has no weight.
  [[nodiscard]] std::optional<GainRange> mean() const;
  /// The gain on a single problem that it helps, without a limit by its bound.
  [[nodiscard]] GainRange alone() const;
  [[nodiscard]] double weight() const { return m_weight; }
  [[nodiscard]] double helped() const { return m_helped; }

 private:
  double m_low, m_middle, m_high;  // logarithms
  double m_low_sum = 0, m_middle_sum = 0, m_high_sum = 0, m_weight = 0, m_helped = 0;
};

}  // namespace wb::advise
