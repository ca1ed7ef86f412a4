// SPDX-License-Identifier: MIT
// What counts, what is compared with what, and what is recommended, on hand-made sessions.
#include "outcome/outcome.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "support/catch.hpp"
#include "unit/outcome/story.hpp"

namespace wb::test {

using namespace outcome;
using measure::ComparisonOutcome;
using outcome::Outcome;  // core has one, too

namespace {

/// The baseline: behind torch_a on both problems, 2 and 4 times.
Story measured_baseline() {
  Story story;
  story.baseline();
  story.add(0, {.problem = k_small,
                .candidate = "base@1",
                .against = "torch_a",
                .speedup = 0.5,
                .phase = "baseline",
                .role = "rival"});
  story.add(0, {.problem = k_large,
                .candidate = "base@1",
                .against = "torch_a",
                .speedup = 0.25,
                .phase = "baseline",
                .role = "rival"});
  return story;
}

/// An iteration beside the incumbent and torch_a.
void iterate(Story& story, std::int64_t number, const std::string& label,
             const std::string& outcome, const std::string& incumbent, double small, double large,
             double small_rival, double large_rival) {
  story.iteration(number, label, outcome);
  story.add(number,
            {.problem = k_small, .candidate = label, .against = incumbent, .speedup = small});
  story.add(number,
            {.problem = k_large, .candidate = label, .against = incumbent, .speedup = large});
  story.add(number, {.problem = k_small,
                     .candidate = label,
                     .against = "torch_a",
                     .speedup = small_rival,
                     .role = "rival"});
  story.add(number, {.problem = k_large,
                     .candidate = label,
                     .against = "torch_a",
                     .speedup = large_rival,
                     .role = "rival"});
  story.add(number, {.problem = "",
                     .candidate = label,
                     .against = incumbent,
                     .speedup = std::sqrt(small * large)});
}

const Figure& over_start(const Outcome& outcome, std::size_t problem, const std::string& variant) {
  const Standing* standing = outcome.groups.at(0).problems.at(problem).find(variant);
  REQUIRE(standing != nullptr);
  REQUIRE(standing->over_start);
  return *standing->over_start;
}

}  // namespace

TEST_CASE("a view without anything has an outcome that says so") {
  const Outcome outcome = outcome_of(session::SessionView{});
  CHECK(outcome.recommendation.advice == Advice::none);
  CHECK(outcome.main_group() == nullptr);
  CHECK(outcome.chosen() == nullptr);
  CHECK(headline(outcome) == "nothing is measured yet");
  CHECK(advice_words(outcome) == "Measure a baseline first.");
  CHECK(losses(outcome).empty());
  CHECK(to_json(outcome)["recommendation"]["advice"] == "none");
}

TEST_CASE("iterations are advised only where nothing was measured beside the start") {
  Story bare;
  bare.baseline();
  CHECK(outcome_of(bare.view()).recommendation.advice == Advice::run_iterations);

  const Outcome surveyed = outcome_of(measured_baseline().view());
  CHECK(surveyed.recommendation.advice == Advice::keep_start);
  CHECK(surveyed.chosen()->over_rival.slower.size() == 2);
  CHECK(surveyed.recommendation.keep_rival == std::vector<std::size_t>{0, 1});
  CHECK(surveyed.recommendation.develop == "base@1");
}

TEST_CASE("over a suite of one problem the suite's comparison is that problem's") {
  Story story;
  story.baseline();
  story.iteration(1, "new@2", "win");
  story.judge(1, "base@1", k_small).judge(1, "new@2", k_small);
  story.add(1, {.problem = "", .candidate = "new@2", .against = "base@1", .speedup = 1.6});
  session::SessionView view = story.view();
  CHECK(outcome_of(view).main_group() == nullptr);  // of two problems it tells neither
  view.opened.payload["suite"]["problems"].erase(1);
  const Outcome outcome = outcome_of(view);
  CHECK(outcome.recommendation.advice == Advice::adopt);
  REQUIRE(outcome.main_group() != nullptr);
  CHECK(outcome.main_group()->problems[0].name == "small");
  CHECK(over_start(outcome, 0, "new@2").speedup == Approx(1.6));
  CHECK(over_start(outcome, 0, "new@2").events.size() == 1);
}

TEST_CASE("one win is adopted, with its figures over start and rival") {
  Story story = measured_baseline();
  iterate(story, 1, "new@2", "win", "base@1", 3, 3, 1.5, 0.75);
  const Outcome outcome = outcome_of(story.view());
  CHECK(outcome.recommendation.advice == Advice::adopt);
  CHECK(outcome.iterations == 1);
  REQUIRE(outcome.recommendation.parts.size() == 1);
  CHECK(outcome.recommendation.parts[0].variant == "new@2");
  const Choice& choice = *outcome.chosen();
  CHECK(choice.over_start.mean->value == Approx(3));
  CHECK(choice.over_rival.mean->value == Approx(std::sqrt(1.5 * 0.75)));
  CHECK(choice.over_rival.faster == std::vector<std::size_t>{0});
  CHECK(choice.over_rival.slower == std::vector<std::size_t>{1});
  CHECK(outcome.recommendation.keep_rival == std::vector<std::size_t>{1});
  CHECK(outcome.recommendation.parts[0].problems == std::vector<std::size_t>{0});
  CHECK(outcome.recommendation.develop.empty());
  CHECK(over_start(outcome, 0, "new@2").events.size() == 1);
}

TEST_CASE("what lost as a whole is chosen where it won") {
  Story story = measured_baseline();
  iterate(story, 1, "new@2", "win", "base@1", 4, 4, 2, 0.9);
  // Slower as a whole, faster on the large problem, and there ahead of the rival.
  iterate(story, 2, "wide@3", "no_gain", "new@2", 0.5, 1.25, 1, 1.125);
  const Outcome outcome = outcome_of(story.view());
  CHECK(outcome.recommendation.advice == Advice::dispatch);
  const Group& suite = outcome.groups[0];
  CHECK(suite.problems[0].best == "new@2");
  CHECK(suite.problems[1].best == "wide@3");
  CHECK(suite.single.variants == std::vector<std::string>{"new@2", "new@2"});
  CHECK(outcome.chosen()->over_rival.faster.size() == 2);
  CHECK(outcome.chosen()->over_rival.mean->value == Approx(std::sqrt(2 * 1.125)));
  CHECK(outcome.recommendation.keep_rival.empty());
  // The chain base, new, wide: a product with both events.
  CHECK(over_start(outcome, 1, "wide@3").speedup == Approx(4 * 1.25));
  CHECK(over_start(outcome, 1, "wide@3").events.size() == 2);
  REQUIRE(outcome.recommendation.confirmation);
  CHECK(outcome.recommendation.confirmation->candidate == "wide@3");
  CHECK(outcome.recommendation.confirmation->against == "new@2");
  CHECK(outcome.recommendation.confirmation->problems == std::vector<std::size_t>{1});
}

TEST_CASE("a variant that is not shown faster takes no problem from the best single one") {
  Story story = measured_baseline();
  iterate(story, 1, "new@2", "win", "base@1", 4, 4, 2, 2);
  iterate(story, 2, "twin@3", "no_gain", "new@2", 0.5, 1.005, 1, 2.01);
  CHECK(outcome_of(story.view()).recommendation.advice == Advice::adopt);
}

TEST_CASE("selections, and iterations that came to nothing, do not count") {
  Story story = measured_baseline();
  const std::string outcome =
      GENERATE(as<std::string>{}, "abandoned", "invalid", "open", "selection");
  if (outcome == "selection") {
    story.iteration(1, "new@2", "no_gain");
    story.add(1, {.problem = k_small,
                  .candidate = "new@2",
                  .against = "base@1",
                  .speedup = 9,
                  .phase = "selection"});
  } else {
    iterate(story, 1, "new@2", outcome, "base@1", 9, 9, 4, 4);
  }
  INFO(outcome);
  const Outcome made = outcome_of(story.view());
  CHECK(made.recommendation.advice == Advice::keep_start);
  CHECK(made.groups[0].problems[0].find("new@2") == nullptr);
}

TEST_CASE("a variant that failed has no figure anywhere, a rival only where it failed") {
  Story story = measured_baseline();
  iterate(story, 1, "new@2", "win", "base@1", 4, 4, 2, 2);
  SECTION("variant") {
    story.judge(1, "new@2", "B=1 Hq=1 Hkv=1 Sq=3 Skv=5 D=64 f16 causal=none", "correctness");
    const Outcome made = outcome_of(story.view());
    CHECK(made.groups[0].problems[0].find("new@2") == nullptr);
    CHECK(made.find("new") == nullptr);
  }
  SECTION("the machine's fault, or a problem that it does not take, is none of its own") {
    story.judge(1, "new@2", k_small, "pass").judge(1, "new@2", k_large, "pass");
    story.judge(1, "new@2", k_small, "environment").judge(1, "new@2", k_large, "constraints");
    CHECK(outcome_of(story.view()).groups[0].problems[0].find("new@2") != nullptr);
  }
  SECTION("rival") {
    story.judge(0, "torch_a", k_small, "correctness").judge(0, "torch_a", k_large);
    const Outcome made = outcome_of(story.view());
    CHECK(made.groups[0].problems[0].find("new@2")->rival.empty());
    CHECK(made.groups[0].problems[1].find("new@2")->rival == "torch_a");
    CHECK(made.chosen()->over_rival.missing == std::vector<std::size_t>{0});
  }
}

TEST_CASE("a larger mean that was not shown faster is not advised") {
  Story story = measured_baseline();
  const auto ambiguous = [&](std::int64_t number, const char* candidate, const char* against) {
    story.iteration(number, candidate, "no_gain");
    for (const char* problem : {k_small, k_large, ""}) {
      story.add(number, {.problem = problem,
                         .candidate = candidate,
                         .against = against,
                         .speedup = 1.07,
                         .outcome = "ambiguous"});
    }
  };
  SECTION("over the start") {
    ambiguous(1, "new@2", "base@1");
    const Outcome outcome = outcome_of(story.view());
    CHECK(outcome.recommendation.advice == Advice::keep_start);
    REQUIRE(outcome.recommendation.parts.size() == 1);
    CHECK(outcome.recommendation.parts[0].variant == "base@1");
  }
  SECTION("over the incumbent") {
    iterate(story, 1, "new@2", "win", "base@1", 4, 4, 2, 2);
    ambiguous(2, "twin@3", "new@2");
    const Outcome outcome = outcome_of(story.view());
    CHECK(outcome.recommendation.advice == Advice::adopt);
    REQUIRE(outcome.recommendation.parts.size() == 1);
    CHECK(outcome.recommendation.parts[0].variant == "new@2");
  }
}

TEST_CASE("the fastest rival counts, and one without a figure may be the fastest") {
  Story story = measured_baseline();
  iterate(story, 1, "new@2", "win", "base@1", 4, 4, 2, 2);
  SECTION("both have figures") {
    story.add(1, {.problem = k_small,
                  .candidate = "new@2",
                  .against = "torch_b@77",
                  .speedup = 1.5,
                  .role = "rival"});
    const Outcome outcome = outcome_of(story.view());
    const Standing* standing = outcome.groups[0].problems[0].find("new@2");
    CHECK(standing->rival == "torch_b");
    CHECK(standing->over_rival->speedup == Approx(1.5));
  }
  SECTION("one has none") {
    story.add(1, {.problem = k_small,
                  .candidate = "new@2",
                  .against = "torch_b",
                  .outcome = "ambiguous",
                  .role = "rival",
                  .spread = 0});
    const Outcome made = outcome_of(story.view());
    CHECK(made.chosen()->over_rival.undecided == std::vector<std::size_t>{0});
    CHECK(to_json(made)["groups"][0]["problems"][0]["variants"][0]["over_rival"]["speedup"]
              .is_null());
  }
}

TEST_CASE("comparisons outside iterations count, by plan and regime") {
  Story story = measured_baseline();
  for (const char* size : {"256", "1024", "4096"}) {
    const std::string problem =
        std::string("B=1 Hq=4 Hkv=4 Sq=") + size + " Skv=" + size + " D=128 bf16 causal=none";
    story.add({}, {.problem = problem,
                   .candidate = "wide@3",
                   .against = "torch_a@99",
                   .speedup = std::string(size) == "256" ? 0.9 : 1.5,
                   .phase = "standalone",
                   .role = "rival",
                   .regime = "sustained"});
  }
  const Outcome outcome = outcome_of(story.view());
  REQUIRE(outcome.groups.size() == 2);
  const Group* group = outcome.main_group();
  REQUIRE(group == &outcome.groups[1]);
  CHECK(group->plan == "hot");
  CHECK(group->regime == "sustained");
  CHECK(group->problems.size() == 3);
  CHECK(group->problems[0].name == "B1_H4_S256_D128_bf16");
  CHECK(outcome.chosen()->over_rival.faster.size() == 2);
  CHECK(outcome.chosen()->over_rival.slower == std::vector<std::size_t>{0});
  CHECK(outcome.chosen()->over_start.missing.size() == 3);
  CHECK(outcome.recommendation.advice == Advice::adopt);
  CHECK(outcome.recommendation.parts[0].variant == "wide@3");
}

TEST_CASE("a session that only compared its start is about what it compared it on") {
  const auto compared = [](Story& story, std::initializer_list<const char*> sizes) {
    for (const char* size : sizes) {
      const std::string problem =
          std::string("B=1 Hq=4 Hkv=4 Sq=") + size + " Skv=" + size + " D=128 bf16 causal=none";
      story.add({}, {.problem = problem,
                     .candidate = "base@1",
                     .against = "torch_a@99",
                     .speedup = 1.25,
                     .phase = "standalone",
                     .role = "rival",
                     .regime = "sustained"});
    }
  };
  Story survey = measured_baseline();
  compared(survey, {"256", "1024", "4096"});
  const Outcome of_survey = outcome_of(survey.view());
  REQUIRE(of_survey.main_group() == &of_survey.groups[1]);
  CHECK(of_survey.main_group()->regime == "sustained");
  CHECK(of_survey.recommendation.advice == Advice::keep_start);
  CHECK(of_survey.chosen()->over_rival.mean->value == Approx(1.25));
  // No more problems than the suite has are an aside, and so is what was compared after iterations.
  Story aside = measured_baseline();
  compared(aside, {"256"});
  CHECK(outcome_of(aside.view()).recommendation.group == 0);
  Story optimized = measured_baseline();
  iterate(optimized, 1, "new@2", "no_gain", "base@1", 0.9, 0.9, 1, 1);
  compared(optimized, {"256", "1024", "4096"});
  CHECK(outcome_of(optimized.view()).recommendation.group == 0);
}

TEST_CASE("an outside comparison on the suite's own terms joins the suite") {
  Story story = measured_baseline();
  iterate(story, 1, "new@2", "win", "base@1", 4, 4, 2, 2);
  story.add({}, {.problem = k_large,
                 .candidate = "wide@3",
                 .against = "new@2",
                 .speedup = 1.5,
                 .phase = "standalone",
                 .role = "rival",
                 .regime = "burst"});
  const Outcome outcome = outcome_of(story.view());
  CHECK(outcome.groups.size() == 1);
  CHECK(outcome.recommendation.advice == Advice::dispatch);
  CHECK(outcome.groups[0].problems[1].best == "wide@3");
  CHECK(over_start(outcome, 1, "wide@3").speedup == Approx(6));
}

TEST_CASE("of two comparisons of a pair the later one counts") {
  Story story = measured_baseline();
  iterate(story, 1, "new@2", "win", "base@1", 4, 4, 2, 2);
  story.add({}, {.problem = k_small,
                 .candidate = "base@1",
                 .against = "new@2",
                 .speedup = 0.2,
                 .phase = "standalone",
                 .role = "rival",
                 .regime = "burst"});
  CHECK(over_start(outcome_of(story.view()), 0, "new@2").speedup == Approx(5));
}

TEST_CASE("ways through variants go before ways through rivals") {
  Story story = measured_baseline();
  // Beside torch_a the start is at 0.5 and new at 3: through the rival it would be 6.
  iterate(story, 1, "mid@2", "win", "base@1", 2, 2, 1, 1);
  iterate(story, 2, "new@3", "win", "mid@2", 2, 2, 3, 3);
  CHECK(over_start(outcome_of(story.view()), 0, "new@3").speedup == Approx(4));
  // One that was compared with a rival alone has no other way.
  story.add({}, {.problem = k_small,
                 .candidate = "alone@4",
                 .against = "torch_a",
                 .speedup = 1,
                 .phase = "standalone",
                 .role = "rival",
                 .regime = "burst"});
  CHECK(over_start(outcome_of(story.view()), 0, "alone@4").speedup == Approx(2));
}

TEST_CASE("the objective's rule makes the mean") {
  Story story("base@1", "weighted_time");
  story.baseline();
  iterate(story, 1, "new@2", "win", "base@1", 4, 1.5, 2, 1.2);
  // Times are 100 us for the variant, so 200 and 120 us for the rival: 320 / 200.
  const Outcome outcome = outcome_of(story.view());
  CHECK(outcome.chosen()->over_rival.mean->value == Approx(1.6));
}

TEST_CASE("a problem that is held out has no name while its session is open") {
  Story story;
  story.hold_out(k_large).baseline();
  story.iteration(1, "new@2", "win");
  story.add(1, {.problem = k_small, .candidate = "new@2", .against = "base@1", .speedup = 2});
  story.add(1, {.problem = k_large, .candidate = "new@2", .against = "base@1", .speedup = 0.5});
  const Outcome open = outcome_of(story.view());
  const std::string said = to_json(open).dump() + paragraph(open);
  CHECK(said.find("large") == std::string::npos);
  CHECK(said.find("Sq=512") == std::string::npos);
  CHECK(losses(open).find("held-out 1") != std::string::npos);
  // It judges the choice and is no part of it.
  CHECK(open.chosen()->over_start.measured() == 1);
  CHECK(open.recommendation.advice == Advice::adopt);
  story.close();
  CHECK(losses(outcome_of(story.view())).find("large 0.500x") != std::string::npos);
}

TEST_CASE("any payload is read") {
  Story story = measured_baseline();
  iterate(story, 1, "new@2", "win", "base@1", 4, 4, 2, 2);
  session::SessionView view = story.view();
  const std::vector<Json> oddities{nullptr, 7, "x", Json::array({1, "a"}),
                                   Json{{"low", "x"}, {"problem", 3}}};
  for (const Json& odd : oddities) {
    INFO(odd.dump());
    for (const char* key : {"phase", "problem", "plan", "candidate", "against", "speedup",
                            "interval", "noise_floor_frac", "outcome", "role"}) {
      session::SessionView broken = view;
      for (session::Fact& fact : broken.iterations[1].comparisons) fact.payload[key] = odd;
      CHECK_NOTHROW(to_json(outcome_of(broken)).dump());
    }
    for (const char* key : {"suite", "objective", "rivals"}) {
      session::SessionView broken = view;
      broken.opened.payload[key] = odd;
      CHECK_NOTHROW(paragraph(outcome_of(broken)));
    }
  }
}

}  // namespace wb::test
