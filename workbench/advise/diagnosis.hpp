// SPDX-License-Identifier: MIT
// Why a kernel is slow: the causes of the catalogue held against findings. Each is supported,
// refuted or undecided, quotes what says so, names what would decide it, and tells what its
// remedies should gain. A pure function; who calls: the engine, of a session's log or of files.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "catalogue/causes.hpp"
#include "measure/finding.hpp"

namespace wb::advise {

/// One problem that the subject is wanted fast on.
struct PatientProblem {
  problem::Problem problem;
  double weight = 1;
};

/// What is diagnosed.
struct Patient {
  std::string subject;       ///< label; findings of others are evidence only for rules about others
  std::string backend;       ///< "cpu" or "cuda"; empty: not known, every cause is asked
  std::string architecture;  ///< "sm_90"; empty: not known
  std::string plan;          ///< of the objective: "hot", "cold", "eager"
  std::vector<std::string> techniques;   ///< that it has
  std::vector<PatientProblem> problems;  ///< empty: those that findings name, alike
};

/// One finding that speaks for or against a cause.
struct CauseEvidence {
  bool supports = false;
  catalogue::RuleStrength strength = catalogue::RuleStrength::strong;
  std::string analysis, statement, problem;  ///< problem: label; empty: of no single one
  std::string by;                            ///< the figures that decide: "units_frac 0.06 < 0.75"
  std::vector<std::int64_t> events;
};

/// Speedups over the suite; 1 on the problems where the cause is not (or surely not) at work.
struct GainRange {
  double low = 1, expected = 1, high = 1;
};

struct Diagnosis {
  const catalogue::Cause* cause = nullptr;
  measure::HypothesisState state =
      measure::HypothesisState::undecided;  ///< supported, refuted or undecided
  /// Of the evidence that decides; nothing while undecided.
  std::optional<catalogue::RuleStrength> strength;
  std::vector<std::string> where;  ///< labels of the problems on which it is supported
  double share_frac = 0;  ///< of the suite's weight: supported there; refuted: refuted there
  std::vector<CauseEvidence> evidence;  ///< strongest first, k_most_evidence of each side at most
  std::int64_t evidence_left_out = 0;
  bool is_contradictory = false;      ///< undecided because evidence of one strength says both
  std::vector<std::string> remedies;  ///< techniques that would help and are not there, best first
  /// Of the best remedy: the catalogue's range, on no problem beyond the room its bound leaves. Of
  /// an undecided cause: if it were so. Nothing where refuted or without a remedy.
  std::optional<GainRange> gain;
};
inline constexpr std::size_t k_most_evidence = 3;

/// Supported causes first, by the expected logarithm of the gain (half of it where the evidence is
/// weak), then undecided ones likewise, then refuted ones in the order of the catalogue. Causes of
/// another backend or kind of problem are left out. The catalogues must outlive the result.
///
/// Problem by problem the stronger evidence counts; of one strength for and against, none. A cause
/// of a kernel is decided by evidence on any problem, others are supported where one problem's is,
/// and refuted where those of half the suite's weight are and no other evidence is left open.
std::vector<Diagnosis> diagnose(const std::vector<catalogue::Cause>& causes,
                                const std::vector<catalogue::Technique>& techniques,
                                const Patient& patient,
                                const std::vector<measure::Finding>& findings);

/// Techniques that remedy a supported cause -> ids of those causes, most important first.
std::map<std::string, std::vector<std::string>> remedied_by(
    const std::vector<Diagnosis>& diagnoses);

Json to_json(const Diagnosis& diagnosis);

}  // namespace wb::advise
