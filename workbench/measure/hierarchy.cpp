// SPDX-License-Identifier: MIT
#include "measure/hierarchy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

namespace wb::measure::hierarchy {
namespace {

/// SplitMix64 (Steele, Lea, Flood 2014): fast, and the same everywhere, unlike the distributions of
/// <random>.
class Random {
 public:
  explicit Random(std::uint64_t seed) : m_state(seed) {}
  /// Uniform in [0, count); the bias for count < 2^20 is below 2^-12 of a draw.
  std::size_t below(std::size_t count) {
    m_state += 0x9e3779b97f4a7c15u;
    std::uint64_t bits = m_state;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    bits ^= bits >> 31;
    return static_cast<std::size_t>(((bits >> 32) * count) >> 32);
  }

 private:
  std::uint64_t m_state;
};

double resampled_center(const Cluster& cluster, Random& random, std::vector<double>& scratch) {
  scratch.clear();
  const std::size_t placements = cluster.placements.size();
  for (std::size_t j = 0; j < placements; ++j) {
    const Cluster::Placement& rounds = cluster.placements[random.below(placements)];
    for (std::size_t r = 0; r < rounds.size(); ++r) {
      const Cluster::Round& round = rounds[random.below(rounds.size())];
      scratch.insert(scratch.end(), round.begin(), round.end());
    }
  }
  return median_of(scratch);
}

}  // namespace

std::optional<std::string> unusable(std::span<const Turn> turns) {
  if (turns.empty()) return "no turns";
  std::size_t disturbed = 0;
  for (const Turn& turn : turns) {
    if (turn.subject != turns.front().subject) {
      return fmt::format("turns of {} and {} are mixed", turns.front().subject, turn.subject);
    }
    disturbed += is_disturbed(turn.flags) ? 1 : 0;
    if (turn.samples_us.empty()) return fmt::format("a turn of {} has no samples", turn.subject);
    for (const double sample_us : turn.samples_us) {
      if (!(sample_us > 0 && std::isfinite(sample_us))) {
        return fmt::format("{} reported {} us, which is no time", turn.subject, sample_us);
      }
    }
  }
  if (too_much_disturbed(disturbed, turns.size())) {
    return fmt::format("{} in {} of {} turns of {} (environment)", disturbance_words({turns}),
                       disturbed, turns.size(), turns.front().subject);
  }
  return std::nullopt;
}

std::set<Cell> disturbed_cells(std::span<const Turn> turns) {
  std::set<Cell> cells;
  for (const Turn& turn : turns) {
    if (!is_disturbed(turn.flags)) continue;
    cells.insert({turn.instance, turn.placement, turn.round});
  }
  return cells;
}

std::string disturbance_words(std::initializer_list<std::span<const Turn>> sides) {
  static constexpr std::array k_words{
      std::pair{k_flag_throttled, std::string_view("a throttled GPU")},
      std::pair{k_flag_cpu_throttled, std::string_view("a CPU quota that stopped it")},
      std::pair{k_flag_fewer_cpus, std::string_view("a cpuset that was narrowed")},
      std::pair{k_flag_own_threads,
                std::string_view("threads of its own that waited for each other's CPU (more run "
                                 "than args->threads allows, or they spin)")},
      std::pair{k_flag_cold_below_hot, std::string_view("cold figures below the hot one")},
      std::pair{k_flag_not_idle,
                std::string_view("work between the flush of the caches and a cold call")}};
  const auto any = [&sides](const auto& is_seen) {
    return std::any_of(sides.begin(), sides.end(), [&is_seen](const auto& side) {
      return std::any_of(side.begin(), side.end(), is_seen);
    });
  };
  std::string words;
  const auto say = [&words](std::string_view word) {
    words += words.empty() ? "" : " or ";
    words += word;
  };
  if (any([](const Turn& turn) {
        return has_flag(turn, k_flag_foreign_load) && !has_flag(turn, k_flag_own_threads);
      })) {
    say("foreign load");
  }
  for (const auto& [flag, word] : k_words) {
    if (any([&flag = flag](const Turn& turn) { return has_flag(turn, flag); })) say(word);
  }
  return words;
}

bool too_much_disturbed(std::size_t disturbed, std::size_t all) {
  return 4 * disturbed > all;
}

CellLogs cell_logs(std::span<const Turn> turns) {
  std::map<Cell, std::vector<std::pair<std::int64_t, double>>> by_position;
  std::vector<double> scratch;
  for (const Turn& turn : turns) {
    if (is_disturbed(turn.flags)) continue;
    scratch.assign(turn.samples_us.begin(), turn.samples_us.end());
    by_position[{turn.instance, turn.placement, turn.round}].emplace_back(
        turn.position, std::log(median_of(scratch)));
  }
  CellLogs logs;
  for (auto& [cell, passes] : by_position) {
    std::sort(passes.begin(), passes.end());
    for (const auto& [position, value] : passes) logs[cell].push_back(value);
  }
  return logs;
}

std::int64_t Cluster::rounds() const {
  std::size_t total = 0;
  for (const Placement& placement : placements) total += placement.size();
  return static_cast<std::int64_t>(total);
}

std::vector<Cluster> clusters(const CellLogs& values) {
  std::vector<Cluster> all;
  std::int64_t placement = 0;
  for (const auto& [cell, passes] : values) {  // in order of instance, placement, round
    if (all.empty() || all.back().instance != cell.instance) {
      all.push_back({cell.instance, {{}}});
    } else if (placement != cell.placement) {
      all.back().placements.emplace_back();
    }
    placement = cell.placement;
    all.back().placements.back().push_back(passes);
  }
  return all;
}

double center(const Cluster& cluster) {
  std::vector<double> values;
  for (const Cluster::Placement& rounds : cluster.placements) {
    for (const Cluster::Round& round : rounds) {
      values.insert(values.end(), round.begin(), round.end());
    }
  }
  return median_of(values);
}

std::vector<double> centers(std::span<const Cluster> clusters) {
  std::vector<double> values;
  values.reserve(clusters.size());
  for (const Cluster& cluster : clusters) values.push_back(center(cluster));
  return values;
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double standard_deviation(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double middle = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return 0.5 * (*middle + *std::max_element(values.begin(), middle));
}

double bootstrap_error(std::span<const Cluster> clusters, Level level, int resamples,
                       std::uint64_t seed) {
  std::vector<double> scratch;
  const std::vector<double> fixed = centers(clusters);
  std::vector<double> means(static_cast<std::size_t>(resamples));
  Random random(seed);
  for (double& value : means) {
    double sum = 0;
    for (const Cluster& cluster : clusters) {
      sum += level == Level::instances ? fixed[random.below(fixed.size())]
                                       : resampled_center(cluster, random, scratch);
    }
    value = sum / static_cast<double>(clusters.size());
  }
  return standard_deviation(means);
}

double small_count_factor(std::size_t count) {
  if (count < 2) return 1;
  return std::sqrt(static_cast<double>(count) / static_cast<double>(count - 1));
}

}  // namespace wb::measure::hierarchy
