// SPDX-License-Identifier: MIT
#include "advise/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "advise/remedy.hpp"

namespace wb::advise {

using catalogue::Idea;
using catalogue::IdeaState;
using catalogue::Technique;
using problem::Problem;

namespace {

/// The range of ideas whose family has too few isolated trials: a refinement of a kernel brings a
/// few percent, where it brings something.
constexpr double k_idea_low = 1.0, k_idea_high = 1.1, k_open_idea_low = 0.95;
constexpr std::size_t k_least_trials = 3;

bool fits_kernel(const Idea& idea, const std::string& kernel) {
  return idea.kernels.empty() || is_among(idea.kernels, kernel);
}

bool fits_some_problem(const Idea& idea, const Situation& situation) {
  return std::any_of(
      situation.problems.begin(), situation.problems.end(), [&](const RoadmapProblem& one) {
        return covers(idea.scope, situation.device, situation.architecture, one.problem);
      });
}

/// "PADDING=16" where the incumbent's kernel has the idea's parameters at other values; empty where
/// it lacks one of them.
std::string switch_of(const Idea& idea, const Situation& situation) {
  std::string words;
  bool differs = false;
  for (const auto& [name, value] : idea.parameters) {
    const auto found = situation.configuration.find(name);
    if (found == situation.configuration.end()) return {};
    differs = differs || found->second != value;
    words += fmt::format("{}{}={}", words.empty() ? "" : " ", name, value);
  }
  return differs ? words : std::string();
}

bool has_parameters(const Idea& idea, const Situation& situation) {
  return !idea.parameters.empty() &&
         std::all_of(idea.parameters.begin(), idea.parameters.end(),
                     [&](const auto& one) { return situation.configuration.contains(one.first); });
}

/// Whether the incumbent has the idea as far as can be told.
bool is_present(const Idea& idea, const Situation& situation, const std::string& kernel) {
  if (has_parameters(idea, situation)) return switch_of(idea, situation).empty();
  return idea.has == kernel;
}

/// The idea as a technique, with the range of its own technique, else of its family's trials.
std::shared_ptr<const Technique> made_of(const Idea& idea, const std::vector<Technique>& catalogue,
                                         const Situation& situation) {
  auto made = std::make_shared<Technique>(as_technique(idea));
  const auto own = std::find_if(catalogue.begin(), catalogue.end(),
                                [&](const Technique& one) { return one.name == idea.technique; });
  if (own != catalogue.end()) {
    made->impact_low = own->impact_low;
    made->impact_high = own->impact_high;
    if (made->family.empty()) made->family = own->family;
    if (made->helps.empty()) made->helps = own->helps;
    return made;
  }
  if (made->helps.empty()) made->helps = {"launch", "latency", "memory", "compute"};
  std::vector<double> figures;
  for (const Trial& trial : situation.trials) {
    if (trial.backend != situation.backend || !trial.speedup || !(*trial.speedup > 0)) continue;
    const bool is_kin =
        std::any_of(situation.ideas.begin(), situation.ideas.end(), [&](const Idea& one) {
          return one.family == made->family && !made->family.empty() && trial.is_of(one.id);
        });
    if (is_kin) figures.push_back(*trial.speedup);
  }
  made->impact_low = idea.state == IdeaState::won ? k_idea_low : k_open_idea_low;
  made->impact_high = k_idea_high;
  if (figures.size() >= k_least_trials) {
    const auto [low, high] = std::minmax_element(figures.begin(), figures.end());
    made->impact_low = *low;
    made->impact_high = *high;
  }
  return made;
}

/// Whether the trial was on the incumbent's kernel and device.
bool is_here(const Trial& trial, const Situation& situation, const std::string& kernel) {
  return trial.backend == situation.backend && trial.architecture == situation.architecture &&
         (trial.kernel == kernel || trial.parent == kernel);
}

bool is_trial_of(const Trial& trial, const Candidate& candidate) {
  if (trial.is_of(candidate.technique->name)) return true;
  return candidate.is_idea && std::any_of(candidate.ideas.begin(), candidate.ideas.end(),
                                          [&](const Idea* idea) { return trial.is_of(idea->id); });
}

}  // namespace

std::string kernel_of(const std::string& label) {
  return label.substr(0, label.find('@'));
}

std::vector<Candidate> candidates_of(const std::vector<Technique>& catalogue,
                                     const Situation& situation,
                                     std::vector<std::shared_ptr<const Technique>>& made_of_ideas) {
  const std::string kernel = kernel_of(situation.incumbent);
  std::vector<Candidate> all;
  for (const Technique& technique : catalogue) {
    if (!is_among(technique.backends, situation.backend)) continue;
    Candidate candidate;
    candidate.technique = &technique;
    const auto found = situation.switches.find(technique.name);
    if (found != situation.switches.end()) candidate.how = found->second;
    all.push_back(std::move(candidate));
  }
  const std::size_t techniques = all.size();
  for (const Idea& idea : situation.ideas) {
    if (!is_among(idea.backends, situation.backend) || !fits_kernel(idea, kernel) ||
        !fits_some_problem(idea, situation) || is_present(idea, situation, kernel)) {
      continue;
    }
    const std::string by_parameter = switch_of(idea, situation);
    const std::string how = !by_parameter.empty() ? by_parameter
                            : idea.has.empty()    ? std::string()
                                                  : idea.has + " has it";
    // An idea of a technique that the incumbent lacks as a whole is told with that technique.
    const bool is_of_technique =
        !idea.technique.empty() && !is_among(situation.techniques, idea.technique);
    const auto own =
        std::find_if(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(techniques),
                     [&](const Candidate& one) { return one.technique->name == idea.technique; });
    const bool has_own = own != all.begin() + static_cast<std::ptrdiff_t>(techniques);
    if (is_of_technique && has_own && !idea.is_foreign()) {
      own->ideas.push_back(&idea);
      if (own->how.empty()) own->how = how;
      continue;
    }
    made_of_ideas.push_back(made_of(idea, catalogue, situation));
    all.push_back(
        {.technique = made_of_ideas.back().get(), .ideas = {&idea}, .how = how, .is_idea = true});
  }
  for (Candidate& one : all) {
    const auto found = situation.kernels_with.find(one.technique->name);
    if (one.how.empty() && found != situation.kernels_with.end()) {
      one.how = found->second + " has it";
    }
  }
  return all;
}

std::optional<KnownLoss> known_loss(const Candidate& candidate, const Situation& situation,
                                    const Problem& problem) {
  const std::string kernel = kernel_of(situation.incumbent);
  const Trial* lost = nullptr;
  for (const Trial& trial : situation.trials) {
    const bool speaks = is_trial_of(trial, candidate) && is_here(trial, situation, kernel) &&
                        is_in_scope(trial, problem);
    if (!speaks) continue;
    // Of a technique that won and lost here, the win counts: it is worth the other configuration.
    if (trial.won()) return std::nullopt;
    if (trial.lost() && (lost == nullptr || trial.t > lost->t)) lost = &trial;
  }
  if (lost != nullptr) {
    return KnownLoss{fmt::format("{:.2f}x in iteration {} of {}", *lost->speedup, lost->iteration,
                                 lost->is_own ? "this session" : lost->session),
                     lost->is_own ? lost->event : 0};
  }
  for (const Idea& idea : situation.ideas) {
    const bool is_named = candidate.is_idea ? &idea == candidate.ideas.front()
                                            : idea.technique == candidate.technique->name;
    if (!is_named || idea.is_foreign() || !is_among(idea.backends, situation.backend)) continue;
    if (idea.state != IdeaState::lost && idea.state != IdeaState::no_gain) continue;
    if (!fits_kernel(idea, kernel)) continue;
    if (!covers(idea.scope, situation.device, situation.architecture, problem)) continue;
    return KnownLoss{fmt::format("{} ({})", idea.id, idea.source), idea.event};
  }
  return std::nullopt;
}

// Room
// --------------------------------------------------------------------------------------------

namespace {

/// To the bound, or to the fastest rival where that is farther; nothing when neither is known.
std::optional<double> distance_of(const RoadmapProblem& one) {
  std::optional<double> room = one.room_ratio;
  if (one.rival_ratio && *one.rival_ratio > 0) {
    room = std::max(room.value_or(1), 1 / *one.rival_ratio);
  }
  return room;
}

/// Where that distance ends.
std::string end_of(const RoadmapProblem& one, double distance) {
  return one.room_ratio && *one.room_ratio >= distance ? one.room_bound
                                                       : std::string("the fastest rival");
}

bool works_against(const Technique& technique, const std::string& bound) {
  return bound.empty() || is_among(technique.helps, bound);
}

std::string said_of(const RoomLeft& group, const std::string& backend) {
  const std::string bound =
      group.bound.empty() ? std::string("a bound that was not measured") : group.bound;
  const std::string head =
      fmt::format("{:.2f}x is left on {} bound by {}{}: ", group.room,
                  group.problems.size() == 1 ? std::string("1 problem")
                                             : fmt::format("{} problems", group.problems.size()),
                  bound, group.to.empty() ? group.to : ", the most of it to " + group.to);
  if (!group.steps.empty()) {
    return head + fmt::format("{} work against it", fmt::join(group.steps, ", "));
  }
  if (!group.measure.empty()) {
    return head + fmt::format("what holds it is not decided, `{}` tells", group.measure.front());
  }
  return head +
         fmt::format("the register has no idea left for it; ideas against {} on {} are needed",
                     bound, backend == "cpu" ? "this CPU" : "this GPU");
}

}  // namespace

void add_room(const Situation& situation, Roadmap& roadmap) {
  constexpr std::size_t k_named = 3;
  std::map<std::string, std::vector<std::pair<double, const RoadmapProblem*>>> by_bound;
  for (const RoadmapProblem& one : situation.problems) {
    const auto room = distance_of(one);
    if (room && *room > k_least_room_left) by_bound[one.bound].emplace_back(*room, &one);
  }
  for (auto& [bound, members] : by_bound) {
    std::stable_sort(members.begin(), members.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    RoomLeft group;
    group.bound = bound;
    group.to = end_of(*members.front().second, members.front().first);
    double sum = 0;
    for (const auto& [room, one] : members) {
      sum += std::log(room);
      group.problems.push_back(label(one->problem));
      group.events.insert(group.events.end(), one->events.begin(), one->events.end());
    }
    group.room = std::exp(sum / static_cast<double>(members.size()));
    for (const RoadmapEntry& entry : roadmap.entries) {
      if (group.steps.size() == k_named) break;
      if (works_against(*entry.technique, bound)) group.steps.push_back(entry.technique->name);
    }
    for (const PendingCause& pending : situation.pending) {
      if (group.measure.size() == k_named) break;
      if (!is_among(group.measure, pending.command)) group.measure.push_back(pending.command);
    }
    group.says = said_of(group, situation.backend);
    roadmap.room.push_back(std::move(group));
  }
  std::stable_sort(roadmap.room.begin(), roadmap.room.end(),
                   [](const RoomLeft& a, const RoomLeft& b) { return a.room > b.room; });
}

}  // namespace wb::advise
