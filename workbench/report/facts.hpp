// SPDX-License-Identifier: MIT
// Shared by report and html: what the pages need to know about a session beyond single events,
// found out once and in linear time: which figures may stand for the result, which rivals may be
// named, what each iteration came to.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "measure/conditions.hpp"
#include "report/fields.hpp"
#include "session/view.hpp"

namespace wb::report {

/// The tool of profile_taken events that name kernels.
inline constexpr std::string_view k_kernel_names_tool = "torch.profiler";

/// What one regime says of a comparison that both regimes were measured for.
struct RegimeFigure {
  std::string regime, outcome;
  Ratio ratio;
};

/// One comparison_made event.
struct Compared {
  std::int64_t seq = 0;
  std::string phase, problem, plan, candidate, against, outcome, reason;  ///< problem "": objective
  std::string regime;  ///< of a hot one outside iterations; "": the objective's, or not known
  bool against_rival = false;
  Ratio ratio;
  std::optional<double> candidate_us, against_us, noise_floor_frac, resolution_frac;
  std::optional<std::int64_t> instances, rounds;
  std::vector<std::string> flags;  ///< of its turns, where the log says so
  bool has_flags = false;
  /// In burst and sustained, where the log says that both were measured; the ratio above is what
  /// they come to.
  std::vector<RegimeFigure> regimes;
  /// What first calls on fresh inputs say of a gain, and with which figure; "": nothing.
  std::string fresh_state;
  Ratio fresh;
  /// What the GPU was doing in the turns of each side, as the log has it; null on a CPU and in
  /// older logs. It points into the event: only tables read it, and not all of a long session's.
  const Json* conditions = nullptr;
};

/// The comparisons of one iteration by what they compare; where one was made twice, the later phase
/// stands (confirmation before baseline before selection), then the later event.
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

/// What verdicts said about one subject on one problem, in one iteration.
struct Judged {
  bool passed = false, failed = false;
};

struct RivalFacts {
  std::string name;
  std::string version;            ///< "torch 2.13.0", or that it was not recorded
  std::string versions;           ///< all it said of itself: "torch 2.13.0, python 3.11.2"
  std::int64_t version_seq = 0;   ///< where; 0: not recorded
  std::set<std::string> passed;   ///< problems
  std::set<std::string> failed;   ///< problems; a failing verdict outweighs a passing one
  std::set<std::string> refused;  ///< problems that it says it does not take
  /// profile_taken events that name the kernels of one call, the last of each problem.
  std::vector<const session::Fact*> kernels;
  std::string failure;                                           ///< the first failure's words
  std::int64_t failure_seq = 0, built_seq = 0, refusal_seq = 0;  ///< refusal: the first
  bool built = true;
  bool whole_suite = false;  ///< passed on every problem of the suite that is not held out
  /// May its time on this problem stand in a comparison? The objective ("") needs the whole suite.
  [[nodiscard]] bool stands(const std::string& problem) const;
};

enum class IterationOutcome { open, baseline, win, no_gain, invalid, abandoned };
std::string_view to_string(IterationOutcome value);  ///< as people read it: "no gain"

struct Facts {
  explicit Facts(const session::SessionView& session_view);

  const session::SessionView& view;
  std::string rule, plan, regime;  ///< of the objective
  std::vector<SuiteEntry> suite;
  const session::IterationView* baseline = nullptr;  ///< the last one; nullptr before it opened
  const session::IterationView* holder =
      nullptr;  ///< that made the incumbent; the baseline at first
  std::vector<const session::IterationView*> wins;   ///< in order
  std::vector<const session::IterationView*> tries;  ///< iterations after the baseline
  std::map<std::string, RivalFacts> rivals;          ///< by kernel name, without "@" and hash
  std::string start;                                 ///< label of the start, else its kernel's name
  std::vector<std::string> plans;                    ///< the objective's first, then those measured
  /// Shapes of held-out problems stay hidden until nobody can tune on them any more.
  bool hide_held_out = true;

  /// What pages call a problem: suite name, else a short form of its text; "held-out 1" while
  /// hidden.
  [[nodiscard]] std::string title(const std::string& problem) const;
  /// Recorded words with each text of a problem of the suite replaced by its title.
  [[nodiscard]] std::string words(std::string said) const;
  [[nodiscard]] bool is_held_out(const std::string& problem) const;
  /// "hot burst" for the objective's plan, else the plan's word.
  [[nodiscard]] std::string plan_label(const std::string& plan) const;
  /// The subject is a rival, not a candidate, in this iteration.
  [[nodiscard]] bool is_rival(const session::IterationView& iteration,
                              const std::string& subject) const;
  /// By name or label; nullptr when it is none.
  [[nodiscard]] const RivalFacts* find_rival(const std::string& subject) const;
  /// The subject is a rival that says that it does not take the problem.
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

/// What comparisons call the iteration's own variant; before it is built, what iteration_opened
/// does.
std::string candidate_label(const session::IterationView& iteration);
/// The last build of that variant; nullptr before.
const session::Fact* candidate_build(const session::IterationView& iteration);
IterationOutcome outcome_of(const session::IterationView& iteration);
/// The log's word for it ("no_gain"), "open" before it closes.
std::string outcome_word(const session::IterationView& iteration);
/// Why it is invalid or abandoned: the closing message, else the first failure's.
std::string failure_message(const session::IterationView& iteration);
std::string invalidity_of(const session::IterationView& iteration);
/// The objective's figure of an iteration over its incumbent: confirmed where there is one.
const Compared* objective_figure(const Facts& facts, const ComparisonIndex& index,
                                 const std::string& plan);
/// The noise floors that stand, one a problem and plan: the last that was used.
std::vector<const session::Fact*> floors_in_use(const Facts& facts);
/// "cpu_tiled" of "cpu_tiled@1f0c44aa".
std::string_view base_name(std::string_view subject);
/// "TILE_M=32 TILE_N=64"; empty without parameters.
std::string configuration_text(const Json& configuration);
/// Seq of each fact.
std::vector<std::int64_t> seqs(const std::vector<session::Fact>& facts);

}  // namespace wb::report
