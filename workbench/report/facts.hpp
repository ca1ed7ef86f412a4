// SPDX-License-Identifier: MIT
// Shared by report and html: facts about a session beyond single events, computed once in linear
// time: which figures may be the result, which rivals may be named, and each iteration's outcome.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fwd.hpp"
#include "measure/conditions.hpp"
#include "problem/suite.hpp"
#include "report/fields.hpp"
#include "session/list_prices.hpp"
#include "session/view.hpp"

namespace wb::report {

/// The tool of profile_taken events that name kernels.
inline constexpr std::string_view k_kernel_names_tool = "torch.profiler";

/// One regime's result of a comparison that was measured in both regimes.
struct RegimeFigure {
  std::string regime, outcome;
  Ratio ratio;
};

/// One comparison_made event.
struct Compared {
  std::int64_t seq = 0;
  std::string phase, problem, plan, candidate, against, outcome, reason;  ///< problem "": objective
  std::string regime;  ///< of a hot comparison outside iterations; "": the objective's, or unknown
  bool against_rival = false;
  Ratio ratio;
  std::optional<double> candidate_us, against_us, noise_floor_frac, resolution_frac;
  std::optional<std::int64_t> instances, rounds;
  std::vector<std::string> flags;  ///< of its turns, if the log has them
  bool has_flags = false;
  /// Results in burst and sustained, if both were measured; the ratio above combines them.
  std::vector<RegimeFigure> regimes;
  /// The result of first calls on fresh inputs and its figure; "": none.
  std::string fresh_state;
  Ratio fresh;
  /// GPU conditions in each side's turns, from the log; null on a CPU and in older logs. Points
  /// into the event, since only tables read it, and not all of a long session's.
  const Json* conditions = nullptr;
};

/// The comparisons of one iteration by what they compare. Of repeated ones the later phase counts
/// (confirmation before baseline before selection), then the later event.
class ComparisonIndex {
 public:
  explicit ComparisonIndex(const session::IterationView& iteration);
  /// against: the rival's name, empty for the incumbent. problem empty: the objective. nullptr:
  /// none.
  [[nodiscard]] const Compared* find(const std::string& against, const std::string& problem,
                                     const std::string& plan) const;
  [[nodiscard]] const std::vector<Compared>& all() const { return m_all; }

 private:
  struct Key {
    std::string against, problem, plan;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  std::vector<Compared> m_all;
  std::map<Key, std::size_t> m_best;
};

struct SuiteEntry {
  std::string problem,
      name;  ///< text form; what pages call it: the suite's name, else a short form
  double weight = 1;
  bool held_out = false;
  std::optional<double> share_frac = {};  ///< of the profiled program's time
};

/// The verdicts on one subject and problem in one iteration.
struct Judged {
  bool passed = false, failed = false;
};

struct RivalFacts {
  std::string name;
  std::string version;            ///< "torch 2.13.0", or a note that it was not recorded
  std::string versions;           ///< all reported versions: "torch 2.13.0, python 3.11.2"
  std::int64_t version_seq = 0;   ///< the event with the versions; 0: not recorded
  std::set<std::string> passed;   ///< problems; a failed verdict outweighs a passed one
  std::set<std::string> failed;   ///< problems; a failing verdict outweighs a passing one
  std::set<std::string> refused;  ///< problems that it does not support
  /// profile_taken events that name the kernels of one call, the last per problem.
  std::vector<const session::Fact*> kernels;
  std::string failure;                                           ///< message of the first failure
  std::int64_t failure_seq = 0, built_seq = 0, refusal_seq = 0;  ///< refusal_seq: the first refusal
  bool built = true;
  bool whole_suite = false;  ///< passed on every problem of the suite that is not held out
  /// True when its time on this problem may be used in a comparison. The objective ("") needs the
  /// whole suite.
  [[nodiscard]] bool stands(const std::string& problem) const;
};

enum class IterationOutcome { open, baseline, win, no_gain, invalid, abandoned };
std::string_view to_string(IterationOutcome value);  ///< as people read it: "no gain"

struct Facts {
  explicit Facts(const session::SessionView& session_view);

  const session::SessionView& view;
  session::Prices prices;          ///< the session's rates, else list prices
  std::string rule, plan, regime;  ///< of the objective
  std::vector<SuiteEntry> suite;
  const session::IterationView* baseline = nullptr;  ///< the last one; nullptr before it opened
  const session::IterationView* holder = nullptr;    ///< made the incumbent; the baseline at first
  std::vector<const session::IterationView*> wins;   ///< in order
  std::vector<const session::IterationView*> tries;  ///< iterations after the baseline
  std::map<std::string, RivalFacts> rivals;          ///< by kernel name, without "@" and hash
  std::string start;                                 ///< label of the start, else its kernel's name
  std::vector<std::string> plans;  ///< the objective's first, then other measured ones
  /// Hides shapes of held-out problems while somebody may still tune on them.
  bool hide_held_out = true;

  /// The name of a problem on pages: suite name, else a short form of its text; "held-out 1" while
  /// hidden.
  [[nodiscard]] std::string title(const std::string& problem) const;
  /// Recorded text in readable() numbers, in which each problem of the suite is replaced by its
  /// title.
  [[nodiscard]] std::string words(std::string said) const;
  [[nodiscard]] bool is_held_out(const std::string& problem) const;
  /// "hot burst" for the objective's plan, else the plan's word.
  [[nodiscard]] std::string plan_label(const std::string& plan) const;
  /// True when the subject is a rival, not a candidate, in this iteration.
  [[nodiscard]] bool is_rival(const session::IterationView& iteration,
                              const std::string& subject) const;
  /// By name or label; nullptr when it is no rival.
  [[nodiscard]] const RivalFacts* find_rival(const std::string& subject) const;
  /// True for a rival that does not support the problem.
  [[nodiscard]] bool has_refused(const std::string& subject, const std::string& problem) const;

 private:
  void read_suite();
  void sort_iterations();
  void find_rivals();
  void note_rival_build(const session::Fact& built);
  void note_rival_verdict(const session::Fact& verdict);
  void note_rival_kernels(const session::Fact& profile);
  static void note_versions(RivalFacts& facts, const session::Fact& fact);
  RivalFacts& rival(const std::string& subject);
  std::map<std::string, std::size_t> m_suite_index;
};

/// The label of the iteration's own variant in comparisons; before it is built, the label in
/// iteration_opened.
std::string candidate_label(const session::IterationView& iteration);
/// The last build of that variant; nullptr if none.
const session::Fact* candidate_build(const session::IterationView& iteration);
IterationOutcome outcome_of(const session::IterationView& iteration);
/// The log's word for the outcome ("no_gain"); "open" before it closes.
std::string outcome_word(const session::IterationView& iteration);
/// Why it is invalid or abandoned: the closing message, else that of the first failure.
std::string failure_message(const session::IterationView& iteration);
std::string invalidity_of(const session::IterationView& iteration);
/// The objective's figure of an iteration over its incumbent, confirmed if possible.
const Compared* objective_figure(const Facts& facts, const ComparisonIndex& index,
                                 const std::string& plan);
/// The valid noise floors, one per problem and plan: the last used one.
std::vector<const session::Fact*> floors_in_use(const Facts& facts);
/// "cpu_tiled" for "cpu_tiled@1f0c44aa".
std::string_view base_name(std::string_view subject);
/// "TILE_M=32 TILE_N=64"; empty without parameters.
std::string configuration_text(const Json& configuration);
/// Seq of each fact.
std::vector<std::int64_t> seqs(const std::vector<session::Fact>& facts);

// The names of problems, as all sections call them.
using problem::output_elements;
using problem::short_name;

}  // namespace wb::report
