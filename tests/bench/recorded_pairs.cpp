// SPDX-License-Identifier: MIT
// Is equal code ever called faster or slower? Asked of recorded sessions: a baseline and `compare`
// time one subject in two processes of each instance, for the noise floor. Here the one is compared
// with the other, as sessions compare; but what processes of equal code differ by is taken from
// another subject in the same turns, so that a pair does not excuse itself, and so from half as
// many processes.
//   recorded_pairs [--seed N] SESSION...
// N is that of the bootstrap; by default the one that sessions have.
// Prints a Markdown table of the hot pairs by regime and time of a call, and every false verdict.
// Exit status: 0 at most one false verdict in 100 pairs of each regime, 1 more, 2 a fault.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/json.hpp"
#include "measure/comparison.hpp"
#include "measure/statistics.hpp"
#include "session/log.hpp"
#include "session/storage.hpp"

namespace {

using wb::Json;
using Lanes = std::vector<std::vector<wb::measure::Turn>>;

/// Of the turns of one problem under the plan hot, whose events are [first, last].
struct Block {
  std::string problem, regime;
  Lanes lanes;  ///< as the subjects stood in the ABBA order
};

constexpr std::array<std::pair<double, const char*>, 3> k_classes{
    {{10, "below 10 us"}, {100, "10 to 100 us"}, {1e12, "from 100 us on"}}};
wb::Result<wb::measure::Turn> turn_of(Json payload) {
  for (const char* key : {"iteration", "problem", "plan", "regime", "phase", "spot_pass"}) {
    payload.erase(key);
  }
  return wb::measure::turn_from_json(payload);
}

wb::Result<Block> read_block(const wb::session::EventLog& log, const Json& comparison) {
  Block block;
  block.problem = comparison["problem"];
  block.regime = "burst";
  std::vector<wb::measure::Turn> turns;
  std::int64_t places = 0;
  for (auto seq = comparison["turns"][0].get<std::int64_t>();
       seq <= comparison["turns"][1].get<std::int64_t>(); ++seq) {
    if (log.envelope(seq).type != "turn_measured") continue;
    WB_TRY_ASSIGN(const Json payload, log.payload(seq));
    if (payload["plan"] != "hot" || payload["problem"] != block.problem) continue;
    block.regime = payload.value("regime", "burst");
    WB_TRY_ASSIGN(wb::measure::Turn turn, turn_of(payload));
    places = std::max(places, turn.position + 1);
    if (wb::measure::is_disturbed(turn.flags)) continue;  // it was taken again
    turns.push_back(std::move(turn));
  }
  const auto subjects = static_cast<std::size_t>((places + 1) / 2);
  block.lanes.resize(subjects);
  for (wb::measure::Turn& turn : turns) {
    const auto order = wb::measure::abba_order(subjects, turn.round + turn.instance);
    block.lanes[order[static_cast<std::size_t>(turn.position)]].push_back(std::move(turn));
  }
  return block;
}

struct Pair {
  std::string session, problem, regime, subject;
  double us = 0;
  wb::measure::Comparison comparison;
};

bool is_false(const Pair& pair) {
  return pair.comparison.outcome == wb::measure::ComparisonOutcome::faster ||
         pair.comparison.outcome == wb::measure::ComparisonOutcome::slower;
}

/// As a session has them, whose floor is of two processes an instance, where these are of one.
wb::measure::CompareOptions options_of(const wb::measure::NoiseFloor& floor, std::uint64_t seed) {
  wb::measure::CompareOptions options = wb::measure::compare_options(floor, seed);
  const auto processes = 2 * static_cast<double>(floor.instances);
  options.noise_floor_frac = std::expm1(floor.instance_sd_frac * std::sqrt(2 / processes));
  return options;
}

/// Nothing where no subject stands twice or none beside it. Without a figure the speedup is
/// k_unknown.
std::optional<Pair> pair_of(const Block& block, std::uint64_t seed) {
  const auto is_of = [&](std::size_t a, std::size_t b) {
    return !block.lanes[a].empty() && !block.lanes[b].empty() &&
           block.lanes[a].front().subject == block.lanes[b].front().subject;
  };
  for (std::size_t a = 0; a + 1 < block.lanes.size(); ++a) {
    if (!is_of(a, a + 1)) continue;
    for (std::size_t other = 0; other < block.lanes.size(); ++other) {
      if (block.lanes[other].empty() || is_of(a, other)) continue;
      Pair pair{.session = {},
                .problem = block.problem,
                .regime = block.regime,
                .subject = block.lanes[a].front().subject,
                .us = wb::measure::summarize(block.lanes[a], seed).median_us,
                .comparison = {}};
      const wb::measure::NoiseFloor floor = wb::measure::noise_floor(block.lanes[other]);
      pair.comparison =
          wb::measure::compare(block.lanes[a], block.lanes[a + 1], options_of(floor, seed));
      if (!floor.reason.empty()) pair.comparison.speedup = wb::measure::k_unknown;
      return pair;
    }
  }
  return std::nullopt;
}

struct Found {
  std::vector<Pair> pairs;
  std::size_t without_figure = 0;
};

wb::Result<void> read_pairs(const wb::fs::path& session, std::uint64_t seed, Found& found) {
  const wb::RealFileSystem file_system;
  WB_TRY_ASSIGN(const auto storage, wb::session::open_storage(file_system, session));
  WB_TRY_ASSIGN(const wb::session::EventLog log, wb::session::EventLog::open_reader(*storage));
  std::set<std::int64_t> seen;  // a comparison beside each rival has the same turns
  for (std::int64_t seq = 1; seq <= log.size(); ++seq) {
    if (log.envelope(seq).type != "comparison_made") continue;
    WB_TRY_ASSIGN(const Json made, log.payload(seq));
    const bool has_pair = made["phase"] == "baseline" || made["phase"] == "standalone";
    if (!has_pair || made["problem"].is_null() || made["plan"] != "hot") continue;
    if (!seen.insert(made["turns"][0].get<std::int64_t>()).second) continue;
    WB_TRY_ASSIGN(const Block block, read_block(log, made));
    auto pair = pair_of(block, seed);
    if (!pair) continue;
    if (!(pair->comparison.speedup > 0)) {
      ++found.without_figure;
      continue;
    }
    pair->session = wb::session::session_name(session);
    found.pairs.push_back(*std::move(pair));
  }
  return {};
}

/// One regime's rows; its false verdicts.
std::size_t print_regime(const std::string& regime, const std::vector<Pair>& pairs) {
  std::size_t all_false = 0;
  double least = 0;
  for (const auto& [most, title] : k_classes) {
    std::map<wb::measure::ComparisonOutcome, int> counts;
    int all = 0;
    for (const Pair& pair : pairs) {
      if (pair.regime != regime || pair.us < least || pair.us >= most) continue;
      ++counts[pair.comparison.outcome];
      ++all;
    }
    const int wrong = counts[wb::measure::ComparisonOutcome::faster] +
                      counts[wb::measure::ComparisonOutcome::slower];
    fmt::print("| {} | {} | {} | {} | {} | {} |\n", regime, title, all,
               counts[wb::measure::ComparisonOutcome::same],
               counts[wb::measure::ComparisonOutcome::ambiguous], wrong);
    all_false += static_cast<std::size_t>(wrong);
    least = most;
  }
  return all_false;
}

int run(std::vector<std::string> sessions) {
  std::uint64_t seed = 20'250'101;  // k_bootstrap_seed of engine/comparing.cpp
  if (sessions.size() >= 2 && sessions[0] == "--seed") {
    seed = std::stoull(sessions[1]);
    sessions.erase(sessions.begin(), sessions.begin() + 2);
  }
  Found found;
  for (const std::string& session : sessions) {
    if (const auto read = read_pairs(session, seed, found); !read.ok()) {
      fmt::print(stderr, "recorded_pairs: {}: {}\n", session, read.error().message());
      return 2;
    }
  }
  fmt::print("| regime | a call takes | pairs | same | ambiguous | false verdicts |\n");
  fmt::print("|---|---|---:|---:|---:|---:|\n");
  const std::vector<Pair>& pairs = found.pairs;
  bool met = !pairs.empty();
  for (const std::string regime : {"burst", "sustained"}) {
    const auto all = static_cast<std::size_t>(std::count_if(
        pairs.begin(), pairs.end(), [&](const Pair& pair) { return pair.regime == regime; }));
    if (all == 0) continue;
    met &= print_regime(regime, pairs) <= std::max<std::size_t>(1, all / 100);
  }
  if (found.without_figure > 0) fmt::print("{} more have no figure\n", found.without_figure);
  for (const Pair& pair : pairs) {
    if (!is_false(pair)) continue;
    fmt::print("{} {}, {}, {}: {:.4f} [{:.4f}, {:.4f}]; {}\n", pair.session, pair.problem,
               pair.subject, pair.regime, pair.comparison.speedup, pair.comparison.interval.low,
               pair.comparison.interval.high, pair.comparison.reason);
  }
  return met ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& fault) {
    fmt::print(stderr, "recorded_pairs: {}\n", fault.what());
    return 2;
  }
}
