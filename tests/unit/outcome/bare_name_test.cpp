// SPDX-License-Identifier: MIT
// What a kernel's name without an artifact means: its best confirmed variant.
#include "core/json.hpp"
#include "outcome/outcome.hpp"
#include "support/catch.hpp"
#include "unit/outcome/story.hpp"

namespace wb::test {

using namespace outcome;
using outcome::Outcome;  // core has one, too

namespace {

void measured_iteration(Story& story, std::int64_t number, const std::string& label,
                        const std::string& outcome, const std::string& incumbent, double speedup) {
  story.iteration(number, label, outcome);
  for (const char* problem : {k_small, k_large, ""}) {
    story.add(number,
              {.problem = problem, .candidate = label, .against = incumbent, .speedup = speedup});
  }
}

std::string meaning(const Outcome& outcome, const std::string& name) {
  const VariantOutcome* found = outcome.find(name);
  return found == nullptr ? "none" : found->label;
}

}  // namespace

TEST_CASE("a bare name is the winner, not the loser that came after it") {
  Story story("cpu_base@1");
  story.baseline();
  measured_iteration(story, 1, "tiled@a", "win", "cpu_base@1", 1.5);
  measured_iteration(story, 2, "tiled@b", "win", "tiled@a", 1.2);
  measured_iteration(story, 3, "tiled@c", "no_gain", "tiled@b", 0.8);
  const Outcome outcome = outcome_of(story.view());
  CHECK(meaning(outcome, "tiled") == "tiled@b");
  CHECK(meaning(outcome, "cpu_base") == "cpu_base@1");
  CHECK(meaning(outcome, "unknown") == "none");
  CHECK(meaning(outcome, "torch_a") == "none");
  CHECK(outcome.variants.front().over_start->value == Approx(1.8));
}

TEST_CASE("a confirmed loser comes before what was only selected or judged") {
  Story story("cpu_base@1");
  story.baseline();
  measured_iteration(story, 1, "tiled@a", "no_gain", "cpu_base@1", 0.8);
  story.iteration(2, "tiled@b", "no_gain");
  story.add(2, {.problem = k_small,
                .candidate = "tiled@b",
                .against = "cpu_base@1",
                .speedup = 1,
                .phase = "selection"});
  CHECK(meaning(outcome_of(story.view()), "tiled") == "tiled@a");
}

TEST_CASE("without a figure it is the last that passed") {
  Story story("cpu_base@1");
  story.baseline();
  story.iteration(1, "tiled@a", "no_gain").judge(1, "tiled@a", k_small);
  story.iteration(2, "tiled@b", "no_gain").judge(2, "tiled@b", k_small);
  story.iteration(3, "tiled@c", "invalid").judge(3, "tiled@c", k_small, "correctness");
  story.iteration(4, "tiled@d", "no_gain").judge(4, "tiled@d", k_small, "pass", "screening");
  CHECK(meaning(outcome_of(story.view()), "tiled") == "tiled@b");
}

TEST_CASE("beside no start the variant that wins most problems is meant") {
  Story story("cpu_base@1");
  story.baseline();
  for (const char* problem : {k_small, k_large}) {
    for (const auto& [label, speedup] : {std::pair("tiled@b", 1.5), std::pair("tiled@a", 1.2)}) {
      story.add({}, {.problem = problem,
                     .candidate = label,
                     .against = "torch_a",
                     .speedup = speedup,
                     .phase = "standalone",
                     .role = "rival",
                     .regime = "sustained"});
    }
  }
  CHECK(meaning(outcome_of(story.view()), "tiled") == "tiled@b");
}

}  // namespace wb::test
