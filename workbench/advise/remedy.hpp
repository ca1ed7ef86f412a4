// SPDX-License-Identifier: MIT
// Private to advise: a technique of the catalogue held against a kernel: whether it can be taken
// there at all, and what it should bring over a suite. The roadmap and the remedies of causes
// both ask it, so that neither advises what the other excludes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "advise/diagnosis.hpp"
#include "catalogue/techniques.hpp"

namespace wb::advise {

/// A gain below this is not worth a step of its own.
inline constexpr double k_least_expected = 1.005;
/// Of the logarithm of a gain, in an order by merit, where the evidence for it is weak.
inline constexpr double k_weak_merit = 0.5;

bool is_among(const std::vector<std::string>& words, std::string_view word);
/// The first of `words` that is among `present`; empty when none is.
std::string first_present(const std::vector<std::string>& words,
                          const std::vector<std::string>& present);

/// Why a kernel with the techniques `present` cannot take it; empty: it can. An architecture that
/// is not given excludes nothing, an empty one is one that nothing is known to run on.
std::string exclusion(const catalogue::Technique& technique,
                      const std::vector<std::string>& present,
                      std::optional<std::string_view> architecture);

/// Adds up, problem by problem, what a technique should bring: the catalogue's range where it
/// helps, within the room that the roofline leaves, and 1 elsewhere.
class SuiteGain {
 public:
  /// `calibration`: the share of a predicted logarithm that came true so far; it moves the
  /// expected gain, but not out of the catalogue's range.
  explicit SuiteGain(const catalogue::Technique& technique, double calibration = 1);
  /// A problem that it does nothing for.
  void add_untouched(double weight) { m_weight += weight; }
  /// One that it helps; no `room_ratio`: how far its bound is, is not known.
  void add_helped(double weight, std::optional<double> room_ratio);
  /// The geometric mean over the suite; nothing where the suite has no weight.
  [[nodiscard]] std::optional<GainRange> mean() const;
  /// As if it were all on one problem that it helps, with any room.
  [[nodiscard]] GainRange alone() const;
  [[nodiscard]] double weight() const { return m_weight; }
  [[nodiscard]] double helped() const { return m_helped; }

 private:
  double m_low, m_middle, m_high;  // logarithms
  double m_low_sum = 0, m_middle_sum = 0, m_high_sum = 0, m_weight = 0, m_helped = 0;
};

}  // namespace wb::advise
