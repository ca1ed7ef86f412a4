// SPDX-License-Identifier: MIT
// The value types that analyses, session and report share: Evidence (what was observed), Finding (a
// fact with its evidence) and Hypothesis (a predicted gain and its final state).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.hpp"
#include "device/device.hpp"
#include "measure/figures.hpp"
#include "measure/plan.hpp"
#include "problem/problem.hpp"

namespace wb::measure {

/// One observation on one problem, with the log events it rests on.
struct Observation {
  problem::Problem problem;
  std::string subject;
  PlanKind plan = PlanKind::hot;
  Measurement measurement;
  std::vector<std::int64_t> events;
  std::optional<GpuConditions> conditions = {};  ///< of its turns, on a GPU
};

/// Facts about one GPU kernel of a subject, from the compiler or from a profiled launch of one
/// call. What the source does not report is absent.
struct KernelFacts {
  std::string subject, kernel;
  std::string source;  ///< "ptxas", "ncu", "torch.profiler", "table", "graph" (recorded launches)
  /// The profiled call's; absent for facts of compiled code.
  std::optional<problem::Problem> problem;
  std::optional<std::int64_t> blocks, threads_per_block;
  std::string grid, block;                ///< as the tool prints them: "(8, 32, 1)"; else empty
  std::optional<std::int64_t> registers;  ///< per thread
  std::optional<std::int64_t> static_shared_bytes, dynamic_shared_bytes;  ///< per block
  std::optional<std::int64_t> blocks_per_unit;  ///< resident at once, as the driver says
  std::optional<double> share_frac;             ///< of the summed time of the call's kernels
  std::map<std::string, double> metrics;        ///< from ncu: "name [unit]" in base units
  std::vector<std::string> advice;              ///< from ncu's rules, in its words
  std::vector<std::int64_t> events;
};

/// A failed inspection: which tool, of which subject, and why there is no answer.
struct BlindSpot {
  std::string subject, source, reason;
  std::vector<std::int64_t> events;
};

/// How many blocks (or CPU tasks) a call has, as the launch rule of its kernel bounds them.
struct BlockBounds {
  std::int64_t least = 0, most = 0;
};

/// The whole input of an analysis. Analyses are pure: they see no session and no clock.
struct Evidence {
  device::Device device;
  std::vector<Observation> observations;
  /// Observations of other subjects in the same turns (rivals, the incumbent). A subject that is in
  /// both lists is the one that the others are compared with.
  std::vector<Observation> beside = {};
  double call_overhead_us = 0;  ///< time of an empty call through the same path, if measured
  std::vector<KernelFacts> kernels = {};
  std::vector<BlindSpot> blind_spots = {};
  /// By subject: those whose f32 products are split. Others run them on the units of f32.
  std::map<std::string, device::SplitProducts> split_products = {};
  /// By subject and text of the problem, where the kernel has a launch rule. Of a persistent grid
  /// they are the tiles that its blocks take in turn.
  std::map<std::pair<std::string, std::string>, BlockBounds> blocks_by_rule = {};
};

struct Finding {
  std::string analysis;   ///< name of the analysis ("roofline", "regime", …)
  std::string statement;  ///< one sentence with its figures
  std::string problem;    ///< label of the problem; empty: the whole suite
  Json figures;           ///< numbers by name, units in the names
  std::vector<std::int64_t> events;
  std::string unseen;  ///< what the analysis could not see; empty when nothing
};
Json to_json(const Finding& finding);
Result<Finding> finding_from_json(const Json& json);

enum class HypothesisState { open, supported, refuted, undecided };
std::string_view to_string(HypothesisState value);
std::optional<HypothesisState> parse_hypothesis_state(std::string_view word);

struct Hypothesis {
  std::string theory;            ///< why this change should help, one sentence
  double predicted_speedup = 0;  ///< ratio on the objective's figure, finite and > 0

  friend bool operator==(const Hypothesis&, const Hypothesis&) = default;
};
Json to_json(const Hypothesis& hypothesis);
/// Refuses an empty theory and a prediction that is not finite and > 0.
Result<Hypothesis> hypothesis_from_json(const Json& json);

struct HypothesisDecision {
  HypothesisState state = HypothesisState::open;
  std::string reason;
};
Json to_json(const HypothesisDecision& decision);
Result<HypothesisDecision> hypothesis_decision_from_json(const Json& json);

/// supported: faster, with the prediction inside or below the interval. refuted: faster, same or
/// slower, with the whole interval below the prediction, since only data that exclude a prediction
/// refute it. undecided: ambiguous, not faster with the prediction inside the interval, or no valid
/// measurement (none, or no finite interval).
HypothesisDecision decide(const Hypothesis& hypothesis, const std::optional<Comparison>& measured);

}  // namespace wb::measure
