// SPDX-License-Identifier: MIT
// The comparisons of a session as ratios between subjects, by problem, plan and regime. Private to
// the module outcome.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json_fwd.hpp"
#include "outcome/outcome.hpp"

namespace wb::outcome {

// Tolerant reads: what is missing or of another type counts as absent.
const Json& member(const Json& json, std::string_view key);
std::string text(const Json& json, std::string_view key);
std::optional<double> number(const Json& json, std::string_view key);

/// "cpu_tiled" for "cpu_tiled@1f0c44aa".
std::string_view base_name(std::string_view label);

/// The last comparison of two subjects, as ln of (time of the second over that of the first).
struct Edge {
  int rank = 0;  ///< of its phase
  std::int64_t seq = 0;
  bool has_figure = false;
  double log = 0, low = 0, high = 0, confidence = 0.99, floor_frac = 0;
  measure::ComparisonOutcome outcome = measure::ComparisonOutcome::ambiguous;
};

/// All comparisons on one problem under one plan and regime.
class Row {
 public:
  void add(const std::string& first, const std::string& second, const Edge& edge);
  void note_time(const std::string& subject, std::optional<double> time_us);
  /// The first subject over the second; nothing when no comparison leads from one to the other.
  /// Ways through rivals are taken only where there is no other.
  [[nodiscard]] std::optional<Figure> figure(const std::string& first, const std::string& second,
                                             const std::set<std::string>& rivals) const;
  /// The comparison of the two in the same turns; nullptr when there is none.
  [[nodiscard]] const Edge* direct(const std::string& first, const std::string& second) const;
  [[nodiscard]] std::set<std::string> subjects() const;
  [[nodiscard]] std::optional<double> time_us(const std::string& subject) const;
  /// Removes a subject with its comparisons.
  void remove(const std::string& subject);

 private:
  std::map<std::pair<std::string, std::string>, Edge> m_edges;  ///< first < second
  std::map<std::string, double> m_times_us;
};

/// problem "": the objective over the suite. regime "": no hot plan, or not known.
struct RowKey {
  std::string problem, plan, regime;
  friend auto operator<=>(const RowKey&, const RowKey&) = default;
};

/// Problems with a whole pass, and with a failure; drawn runs count for their problem.
struct Verdicts {
  std::set<std::string> passed, failed;
};

/// What a session measured, with only those subjects that stand.
struct Measured {
  explicit Measured(const session::SessionView& view);

  std::string start, incumbent, rule, plan, regime, objective_problem;
  std::size_t iterations = 0;
  std::set<std::string> rivals;               ///< kernel names
  std::map<std::string, Verdicts> verdicts;   ///< by label; rivals by name
  std::map<std::string, std::int64_t> built;  ///< the last event, by label of a variant
  std::map<RowKey, Row> rows;

  /// A rival's kernel name, else the label.
  [[nodiscard]] std::string subject(const std::string& label) const;
  [[nodiscard]] bool is_rival(const std::string& subject) const { return rivals.contains(subject); }
  /// True when its times on the problem may be used. The objective ("") needs that nothing failed.
  [[nodiscard]] bool stands(const std::string& subject, const std::string& problem) const;

 private:
  void find_rivals(const session::SessionView& view);
  /// Over a suite of one problem the objective is that problem. Older logs compare only the former.
  void name_only_problem(const Json& suite);
  void read_verdicts(const session::IterationView& part);
  void read_comparison(const session::Fact& fact, bool is_outside);
};

}  // namespace wb::outcome
