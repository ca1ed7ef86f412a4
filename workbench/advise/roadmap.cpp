// SPDX-License-Identifier: MIT
#include "advise/roadmap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "advise/candidates.hpp"
#include "advise/remedy.hpp"

namespace wb::advise {

using catalogue::Technique;

namespace {

constexpr std::size_t k_steps_a_stage = 2, k_stages = 3;

const PastAttempt* best_try(const Situation& situation, std::string_view technique) {
  const PastAttempt* best = nullptr;
  for (const PastAttempt& tried : situation.tries) {
    if (tried.technique != technique) continue;
    if (best == nullptr || tried.speedup.value_or(0) > best->speedup.value_or(0)) best = &tried;
  }
  return best;
}

/// The step of this session that won without the technique which its parent had, or null. It may
/// have changed more than that: what won is the whole, and its undoing would be no next step.
const Trial* win_without(const Situation& situation, std::string_view technique) {
  for (const Trial& trial : situation.trials) {
    const bool has_won = trial.is_own && trial.won() && trial.speedup;
    if (has_won && is_among(trial.removed, technique)) return &trial;
  }
  return nullptr;
}

/// Why it is no step at all, or nothing.
std::optional<NotAdvised> obstacle(const Candidate& candidate, const Situation& situation) {
  const Technique& technique = *candidate.technique;
  const auto because = [&technique](std::string reason, std::int64_t event = 0) {
    return NotAdvised{technique.name, std::move(reason), event};
  };
  if (auto reason = exclusion(technique, situation.techniques, situation.architecture);
      !reason.empty()) {
    return because(std::move(reason));
  }
  const bool concerns_any = std::any_of(
      situation.problems.begin(), situation.problems.end(),
      [&](const RoadmapProblem& one) { return catalogue::is_of(technique.kind, one.problem); });
  if (!concerns_any) return because("no problem of the suite is of its kind");
  if (const Trial* win = win_without(situation, technique.name)) {
    NotAdvised result = because(
        fmt::format("iteration {} took it out and won, {:.2f}x", win->iteration, *win->speedup),
        win->event);
    result.is_loser = true;
    return result;
  }
  const PastAttempt* tried = best_try(situation, technique.name);
  if (tried == nullptr || tried->won) return std::nullopt;
  if (!tried->speedup) {
    return because("tried here without a figure: mend that one first", tried->event);
  }
  NotAdvised result = because(fmt::format("{}, {:.2f}x, no gain",
                                          tried->is_alone ? "known loser here: tried here"
                                                          : "tried here with other changes",
                                          *tried->speedup),
                              tried->event);
  result.is_loser = tried->is_alone;
  return result;
}

/// Logarithms of its isolated trials on other kernels or problems of this kind of device.
std::vector<double> logs_of(const Effect& effect) {
  std::vector<double> logs;
  for (const Trial* trial : effect.trials) {
    if (trial->speedup && *trial->speedup > 0) logs.push_back(std::log(*trial->speedup));
  }
  return logs;
}

/// Its expected gain over the suite, and where it is known to lose.
struct Rated {
  RoadmapEntry entry;
  std::optional<KnownLoss> loss;  ///< on one of the problems that it would help
};

Rated rate(const Candidate& candidate, const Situation& situation,
           const std::map<std::string, Calibration>& families) {
  const Technique& technique = *candidate.technique;
  Rated rated;
  RoadmapEntry& entry = rated.entry;
  entry.technique = &technique;
  entry.how = candidate.how;
  entry.is_foreign = candidate.is_foreign();
  for (const catalogue::Idea* idea : candidate.ideas) entry.ideas.push_back(idea->id);
  const auto family = families.find(technique.family);
  if (family != families.end()) entry.calibration = family->second.share;
  entry.effect = effect_of(situation.trials, technique.name, situation.backend);
  const auto causes = situation.causes.find(technique.name);
  if (causes != situation.causes.end()) entry.causes = causes->second;
  SuiteGain gain(technique, entry.calibration, logs_of(entry.effect));
  double known = 0, shown = 0;
  std::set<std::string> bounds;
  for (const RoadmapProblem& one : situation.problems) {
    const bool is_known = !one.bound.empty();
    known += is_known ? one.weight : 0;
    if (!catalogue::is_of(technique.kind, one.problem) ||
        (is_known && !is_among(technique.helps, one.bound))) {
      gain.add_untouched(one.weight);
      continue;
    }
    if (candidate.is_idea && !covers(candidate.ideas.front()->scope, situation.device,
                                     situation.architecture, one.problem)) {
      gain.add_untouched(one.weight);
      continue;
    }
    if (auto loss = known_loss(candidate, situation, one.problem)) {
      gain.add_untouched(one.weight);
      if (!rated.loss) rated.loss = std::move(loss);
      continue;
    }
    gain.add_helped(one.weight, one.room_ratio);
    if (!is_known) continue;
    shown += one.weight;
    bounds.insert(one.bound);
    entry.events.insert(entry.events.end(), one.events.begin(), one.events.end());
  }
  const auto mean = gain.mean();
  if (!mean) return rated;
  entry.low = mean->low;
  entry.expected = mean->expected;
  entry.high = mean->high;
  const double weights = gain.weight();
  entry.share_frac = gain.helped() / weights;
  const bool is_measured = 2 * known >= weights && !bounds.empty();
  entry.strength = is_measured ? EvidenceStrength::strong : EvidenceStrength::weak;
  entry.why = bounds.empty()
                  ? "what bounds the problems was not measured"
                  : fmt::format("{:.0f} % of the suite is bound by {}, which it works against",
                                100 * shown / weights, fmt::join(bounds, " and "));
  return rated;
}

/// A parameter takes minutes where a rewrite takes hours.
constexpr double k_switch_merit = 3, k_cause_merit = 1.5, k_unready_merit = 0.5;

/// The order: the expected logarithm, reduced without measured evidence and for what needs other
/// techniques first, raised for what a parameter turns on and for remedies of supported causes.
double merit(const RoadmapEntry& entry, const std::vector<std::string>& present) {
  const Technique& technique = *entry.technique;
  double gain = std::log(entry.expected);
  if (entry.strength != EvidenceStrength::strong) gain *= k_weak_merit;
  if (entry.how.find('=') != std::string::npos) gain *= k_switch_merit;
  if (!entry.causes.empty()) gain *= k_cause_merit;
  const bool is_ready =
      std::all_of(technique.needs.begin(), technique.needs.end(),
                  [&present](const std::string& word) { return is_among(present, word); });
  return is_ready ? gain : k_unready_merit * gain;
}

/// The geometric mean over the suite of the distances to the bounds; nothing when one is unknown.
std::optional<double> room_of(const Situation& situation) {
  double weights = 0, sum = 0;
  for (const RoadmapProblem& one : situation.problems) {
    if (!one.room_ratio || !(*one.room_ratio > 0)) return std::nullopt;
    weights += one.weight;
    sum += one.weight * std::log(std::max(1.0, *one.room_ratio));
  }
  return weights > 0 ? std::optional(std::exp(sum / weights)) : std::nullopt;
}

std::optional<double> rival_ratio_of(const Situation& situation) {
  double weights = 0, sum = 0;
  for (const RoadmapProblem& one : situation.problems) {
    if (!one.rival_ratio || !(*one.rival_ratio > 0)) continue;
    weights += one.weight;
    sum += one.weight * std::log(*one.rival_ratio);
  }
  return weights > 0 ? std::optional(std::exp(sum / weights)) : std::nullopt;
}

/// Steps in the order of the entries, each after the techniques that it needs.
void add_stages(const Situation& situation, Roadmap& roadmap) {
  std::vector<std::string> present = situation.techniques;
  std::set<const RoadmapEntry*> taken;
  const std::optional<double> room = room_of(situation);
  const auto within = [&room](double gain) { return room ? std::min(gain, *room) : gain; };
  double low = 1, expected = 1, high = 1;
  while (roadmap.stages.size() < k_stages) {
    RoadmapStage stage;
    std::vector<const Technique*> added;  // in this stage
    for (const RoadmapEntry& entry : roadmap.entries) {
      if (stage.techniques.size() == k_steps_a_stage) break;
      const Technique& technique = *entry.technique;
      const bool ready =
          std::all_of(technique.needs.begin(), technique.needs.end(),
                      [&present](const std::string& word) { return is_among(present, word); });
      const bool pointless =
          !first_present(technique.replaced_by, present).empty() ||
          std::any_of(added.begin(), added.end(), [&technique](const Technique* other) {
            return is_among(technique.replaced_by, other->name) ||
                   is_among(other->replaced_by, technique.name);
          });
      if (taken.contains(&entry) || !ready || pointless) continue;
      taken.insert(&entry);
      added.push_back(&technique);
      stage.techniques.push_back(technique.name);
      low *= entry.low;
      expected *= entry.expected;
      high *= entry.high;
      roadmap.hours_low += technique.hours_low;
      roadmap.hours_high += technique.hours_high;
    }
    if (stage.techniques.empty()) break;
    present.insert(present.end(), stage.techniques.begin(), stage.techniques.end());
    stage.low = within(low);
    stage.expected = within(expected);
    stage.high = within(high);
    if (roadmap.rival_ratio) {
      stage.rival_low = *roadmap.rival_ratio * stage.low;
      stage.rival_expected = *roadmap.rival_ratio * stage.expected;
      const bool first = !roadmap.reached_at_stage;
      if (first && *stage.rival_expected >= roadmap.target_ratio) {
        roadmap.reached_at_stage = static_cast<std::int64_t>(roadmap.stages.size()) + 1;
      }
    }
    roadmap.stages.push_back(std::move(stage));
  }
}

void add_cost(const Situation& situation, Roadmap& roadmap) {
  std::size_t steps = 0;
  for (const RoadmapStage& stage : roadmap.stages) steps += stage.techniques.size();
  if (!situation.iteration_s || steps == 0) return;
  roadmap.measuring_s = *situation.iteration_s * static_cast<double>(steps);
  if (situation.device_usd_per_hour) {
    roadmap.measuring_usd = *roadmap.measuring_s / 3600 * *situation.device_usd_per_hour;
    roadmap.is_list_price = situation.is_list_price;
  }
}

void add_unseen(const Situation& situation, Roadmap& roadmap) {
  const auto some = [&situation](const auto& lacks) {
    return std::any_of(situation.problems.begin(), situation.problems.end(), lacks);
  };
  if (some([](const RoadmapProblem& one) { return one.bound.empty(); })) {
    roadmap.unseen.emplace_back("what bounds some of the problems");
  }
  if (some([](const RoadmapProblem& one) { return !one.room_ratio; })) {
    roadmap.unseen.emplace_back("how much room the roofline leaves on some of the problems");
  }
  if (!roadmap.rival_ratio) roadmap.unseen.emplace_back("how a rival stands");
  if (roadmap.calibration.count < k_least_predictions) {
    roadmap.unseen.push_back(
        fmt::format("how predictions come true: only {} decided", roadmap.calibration.count));
  }
  if (!situation.device_usd_per_hour) roadmap.unseen.emplace_back("what a device-hour costs");
}

}  // namespace

std::string_view to_string(EvidenceStrength value) {
  switch (value) {
    case EvidenceStrength::strong:
      return "strong";
    case EvidenceStrength::weak:
      return "weak";
  }
  throw std::logic_error("an EvidenceStrength outside its enumeration");
}

Calibration calibration_of(const std::vector<PastPrediction>& predictions) {
  Calibration calibration;
  std::vector<double> shares;
  for (const PastPrediction& past : predictions) {
    const double wanted = std::log(past.predicted), got = std::log(past.measured);
    // A predicted loss or no change is no prediction of a gain.
    if (!(wanted > std::log(k_least_expected)) || !std::isfinite(got)) continue;
    shares.push_back(got / wanted);
    if (past.is_own) calibration.events.push_back(past.event);
  }
  calibration.count = static_cast<std::int64_t>(shares.size());
  if (shares.empty()) return calibration;
  std::sort(shares.begin(), shares.end());
  const std::size_t half = shares.size() / 2;
  calibration.median =
      shares.size() % 2 == 1 ? shares[half] : (shares[half - 1] + shares[half]) / 2;
  const auto prior = static_cast<double>(k_least_predictions);
  const auto count = static_cast<double>(shares.size());
  calibration.share = std::max(0.0, (prior + count * *calibration.median) / (prior + count));
  return calibration;
}

std::map<std::string, Calibration> calibrations_of(const std::vector<PastPrediction>& predictions) {
  std::map<std::string, std::vector<PastPrediction>> by_family;
  for (const PastPrediction& past : predictions) {
    if (!past.family.empty()) by_family[past.family].push_back(past);
  }
  std::map<std::string, Calibration> families;
  for (const auto& [family, past] : by_family) families[family] = calibration_of(past);
  return families;
}

namespace {

/// Why a rated candidate is not worth a step, or nothing.
std::optional<NotAdvised> shortfall(const Rated& rated) {
  const RoadmapEntry& entry = rated.entry;
  NotAdvised left{.technique = entry.technique->name, .reason = {}};
  if (entry.share_frac == 0) {
    left.reason = rated.loss ? "known loser here: " + rated.loss->words
                             : fmt::format("works against {}, which bounds none of its problems",
                                           fmt::join(entry.technique->helps, ", "));
    left.event = rated.loss ? rated.loss->event : 0;
    left.is_loser = rated.loss.has_value();
    return left;
  }
  left.expected = entry.expected;
  if (!(entry.high >= k_least_expected)) {
    left.reason = "the problems' bounds leave it no room";
    return left;
  }
  if (entry.expected >= k_least_expected) return std::nullopt;
  left.reason =
      fmt::format("expected {:.2f}x ({:.2f} to {:.2f})", entry.expected, entry.low, entry.high);
  return left;
}

}  // namespace

Roadmap make_roadmap(const std::vector<Technique>& catalogue, const Situation& situation) {
  Roadmap roadmap;
  roadmap.calibration = calibration_of(situation.predictions);
  roadmap.families = calibrations_of(situation.predictions);
  roadmap.target_ratio = situation.target_ratio;
  roadmap.rival_ratio = rival_ratio_of(situation);
  if (roadmap.rival_ratio && *roadmap.rival_ratio >= roadmap.target_ratio) {
    roadmap.reached_at_stage = 0;
  }
  for (const Candidate& candidate : candidates_of(catalogue, situation, roadmap.made_of_ideas)) {
    if (auto reason = obstacle(candidate, situation)) {
      roadmap.not_advised.push_back(*std::move(reason));
      continue;
    }
    Rated rated = rate(candidate, situation, roadmap.families);
    if (auto reason = shortfall(rated)) {
      roadmap.not_advised.push_back(*std::move(reason));
    } else {
      roadmap.entries.push_back(std::move(rated.entry));
    }
  }
  const std::vector<std::string>& present = situation.techniques;
  std::stable_sort(roadmap.entries.begin(), roadmap.entries.end(),
                   [&present](const RoadmapEntry& a, const RoadmapEntry& b) {
                     return merit(a, present) > merit(b, present);
                   });
  add_stages(situation, roadmap);
  add_cost(situation, roadmap);
  add_room(situation, roadmap);
  add_unseen(situation, roadmap);
  return roadmap;
}

}  // namespace wb::advise
