// SPDX-License-Identifier: MIT
// The roadmap: what to try next, with expected gain and cost. It compares techniques of the
// catalogue, and ideas of the register, that the incumbent lacks with the incumbent's measurements
// and with what isolated trials of all sessions said. A pure function; the caller provides the
// logs' facts. Every figure comes from the catalogue (with its source) or from a log.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "advise/effects.hpp"
#include "catalogue/ideas.hpp"
#include "catalogue/techniques.hpp"
#include "core/json_fwd.hpp"

namespace wb::advise {

/// One problem of the suite with the incumbent's figures.
struct RoadmapProblem {
  problem::Problem problem;
  double weight = 1;
  std::string bound;                  ///< "launch", "latency", "memory", "compute"; empty: unknown
  std::optional<double> room_ratio;   ///< speedup up to its bound (analyze::time_bound()), >= 1
  std::string room_bound = {};        ///< what sets that: "an empty call of 0.52 us"
  std::optional<double> rival_ratio;  ///< its speed over the fastest rival's; below 1: slower
  std::vector<std::int64_t> events;   ///< the events of these figures
};

/// A prediction whose size was decided.
struct PastPrediction {
  double predicted = 1, measured = 1;  ///< speedups
  std::int64_t event = 0;
  std::string family = {};  ///< of the one technique or idea that was tried; empty: no single one
  bool is_own = true;       ///< of the session that advice is given on
};

/// The result of an iteration that added the technique to its parent.
struct PastAttempt {
  std::string technique;
  std::optional<double> speedup;
  bool won = false;
  std::int64_t event = 0;
  bool is_alone = true;  ///< nothing else changed
};

/// A cause that is undecided, and the measurement that would decide it.
struct PendingCause {
  std::string cause, title, command;
};

struct Situation {
  std::string incumbent;  ///< label
  std::string backend;    ///< "cpu" or "cuda"
  std::string architecture;
  std::string device;                                 ///< its name
  std::vector<std::string> techniques;                ///< of the incumbent in its configuration
  std::map<std::string, std::int64_t> configuration;  ///< the incumbent's
  /// Techniques that one parameter of the incumbent's kernel turns on -> "PADDING=16".
  std::map<std::string, std::string> switches;
  /// Techniques that another present kernel has -> that kernel's name.
  std::map<std::string, std::string> kernels_with;
  std::vector<catalogue::Idea> ideas;
  std::vector<Trial> trials;  ///< of all sessions, this one included
  std::vector<PendingCause> pending;
  std::vector<RoadmapProblem> problems;
  std::vector<PastPrediction> predictions;
  std::vector<PastAttempt> tries;
  /// Supported causes by remedying technique (remedied_by() of diagnosis.hpp).
  std::map<std::string, std::vector<std::string>> causes;
  double target_ratio = 1;  ///< wanted speed over the fastest rival, geometric mean over the suite
  std::optional<double> iteration_s;          ///< mean wall time of the iterations so far
  std::optional<double> device_usd_per_hour;  ///< the given rate, else a list price
  bool is_list_price = false;                 ///< it is a list price
};

/// Accuracy of past predictions: the share of the predicted logarithm that was measured.
struct Calibration {
  /// 1: as predicted; 0.5: a predicted 4x gave 2x. The median, drawn towards 1 as if
  /// k_least_predictions more had come true, so that a few say little; never below 0, since no
  /// technique is expected to do harm because others were overrated.
  double share = 1;
  std::optional<double> median;
  std::int64_t count = 0;            ///< number of predictions of a gain
  std::vector<std::int64_t> events;  ///< of the own session
};
inline constexpr std::int64_t k_least_predictions = 3;

enum class EvidenceStrength { strong, weak };
std::string_view to_string(EvidenceStrength value);

/// A technique of the catalogue, or an idea that is none of its own.
struct RoadmapEntry {
  const catalogue::Technique* technique = nullptr;  ///< an idea's: its id, title and source
  std::vector<std::string> ideas;                   ///< ids in the register
  std::string how;          ///< "PADDING=16", or the kernel that has it; empty: to be written
  double calibration = 1;   ///< exponent of its family
  Effect effect;            ///< of its isolated trials
  bool is_foreign = false;  ///< an idea of somebody else's pack
  /// Over the suite: the catalogue's range on problems whose bound it addresses, limited by their
  /// distance to it, and 1 on the others. expected: the geometric mean of the range, calibrated
  /// within it.
  double low = 1, expected = 1, high = 1;
  double share_frac = 0;  ///< of the suite's weight on which it should help
  EvidenceStrength strength = EvidenceStrength::weak;
  std::string why;
  std::vector<std::string> causes;  ///< ids of supported causes that it remedies
  std::vector<std::int64_t> events;
};

/// Why a technique of the backend, or an idea that fits, is not advised.
struct NotAdvised {
  std::string technique, reason;
  std::int64_t event = 0;  ///< 0: none
  bool is_loser = false;   ///< it lost in this scope, or a step without it won
  std::optional<double> expected = {};
};

/// Problems with one bound on which more than k_least_room is left.
struct RoomLeft {
  std::string bound;                  ///< empty: not known
  double room = 1;                    ///< geometric mean: to the bound or to the fastest rival
  std::string to;                     ///< what the largest of them leads to; empty: not known
  std::vector<std::string> problems;  ///< names, the largest room first
  std::vector<std::string> steps;     ///< entries that work against it
  std::vector<std::string> measure;   ///< commands that would decide what holds it
  std::string says;                   ///< one sentence
  std::vector<std::int64_t> events;
};
inline constexpr double k_least_room_left = 1.3;

/// A few steps, after which to reassess.
struct RoadmapStage {
  std::vector<std::string> techniques;
  double low = 1, expected = 1, high = 1;  ///< of all stages up to this one, limited by the bounds
  /// Speed over the fastest rival after this stage.
  std::optional<double> rival_low, rival_expected;
};

struct Roadmap {
  Calibration calibration;                      ///< over all predictions
  std::map<std::string, Calibration> families;  ///< of predictions with a single family
  std::vector<RoadmapEntry> entries;            ///< best first
  std::vector<RoomLeft> room;                   ///< largest first
  std::vector<NotAdvised> not_advised;
  std::vector<RoadmapStage> stages;
  std::optional<double> rival_ratio;  ///< present value, geometric mean over problems that have one
  double target_ratio = 1;
  /// The stage (from 1) whose expected figures reach the target; 0: reached already; nothing: no
  /// stage reaches it.
  std::optional<std::int64_t> reached_at_stage;
  double hours_low = 0, hours_high = 0;  ///< of all stages: the catalogue's estimates
  std::optional<double> measuring_s;     ///< of one iteration per step
  std::optional<double> measuring_usd;
  bool is_list_price = false;       ///< measuring_usd is by a list price
  std::vector<std::string> unseen;  ///< facts missing in the log
  /// Ideas as techniques, which entries point to.
  std::vector<std::shared_ptr<const catalogue::Technique>> made_of_ideas;
};

Calibration calibration_of(const std::vector<PastPrediction>& predictions);
/// By family; predictions without one are in none.
std::map<std::string, Calibration> calibrations_of(const std::vector<PastPrediction>& predictions);
/// `catalogue` and `situation` must outlive the result.
Roadmap make_roadmap(const std::vector<catalogue::Technique>& catalogue,
                     const Situation& situation);
Json to_json(const Roadmap& roadmap);

}  // namespace wb::advise
