// SPDX-License-Identifier: MIT
// Why a kernel is slow: decides the catalogue's causes by findings. Each cause is supported,
// refuted or undecided, with its evidence, what would decide it, and the gain of its remedies. A
// pure function; the engine calls it with findings from a session's log or from files.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "advise/measurement.hpp"
#include "catalogue/causes.hpp"
#include "core/json_fwd.hpp"
#include "measure/finding.hpp"

namespace wb::advise {

/// One problem on which the subject should be fast.
struct TargetProblem {
  problem::Problem problem;
  double weight = 1;
  int urgency = 0;  ///< 0 first: causes at work there are told before those of other problems
  /// Problems that are decided together: "lost to a rival, memory-bound". Those of one group have
  /// one urgency. Empty: none.
  std::string group = {};
  /// Another variant that is dispatched there: then the subject's causes are not asked for on it.
  std::string served_by = {};
};

/// The subject to diagnose.
struct Target {
  std::string subject;       ///< label; findings about others count only for rules about others
  std::string backend;       ///< "cpu" or "cuda"; empty: unknown, all causes are considered
  std::string architecture;  ///< "sm_90"; empty: unknown
  std::string plan;          ///< of the objective: "hot", "cold", "eager"
  std::vector<std::string> techniques;  ///< techniques of the subject
  std::vector<TargetProblem> problems;  ///< empty: all problems in the findings, with equal weight
  /// False: nothing was measured beside the subject, so causes about others cannot be at work.
  bool has_others = true;
  bool has_machine_code = true;  ///< false: of Python, no build gives its code
};

/// One finding for or against a cause.
struct CauseEvidence {
  bool supports = false;
  catalogue::RuleStrength strength = catalogue::RuleStrength::strong;
  std::string analysis, statement, problem;  ///< problem: label; empty: no single one
  std::string by;                            ///< the deciding figures: "units_frac 0.06 < 0.75"
  std::vector<std::int64_t> events;
  /// The cause that this observation separates better, where it supports that one too; else empty.
  std::string shared_with = {};
};

/// Speedups over the suite; 1 on problems where the cause does not apply or is undecided.
struct GainRange {
  double low = 1, expected = 1, high = 1;
};

/// What a cause comes to on the problems of one group.
struct GroupState {
  std::string group;
  std::vector<std::string> problems;  ///< labels, those that the cause can concern
  measure::HypothesisState state =
      measure::HypothesisState::undecided;  ///< by the same rules as the whole suite's
  std::size_t supported = 0;                ///< problems on which it is
};

struct Diagnosis {
  const catalogue::Cause* cause = nullptr;
  measure::HypothesisState state =
      measure::HypothesisState::undecided;  ///< supported, refuted or undecided
  /// Strength of the deciding evidence; nothing while undecided.
  std::optional<catalogue::RuleStrength> strength;
  /// Why it cannot be at work here (another backend, no such problem); it is refuted then. Else "".
  std::string not_applicable;
  std::vector<std::string> where;  ///< labels of the problems on which it is supported
  std::vector<GroupState> groups;  ///< the most urgent first; empty where no problem has a group
  int urgency = 0;                 ///< the least of those problems
  double share_frac = 0;  ///< of the suite's weight: where it is supported or, if refuted, refuted
  std::vector<CauseEvidence> evidence;  ///< strongest first, at most k_most_evidence per side
  std::int64_t evidence_left_out = 0;
  bool is_contradictory = false;  ///< undecided because evidence of equal strength disagrees
  /// While undecided: what would decide it, on the most urgent problem where it is open.
  std::optional<DecidingMeasurement> decided_by;
  std::vector<std::string> remedies;  ///< helpful techniques that the subject lacks, best first
  /// Gain of the best remedy: the catalogue's range, limited on each problem by the distance to its
  /// bound. For an undecided cause: the gain if it applied. Nothing when refuted or without a
  /// remedy.
  std::optional<GainRange> gain;
  /// The same on the problems where it is at work (or may be) alone: a mean over the suite is the
  /// gain of no problem.
  std::optional<GainRange> gain_there;
  /// All that supports it supports another cause better.
  bool is_only_shared = false;
};
inline constexpr std::size_t k_most_evidence = 3;

/// Supported causes first, those on urgent problems before others, those with an observation of
/// their own before others, then by the expected logarithm of the gain (halved unless the evidence
/// is strong), then undecided ones, then refuted ones in catalogue order. Causes of another backend
/// or kind of problem are refuted as not applicable and come last. The catalogues must outlive the
/// result.
///
/// On each problem the stronger evidence counts; equal strength for and against decides nothing. A
/// cause with scope kernel is decided by evidence on any problem. Others are supported if supported
/// on one problem, and refuted if refuted on half the suite's weight, and on each group of lost
/// problems, with no undecided evidence left. Each group of problems is decided likewise. A finding
/// is about a problem if it has its label or its text form.
///
/// One observation proves one cause: where a figure of a finding supports several, the rule that is
/// stronger, then has fewer predicates, then comes first in the registry keeps its strength, and
/// for the others it is weak at most. What refutes a kernel's cause on problems of the suite holds
/// for those with the same bound.
std::vector<Diagnosis> diagnose(const std::vector<catalogue::Cause>& causes,
                                const std::vector<catalogue::Technique>& techniques,
                                const Target& target,
                                const std::vector<measure::Finding>& findings);

/// Techniques that remedy a supported cause -> ids of those causes, most important first.
std::map<std::string, std::vector<std::string>> remedied_by(
    const std::vector<Diagnosis>& diagnoses);

Json to_json(const Diagnosis& diagnosis);

}  // namespace wb::advise
