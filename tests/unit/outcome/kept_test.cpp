// SPDX-License-Identifier: MIT
// The kept sessions. Expected figures were computed from their logs by other code: ratios of the
// confirmed comparisons multiplied along the chain of incumbents, the lowest ratio over the rivals
// of each problem, and means of logarithms.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <string>

#include "core/json.hpp"
#include "outcome/outcome.hpp"
#include "session/log.hpp"
#include "session/storage.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

namespace wb::test {

using namespace outcome;
using measure::ComparisonOutcome;
using outcome::Outcome;  // core has one, too
using session::EventLog;
using session::SessionView;

namespace {

EventLog kept_log(const fs::path& archive) {
  INFO(archive.string());
  const RealFileSystem file_system;
  const auto storage = session::open_storage(file_system, archive);
  REQUIRE(storage.ok());
  auto log = EventLog::open_reader(**storage);
  REQUIRE(log.ok());
  return *std::move(log);
}

SessionView kept_view(const std::string& name) {
  auto view = session::fold(kept_log(source_dir() / "sessions" / (name + ".tar.gz")),
                            session::FoldDepth::full);
  REQUIRE(view.ok());
  return *std::move(view);
}

const Standing& standing(const Group& group, const std::string& problem,
                         const std::string& variant) {
  for (const ProblemOutcome& item : group.problems) {
    const Standing* found = item.name == problem ? item.find(variant) : nullptr;
    if (found != nullptr) return *found;
  }
  FAIL("no standing of " << variant << " on " << problem);
  throw std::logic_error("unreachable");
}

std::map<std::string, std::size_t> counts(const Outcome& outcome) {
  std::map<std::string, std::size_t> found;
  for (const Part& part : outcome.recommendation.parts) found[part.variant] = part.problems.size();
  return found;
}

std::set<std::string> names(const Group& group, const std::vector<std::size_t>& problems) {
  std::set<std::string> found;
  for (const std::size_t at : problems) found.insert(group.problems[at].name);
  return found;
}

void check_mean(const Total& total, double value, double low, double high) {
  REQUIRE(total.mean);
  CHECK(total.mean->value == Approx(value).epsilon(1e-4));
  CHECK(total.mean->interval.low == Approx(low).epsilon(1e-3));
  CHECK(total.mean->interval.high == Approx(high).epsilon(1e-3));
}

bool tells(const std::string& text, const std::string& words) {
  INFO(text);
  return text.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("ladder: a dispatch of two variants is ahead on all 11 problems", "[kept]") {
  const Outcome outcome = outcome_of(kept_view("ladder"));
  CHECK(outcome.recommendation.advice == Advice::dispatch);
  CHECK(counts(outcome) == std::map<std::string, std::size_t>{{"sm80_mma_flash@b4ef2ed2", 8},
                                                              {"sm90_wgmma_carry@e5bd03a3", 3}});
  const Group& suite = *outcome.main_group();
  CHECK(names(suite, outcome.recommendation.confirmation->problems) ==
        std::set<std::string>{"v3_B4H16", "v3_B8H16", "it3_B16H8S512"});
  CHECK(outcome.chosen()->over_rival.faster.size() == 11);
  CHECK(outcome.chosen()->over_rival.events.front() == 4646);
  CHECK(outcome.chosen()->over_rival.events.back() == 6288);
  CHECK(outcome.recommendation.keep_rival.empty());
  check_mean(outcome.chosen()->over_rival, 1.84631, 1.82937, 1.8634);
  check_mean(suite.single.over_rival, 1.66402, 1.64883, 1.67936);
  check_mean(outcome.chosen()->over_start, 46.79554, 45.59882, 48.02366);
  // The suite's own figure: the product of the confirmed steps.
  check_mean(suite.single.over_start, 53.55693, 53.20556, 53.91062);
  const Standing& carry = standing(suite, "v3_B4H16", "sm90_wgmma_carry@e5bd03a3");
  CHECK(carry.rival == "torch_default");
  CHECK(carry.over_rival->speedup == Approx(1.09270).epsilon(1e-5));
  CHECK(carry.over_rival->events == std::vector<std::int64_t>{6286});
  CHECK(carry.over_start->speedup == Approx(381.9716).epsilon(1e-5));
  CHECK(tells(headline(outcome),
              "dispatch: sm80_mma_flash@b4ef2ed2 on 8, "
              "sm90_wgmma_carry@e5bd03a3 on 3; ahead of the fastest rival on 11 "
              "of 11, 1.85x [1.83, 1.86]"));
  CHECK(losses(outcome).empty());
  CHECK(tells(advice_words(outcome),
              "confirm by `sdpa-wb compare sm90_wgmma_carry@e5bd03a3 sm80_mma_flash@b4ef2ed2`"));
  CHECK(outcome.find("sm80_mma_flash")->label == "sm80_mma_flash@b4ef2ed2");
  CHECK(outcome.find("sm80_tiled_flash")->label == "sm80_tiled_flash@d5ab0b78");
}

TEST_CASE("n6-baseline: the incumbent is slower than the start on n6_B8H4", "[kept]") {
  const Outcome outcome = outcome_of(kept_view("n6-baseline"));
  const Group& suite = *outcome.main_group();
  const Figure& lost = *standing(suite, "n6_B8H4", "sm80_tiled_flash@637b81d9").over_start;
  CHECK(lost.speedup == Approx(0.8818).epsilon(1e-4));
  CHECK(lost.interval.low == Approx(0.8495).epsilon(1e-4));
  CHECK(lost.interval.high == Approx(0.9152).epsilon(1e-4));
  CHECK(lost.outcome == ComparisonOutcome::slower);
  CHECK(std::set<std::int64_t>(lost.events.begin(), lost.events.end()) ==
        std::set<std::int64_t>{2262, 3475, 4689, 5902});
  CHECK(names(suite, suite.single.over_start.slower) == std::set<std::string>{"n6_B8H4"});
  CHECK(tells(losses(outcome),
              "The incumbent sm80_tiled_flash@637b81d9 alone is slower than the "
              "start: n6_B8H4 0.88x [0.85, 0.92]"));
  CHECK(counts(outcome) == std::map<std::string, std::size_t>{{"sm80_tiled_flash@637b81d9", 9},
                                                              {"sm80_sequential_kv@b8e74f46", 2}});
  // A rival is faster on all 11: they are to be used, and no dispatch is to be confirmed.
  CHECK(outcome.recommendation.develop == "sm80_tiled_flash@637b81d9");
  CHECK_FALSE(outcome.recommendation.confirmation);
  CHECK(advice_words(outcome) ==
        "Use torch_flash on 8 problems and torch_default on n6_S4, n6_S192, n6_S256: each is ahead "
        "of the best variant "
        "here. The best own choice reaches 0.224x of them on average. To go on, develop "
        "sm80_tiled_flash@637b81d9: it is the best single variant.");
  check_mean(suite.single.over_start, 1.86890, 1.85068, 1.88730);
  check_mean(outcome.chosen()->over_start, 1.95347, 1.89182, 2.01713);
  CHECK(outcome.chosen()->over_rival.slower.size() == 11);
  check_mean(suite.single.over_rival, 0.21428, 0.21158, 0.21701);
  CHECK(outcome.find("sm80_sequential_kv")->label == "sm80_sequential_kv@b8e74f46");
}

TEST_CASE("h200-part2-whole: ahead on 43 of 45 without an iteration", "[kept]") {
  const Outcome outcome = outcome_of(kept_view("h200-part2-whole"));
  const Group& group = *outcome.main_group();
  CHECK_FALSE(group.is_suite);
  CHECK(group.regime == "sustained");
  CHECK(outcome.iterations == 0);
  CHECK(outcome.recommendation.advice == Advice::adopt);
  CHECK(counts(outcome) == std::map<std::string, std::size_t>{{"sm90_wgmma_carry@a5b3a5f4", 44}});
  const Total& rivals = outcome.chosen()->over_rival;
  CHECK(rivals.faster.size() == 43);
  CHECK(rivals.same.size() == 1);
  CHECK(names(group, rivals.slower) == std::set<std::string>{"B32_H8_S512_D256_bf16"});
  CHECK(rivals.mean->value == Approx(1.13934).epsilon(1e-4));
  CHECK(tells(headline(outcome),
              "(compared between iterations, hot sustained); ahead of "
              "torch_default on 43 of 45, same on 1, behind on 1, 1.139x"));
  CHECK(tells(losses(outcome), "Slower than a rival: B32_H8_S512_D256_bf16 0.94"));
  CHECK(tells(losses(outcome), "[e1324] of torch_default."));
  CHECK(tells(advice_words(outcome), "keep torch_default on B32_H8_S512_D256_bf16"));
}

TEST_CASE("other climbs: what to adopt, and where a rival is kept", "[kept]") {
  struct Expected {
    const char* session;
    const char* variant;
    double over_start, over_rival;
    std::size_t ahead, behind, undecided;
  };
  const Expected expected = GENERATE(
      Expected{"large-head-dims", "sm90_cluster_large_hdim@cf713494", 8.80955, 8.73181, 4, 0, 0},
      Expected{"from-benchmarks", "sm80_mma_flash@b4ef2ed2", 30.75075, 1.28788, 3, 2, 0},
      Expected{"hopper-prefill", "sm90_wgmma_carry@03a6216e", 1.80276, 1.06069, 3, 0, 1},
      Expected{"hopper-prefill-ends", "sm90_wgmma_carry@792ff8ec", 1.06818, 1.13106, 4, 0, 0},
      Expected{"cpu-prefill-f32", "cpu_simd_flash@73669164", 2.26266, 1.51071, 4, 0, 1});
  INFO(expected.session);
  const Outcome outcome = outcome_of(kept_view(expected.session));
  CHECK(outcome.recommendation.advice == Advice::adopt);
  REQUIRE(outcome.recommendation.parts.size() == 1);
  CHECK(outcome.recommendation.parts[0].variant == expected.variant);
  CHECK(outcome.chosen()->over_start.mean->value == Approx(expected.over_start).epsilon(1e-4));
  CHECK(outcome.chosen()->over_rival.mean->value == Approx(expected.over_rival).epsilon(1e-4));
  CHECK(outcome.chosen()->over_rival.faster.size() == expected.ahead);
  CHECK(outcome.chosen()->over_rival.slower.size() == expected.behind);
  CHECK(outcome.chosen()->over_rival.undecided.size() == expected.undecided);
}

TEST_CASE("sessions of comparisons alone: the best of each problem", "[kept]") {
  struct Expected {
    const char* session;
    std::size_t problems, ahead, behind, same, undecided;
    double mean;
  };
  const Expected expected = GENERATE(Expected{"h200-part1-sustained", 57, 54, 0, 2, 1, 2.24998},
                                     Expected{"h200-part1-whole", 57, 54, 0, 2, 1, 2.06559},
                                     Expected{"h200-others", 34, 29, 4, 0, 1, 1.35763});
  INFO(expected.session);
  const Outcome outcome = outcome_of(kept_view(expected.session));
  const Total& rivals = outcome.chosen()->over_rival;
  CHECK(outcome.main_group()->problems.size() == expected.problems);
  CHECK(rivals.faster.size() == expected.ahead);
  CHECK(rivals.slower.size() == expected.behind);
  CHECK(rivals.same.size() == expected.same);
  CHECK(rivals.undecided.size() == expected.undecided);
  CHECK(rivals.mean->value == Approx(expected.mean).epsilon(1e-4));
}

TEST_CASE("every kept session: figures cite comparisons, and no advice contradicts them",
          "[kept]") {
  std::size_t sessions = 0;
  for (const auto& file : fs::directory_iterator(source_dir() / "sessions")) {
    if (!file.path().string().ends_with(".tar.gz")) continue;
    ++sessions;
    INFO(file.path().string());
    const EventLog log = kept_log(file.path());
    const auto view = session::fold(log, session::FoldDepth::full);
    REQUIRE(view.ok());
    const Outcome outcome = outcome_of(*view);
    REQUIRE(outcome.main_group() != nullptr);
    CHECK(outcome.recommendation.advice != Advice::run_iterations);
    CHECK(outcome.recommendation.advice != Advice::none);
    for (const Group& group : outcome.groups) {
      for (const ProblemOutcome& problem : group.problems) {
        for (const Standing& item : problem.standings) {
          for (const auto* figure : {&item.over_start, &item.over_rival}) {
            if (!*figure) continue;
            for (const std::int64_t event : (*figure)->events) {
              CHECK(log.envelope(event).type == "comparison_made");
            }
          }
        }
        // No other variant is shown faster than what is recommended.
        if (problem.standings.empty() || problem.held_out) continue;
        const Standing* best = problem.find(problem.best);
        REQUIRE(best != nullptr);
        const Standing& first = problem.standings.front();
        if (best->over_start && first.over_start) {
          CHECK(best->over_start->interval.high >= first.over_start->interval.low);
        }
      }
    }
    CHECK(paragraph(outcome).size() < 1500);
    CHECK_FALSE(to_json(outcome).dump().empty());
  }
  CHECK(sessions >= 40);
}

}  // namespace wb::test
