// SPDX-License-Identifier: MIT
#include "advise/effects.hpp"

#include <algorithm>
#include <cmath>

#include "core/json.hpp"

namespace wb::advise {

namespace {

constexpr std::int64_t k_scope_factor = 2;
/// An event of a log has little room.
constexpr std::size_t k_named_trials = 6;
/// A slowdown below this is a loss; between it and a win it is no gain.
constexpr double k_least_loss = 0.98;

bool is_near(std::int64_t value, std::int64_t low, std::int64_t high) {
  return value * k_scope_factor >= low && value <= high * k_scope_factor;
}

}  // namespace

bool Trial::is_of(std::string_view name) const {
  if (isolated == name) return true;
  return is_single && ideas.size() == 1 && ideas.front() == name;
}

bool is_in_scope(const Trial& trial, const problem::Problem& problem) {
  bool has_dtype = false;
  catalogue::Range head_dim{1 << 30, 1}, seq_q{1 << 30, 1}, seq_kv{1 << 30, 1};
  const auto widen = [](catalogue::Range& range, std::int64_t value) {
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  };
  for (const problem::Problem& one : trial.problems) {
    if (one.dtype != problem.dtype) continue;
    has_dtype = true;
    widen(head_dim, one.D);
    widen(seq_q, one.Sq);
    widen(seq_kv, one.Skv);
  }
  return has_dtype && is_near(problem.D, head_dim.low, head_dim.high) &&
         is_near(problem.Sq, seq_q.low, seq_q.high) &&
         is_near(problem.Skv, seq_kv.low, seq_kv.high);
}

Effect effect_of(const std::vector<Trial>& trials, std::string_view name,
                 std::string_view backend) {
  Effect effect;
  double sum = 0, figures = 0;
  for (const Trial& trial : trials) {
    if (!trial.is_of(name) || (!backend.empty() && trial.backend != backend)) continue;
    ++effect.tried;
    effect.won += trial.won() ? 1 : 0;
    effect.lost += trial.lost() ? 1 : 0;
    effect.trials.push_back(&trial);
    if (!trial.speedup || !(*trial.speedup > 0)) continue;
    sum += std::log(*trial.speedup);
    figures += 1;
    const double low = trial.low.value_or(*trial.speedup);
    const double high = trial.high.value_or(*trial.speedup);
    effect.low = std::min(effect.low.value_or(low), low);
    effect.high = std::max(effect.high.value_or(high), high);
  }
  if (figures > 0) effect.speedup = std::exp(sum / figures);
  return effect;
}

Json to_json(const Effect& effect) {
  Json trials = Json::array();
  for (const Trial* trial : effect.trials) {
    if (trials.size() == k_named_trials) break;
    trials.push_back({{"session", trial->session},
                      {"log_sha256", trial->log_sha256},
                      {"iteration", trial->iteration},
                      {"event", trial->event},
                      {"outcome", trial->outcome},
                      {"speedup", trial->speedup ? Json(*trial->speedup) : Json(nullptr)}});
  }
  const auto figure = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  return {{"tried", effect.tried},      {"won", effect.won},
          {"lost", effect.lost},        {"speedup", figure(effect.speedup)},
          {"low", figure(effect.low)},  {"high", figure(effect.high)},
          {"trials", std::move(trials)}};
}

catalogue::IdeaState state_of(const catalogue::Idea& idea, const std::vector<Trial>& trials) {
  const Effect effect = effect_of(trials, idea.id);
  if (effect.tried == 0) {
    const bool was_had = std::any_of(trials.begin(), trials.end(), [&](const Trial& trial) {
      return std::find(trial.ideas.begin(), trial.ideas.end(), idea.id) != trial.ideas.end();
    });
    const bool is_open = idea.state == catalogue::IdeaState::open;
    return is_open && was_had ? catalogue::IdeaState::tried : idea.state;
  }
  if (effect.won > 0) return catalogue::IdeaState::won;
  if (effect.lost == 0) return catalogue::IdeaState::tried;
  return *effect.speedup < k_least_loss ? catalogue::IdeaState::lost
                                        : catalogue::IdeaState::no_gain;
}

}  // namespace wb::advise
