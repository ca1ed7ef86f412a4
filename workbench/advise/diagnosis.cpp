// SPDX-License-Identifier: MIT
#include "advise/diagnosis.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "advise/remedy.hpp"
#include "core/json.hpp"
#include "core/json_fields.hpp"

namespace wb::advise {

using catalogue::Cause;
using catalogue::CauseRule;
using catalogue::RuleStrength;
using catalogue::Technique;
using measure::Finding;
using measure::HypothesisState;

namespace {

constexpr double k_refuting_share = 0.5;  ///< of the suite's weight
constexpr int k_lost_urgency = 1;         ///< of groups that lost to a rival or to the start

std::string figures_of(const CauseRule& rule, const Finding& finding) {
  std::string words;
  for (const catalogue::FigurePredicate& predicate : rule.when) {
    words += (words.empty() ? "" : ", ") + catalogue::words_of(predicate, finding.figures);
  }
  return words;
}

/// The evidence on one problem: the strongest on each side.
struct EvidenceBalance {
  std::optional<RuleStrength> supported, refuted;
  [[nodiscard]] HypothesisState state() const {
    if (supported == refuted)
      return HypothesisState::undecided;  // none, or equal strength on both sides
    if (!supported) return HypothesisState::refuted;
    if (!refuted) return HypothesisState::supported;
    return is_stronger(*supported, *refuted) ? HypothesisState::supported
                                             : HypothesisState::refuted;
  }
  [[nodiscard]] bool is_open() const {
    return supported && refuted && state() == HypothesisState::undecided;
  }
  void add(bool supports, RuleStrength strength) {
    std::optional<RuleStrength>& side = supports ? supported : refuted;
    if (!side || is_stronger(strength, *side)) side = strength;
  }
  void add(const EvidenceBalance& other) {
    if (other.supported) add(true, *other.supported);
    if (other.refuted) add(false, *other.refuted);
  }
};

struct ProblemEvidence {
  std::string label;
  double weight = 1;
  const problem::Problem* problem = nullptr;  ///< unknown when only findings name it
  double room_ratio = 0;                      ///< 0: unknown
  EvidenceBalance balance;
  int urgency = 0;
  std::string group, text;  ///< text: its form without a name, by which older findings know it
  /// What bounds it, as its group says: "memory-bound"; empty: not known.
  [[nodiscard]] std::string bound() const {
    const std::size_t at = group.find(", ");
    return at == std::string::npos ? std::string() : group.substr(at + 2);
  }
  [[nodiscard]] bool is_called(std::string_view name) const {
    return name == label || (!text.empty() && name == text);
  }
};

/// What problems together say of a cause.
struct Tally {
  double all = 0, supported = 0, refuted = 0;  ///< weights
  bool is_open = false;                        ///< equal evidence for and against, somewhere
  void add(const ProblemEvidence& row) {
    const HypothesisState state = row.balance.state();
    all += row.weight;
    is_open = is_open || row.balance.is_open();
    if (state == HypothesisState::supported) supported += row.weight;
    if (state == HypothesisState::refuted) refuted += row.weight;
  }
  [[nodiscard]] HypothesisState state() const {
    if (supported > 0) return HypothesisState::supported;
    const bool is_refuted = refuted > 0 && !is_open && refuted >= k_refuting_share * all;
    return is_refuted ? HypothesisState::refuted : HypothesisState::undecided;
  }
};

/// The target's problems, or those in the findings, with the distance to the roofline under the
/// objective's plan.
std::vector<ProblemEvidence> problem_evidence(const Target& target,
                                              const std::vector<Finding>& findings) {
  std::vector<ProblemEvidence> rows;
  for (const TargetProblem& one : target.problems) {
    if (!one.served_by.empty()) continue;
    rows.push_back({label(one.problem),
                    one.weight,
                    &one.problem,
                    0,
                    {},
                    one.urgency,
                    one.group,
                    to_text(one.problem)});
  }
  const auto find = [&](const std::string& name) {
    return std::find_if(rows.begin(), rows.end(),
                        [&](const ProblemEvidence& row) { return row.is_called(name); });
  };
  if (target.problems.empty()) {
    for (const Finding& finding : findings) {
      const bool is_new = !finding.problem.empty() && find(finding.problem) == rows.end();
      if (is_new) rows.push_back({finding.problem, 1, nullptr, 0, {}, 0, {}, {}});
    }
  }
  for (const Finding& finding : findings) {
    if (finding.analysis != "roofline_share" || !finding.figures.is_object()) continue;
    const bool is_ours = text_of(finding.figures, "subject") == target.subject &&
                         (target.plan.empty() || text_of(finding.figures, "plan") == target.plan);
    const auto room = finding.figures.find("headroom_ratio");
    const auto row = find(finding.problem);
    if (!is_ours || row == rows.end()) continue;
    if (room != finding.figures.end() && room->is_number() && room->get<double>() >= 1) {
      row->room_ratio = room->get<double>();
    }
  }
  return rows;
}

class Judge {
 public:
  Judge(const Cause& cause, const Target& target, std::vector<ProblemEvidence> rows,
        const Ownership& owners)
      : m_target(target), m_owners(owners), m_rows(std::move(rows)) {
    m_result.cause = &cause;
    std::erase_if(m_rows, [&](const ProblemEvidence& row) {
      return row.problem != nullptr && !catalogue::is_of(cause.kind, *row.problem);
    });
  }

  Diagnosis decide(const std::vector<Finding>& findings, const std::vector<Technique>& techniques) {
    for (const CauseRule& rule : m_result.cause->supported) take(rule, true, findings);
    for (const CauseRule& rule : m_result.cause->refuted) take(rule, false, findings);
    settle();
    keep_evidence();
    if (m_result.state != HypothesisState::refuted) add_remedies(techniques);
    return std::move(m_result);
  }

 private:
  /// The rows that a finding with these labels speaks of; `is_by_bound`: and those with the same
  /// bound, as what holds for one of them holds for the others.
  [[nodiscard]] std::vector<ProblemEvidence*> rows_of(const std::vector<std::string>& labels,
                                                      bool is_by_bound) {
    std::vector<ProblemEvidence*> rows;
    std::set<std::string> bounds;
    for (ProblemEvidence& row : m_rows) {
      const auto is_this = [&row](const std::string& name) { return row.is_called(name); };
      if (std::none_of(labels.begin(), labels.end(), is_this)) continue;
      rows.push_back(&row);
      bounds.insert(row.bound());
    }
    if (rows.empty() || !is_by_bound || bounds.contains("")) return rows;
    for (ProblemEvidence& row : m_rows) {
      const bool is_new = std::find(rows.begin(), rows.end(), &row) == rows.end();
      if (is_new && (row.bound().empty() || bounds.contains(row.bound()))) rows.push_back(&row);
    }
    return rows;
  }

  void take(const CauseRule& rule, bool supports, const std::vector<Finding>& findings) {
    const bool is_of_kernel = m_result.cause->scope == catalogue::CauseScope::kernel && !rule.here;
    for (std::size_t at = 0; at < findings.size(); ++at) {
      const Finding& finding = findings[at];
      if (!fits(rule, m_target, finding)) continue;
      const std::vector<std::string> labels = problems_of(rule, finding);
      if (labels.empty() && !rule.problems.empty()) continue;
      const std::vector<ProblemEvidence*> rows = rows_of(labels, is_of_kernel);
      const bool is_bounded = is_of_kernel && !supports && has_bounds(rows);
      const bool is_everywhere = labels.empty() || (is_of_kernel && !is_bounded);
      // Evidence on other problems says nothing about these.
      if (!is_everywhere && rows.empty()) continue;
      std::string shared = supports ? m_owners.better(at, *m_result.cause, rule) : std::string();
      const bool is_too_strong = !shared.empty() && rule.strength == RuleStrength::strong;
      const RuleStrength strength = is_too_strong ? RuleStrength::weak : rule.strength;
      if (is_everywhere) {
        m_all_problems.add(supports, strength);
      } else {
        for (ProblemEvidence* row : rows) row->balance.add(supports, strength);
      }
      m_result.evidence.push_back({supports, strength, finding.analysis, finding.statement,
                                   finding.problem, figures_of(rule, finding), finding.events,
                                   std::move(shared)});
    }
  }

  /// Whether what bounds these problems is known; else their evidence holds for all.
  static bool has_bounds(const std::vector<ProblemEvidence*>& rows) {
    return !rows.empty() && std::none_of(rows.begin(), rows.end(), [](const ProblemEvidence* row) {
      return row->bound().empty();
    });
  }

  void settle() {
    Tally whole;
    for (ProblemEvidence& row : m_rows) {
      row.balance.add(m_all_problems);
      whole.add(row);
      if (row.balance.state() != HypothesisState::supported) continue;
      m_result.urgency =
          m_result.where.empty() ? row.urgency : std::min(m_result.urgency, row.urgency);
      m_result.where.push_back(row.label);
    }
    if (m_rows.empty()) {
      whole.is_open = m_all_problems.is_open();
      whole.all = 1;
      whole.supported = m_all_problems.state() == HypothesisState::supported ? 1 : 0;
      whole.refuted = m_all_problems.state() == HypothesisState::refuted ? 1 : 0;
    }
    add_groups();
    m_result.state = whole.state();
    // A refutation from won problems does not stand for the lost ones.
    const bool is_open_where_lost =
        std::any_of(m_lost.begin(), m_lost.end(),
                    [](const Tally& group) { return group.state() == HypothesisState::undecided; });
    if (m_result.state == HypothesisState::refuted && is_open_where_lost) {
      m_result.state = HypothesisState::undecided;
    }
    if (m_result.state == HypothesisState::undecided) {
      m_result.is_contradictory = whole.is_open;
      m_result.decided_by = deciding_measurement(*m_result.cause, m_target, most_urgent_open());
      return;
    }
    const bool is_supported = m_result.state == HypothesisState::supported;
    m_result.is_only_shared =
        is_supported && std::none_of(m_result.evidence.begin(), m_result.evidence.end(),
                                     [](const CauseEvidence& one) {
                                       return one.supports && one.shared_with.empty();
                                     });
    m_result.share_frac = (is_supported ? whole.supported : whole.refuted) / whole.all;
    m_result.strength = strongest(is_supported);
  }

  [[nodiscard]] const problem::Problem* most_urgent_open() const {
    const ProblemEvidence* first = nullptr;
    for (const ProblemEvidence& row : m_rows) {
      const bool is_open =
          row.problem != nullptr && row.balance.state() == HypothesisState::undecided;
      if (is_open && (first == nullptr || row.urgency < first->urgency)) first = &row;
    }
    return first == nullptr ? nullptr : first->problem;
  }

  void add_groups() {
    std::vector<std::pair<int, std::string>> groups;
    for (const ProblemEvidence& row : m_rows) {
      if (!row.group.empty()) groups.emplace_back(row.urgency, row.group);
    }
    std::sort(groups.begin(), groups.end());
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    for (const auto& [urgency, name] : groups) {
      GroupState group{.group = name, .problems = {}};
      Tally tally;
      for (const ProblemEvidence& row : m_rows) {
        if (row.group != name || row.urgency != urgency) continue;
        tally.add(row);
        group.problems.push_back(row.label);
        group.supported += row.balance.state() == HypothesisState::supported ? 1 : 0;
      }
      group.state = tally.state();
      if (urgency <= k_lost_urgency) m_lost.push_back(tally);
      m_result.groups.push_back(std::move(group));
    }
  }

  [[nodiscard]] RuleStrength strongest(bool supports) const {
    RuleStrength best = RuleStrength::derived;
    for (const CauseEvidence& one : m_result.evidence) {
      if (one.supports == supports && is_stronger(one.strength, best)) best = one.strength;
    }
    return best;
  }

  /// Keeps the strongest on each side, the deciding side first.
  void keep_evidence() {
    const bool first = m_result.state != HypothesisState::refuted;
    const auto rank = [first](const CauseEvidence& one) {
      return 3 * (one.supports == first ? 0 : 1) + static_cast<int>(one.strength);
    };
    auto& all = m_result.evidence;
    std::stable_sort(all.begin(), all.end(), [&](const CauseEvidence& a, const CauseEvidence& b) {
      return rank(a) < rank(b);
    });
    std::size_t kept[2] = {0, 0};
    std::erase_if(all, [&](const CauseEvidence& one) {
      const bool is_too_much = ++kept[one.supports ? 1 : 0] > k_most_evidence;
      if (is_too_much) ++m_result.evidence_left_out;
      return is_too_much;
    });
  }

  /// True when the cause may apply on this problem: supported, or while undecided not refuted.
  [[nodiscard]] bool is_concerned(const ProblemEvidence& row) const {
    const HypothesisState state = row.balance.state();
    return m_result.state == HypothesisState::supported ? state == HypothesisState::supported
                                                        : state != HypothesisState::refuted;
  }

  /// Over the suite, or on the problems alone that the cause concerns.
  [[nodiscard]] std::optional<GainRange> gain_of(const Technique& technique,
                                                 bool is_there_only) const {
    SuiteGain gain(technique);
    for (const ProblemEvidence& row : m_rows) {
      const bool is_for_it =
          row.problem == nullptr || catalogue::is_of(technique.kind, *row.problem);
      if (!is_concerned(row) || !is_for_it) {
        if (!is_there_only) gain.add_untouched(row.weight);
      } else {
        gain.add_helped(row.weight,
                        row.room_ratio > 0 ? std::optional(row.room_ratio) : std::nullopt);
      }
    }
    if (m_rows.empty()) return gain.alone();
    return gain.helped() > 0 ? gain.mean() : std::nullopt;
  }

  [[nodiscard]] bool is_possible(const Technique& technique) const {
    const std::string& here = m_target.architecture;
    const bool is_of_backend =
        m_target.backend.empty() || is_among(technique.backends, m_target.backend);
    return is_of_backend &&
           exclusion(technique, m_target.techniques,
                     here.empty() ? std::nullopt : std::optional<std::string_view>(here))
               .empty();
  }

  void add_remedies(const std::vector<Technique>& techniques) {
    std::vector<std::pair<std::string, GainRange>> found;
    std::map<std::string, std::optional<GainRange>> there;
    for (const Technique& technique : techniques) {
      if (!is_among(m_result.cause->techniques, technique.name) || !is_possible(technique))
        continue;
      const auto gain = gain_of(technique, false);
      if (!gain || !(gain->expected >= k_least_expected)) continue;
      found.emplace_back(technique.name, *gain);
      there[technique.name] = gain_of(technique, true);
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
      return a.second.expected > b.second.expected;
    });
    for (const auto& [name, gain] : found) m_result.remedies.push_back(name);
    if (found.empty()) return;
    m_result.gain = found.front().second;
    m_result.gain_there = there[found.front().first];
  }

  const Target& m_target;
  const Ownership& m_owners;
  std::vector<ProblemEvidence> m_rows;
  std::vector<Tally> m_lost;  ///< the groups of lost problems
  EvidenceBalance m_all_problems;
  Diagnosis m_result;
};

int rank(const Diagnosis& diagnosis) {
  if (!diagnosis.not_applicable.empty()) return 3;
  if (diagnosis.state == HypothesisState::supported) return 0;
  return diagnosis.state == HypothesisState::refuted ? 2 : 1;
}

/// Why the cause cannot be at work on the target; empty: it can.
std::string inapplicability(const Cause& cause, const Target& target) {
  if (!target.backend.empty() && !is_among(cause.backends, target.backend)) {
    return "this cause exists on " + cause.backends.front() + " only, and this ran on " +
           target.backend;
  }
  const bool concerns_any =
      target.problems.empty() ||
      std::any_of(target.problems.begin(), target.problems.end(), [&](const TargetProblem& one) {
        return catalogue::is_of(cause.kind, one.problem);
      });
  if (!concerns_any) return "no problem of the suite has the dtype or sizes that it needs";
  const bool is_about_others =
      std::all_of(cause.supported.begin(), cause.supported.end(),
                  [](const CauseRule& rule) { return rule.about == catalogue::RuleAbout::others; });
  if (is_about_others && !target.has_others) return "nothing was measured beside it";
  return {};
}

Diagnosis not_applicable(const Cause& cause, std::string why) {
  Diagnosis result;
  result.cause = &cause;
  result.state = HypothesisState::refuted;
  result.strength = RuleStrength::strong;
  result.share_frac = 1;
  result.not_applicable = std::move(why);
  return result;
}

double merit(const Diagnosis& diagnosis) {
  if (diagnosis.state == HypothesisState::refuted || !diagnosis.gain) return 0;
  const double gain = std::log(diagnosis.gain->expected);
  return diagnosis.strength == RuleStrength::strong ? gain : k_weak_merit * gain;
}

}  // namespace

std::vector<Diagnosis> diagnose(const std::vector<Cause>& causes,
                                const std::vector<Technique>& techniques, const Target& target,
                                const std::vector<Finding>& findings) {
  const std::vector<ProblemEvidence> rows = problem_evidence(target, findings);
  std::vector<const Cause*> possible;
  for (const Cause& cause : causes) {
    if (inapplicability(cause, target).empty()) possible.push_back(&cause);
  }
  const Ownership owners(possible, target, findings);
  std::vector<Diagnosis> all;
  for (const Cause& cause : causes) {
    std::string why = inapplicability(cause, target);
    all.push_back(why.empty() ? Judge(cause, target, rows, owners).decide(findings, techniques)
                              : not_applicable(cause, std::move(why)));
  }
  std::stable_sort(all.begin(), all.end(), [](const Diagnosis& a, const Diagnosis& b) {
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    if (a.urgency != b.urgency) return a.urgency < b.urgency;
    return a.is_only_shared != b.is_only_shared ? b.is_only_shared : merit(a) > merit(b);
  });
  return all;
}

}  // namespace wb::advise
