// SPDX-License-Identifier: MIT
// Story: a session's view made event by event, as short as a test wants it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "session/view.hpp"

namespace wb::test {

inline constexpr const char* k_small = "B=1 Hq=4 Hkv=4 Sq=64 Skv=64 D=64 f16 causal=none";
inline constexpr const char* k_large = "B=8 Hq=4 Hkv=4 Sq=512 Skv=512 D=64 f16 causal=none";

/// One comparison; the interval is the speedup within a factor of 1.01, unless it is given.
struct Beside {
  std::string problem, candidate, against;
  double speedup = 1;
  std::string outcome = {};  ///< by the speedup: above 1.01 faster, below 0.99 slower, else same
  std::string phase = "confirmation", role = "incumbent", regime = {};
  double spread = 1.01;  ///< 0: no figure
};

class Story {
 public:
  /// A suite of `small` and `large`, the start and one rival.
  explicit Story(const std::string& start = "base@1", const std::string& rule = "geomean_speedup");

  /// Marks a problem as held out; before the baseline.
  Story& hold_out(const std::string& problem);
  /// Closes the baseline; comparisons with rivals follow by add(0, …).
  Story& baseline();
  /// An iteration that closed so ("win", "no_gain", "invalid", "abandoned").
  Story& iteration(std::int64_t number, const std::string& label, const std::string& outcome);
  /// The comparison, in an iteration or outside; returns its event.
  std::int64_t add(std::optional<std::int64_t> iteration, const Beside& beside);
  /// A verdict on the subject.
  Story& judge(std::optional<std::int64_t> iteration, const std::string& subject,
               const std::string& problem, const std::string& outcome = "pass",
               const std::string& proof = "whole");
  Story& close();
  /// Passes for all subjects and problems that comparisons name, where nothing was judged.
  [[nodiscard]] session::SessionView view() const;

 private:
  session::IterationView& part(std::optional<std::int64_t> iteration);
  session::Fact fact(Json payload);
  session::SessionView m_view;
};

}  // namespace wb::test
