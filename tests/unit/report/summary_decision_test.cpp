// SPDX-License-Identifier: MIT
// The report of two pages: what was asked, the next steps and the decision.
#include <string>
#include <utility>

#include "core/json.hpp"
#include "log_builder.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"
#include "unit/outcome/story.hpp"

namespace wb::test {

namespace {

std::string summary_of(const session::SessionView& view) {
  return report::render_summary(view);
}

std::string summary_of(const Story& story) {
  return summary_of(story.view());
}

/// One win over the start, 2x on both problems.
Story mine_twice_as_fast() {
  Story story;
  story.baseline();
  story.iteration(1, "mine@2", "win");
  for (const char* problem : {k_small, k_large}) {
    story.add(1, {.problem = problem, .candidate = "mine@2", .against = "base@1", .speedup = 2});
  }
  return story;
}

/// mine@2 beside torch_a on both problems.
void put_beside(Story& story, double small, double large, const std::string& rival = "torch_a") {
  for (const char* problem : {k_small, k_large}) {
    story.add(1, {.problem = problem,
                  .candidate = "mine@2",
                  .against = rival,
                  .speedup = std::string(problem) == k_small ? small : large,
                  .role = "rival"});
  }
}

}  // namespace

TEST_CASE("two pages begin with the rivals where these are faster everywhere",
          "[report][summary]") {
  Story story = mine_twice_as_fast();
  put_beside(story, 0.5, 0.5);
  const std::string page = summary_of(story.close());
  CHECK(tells(page,
              "- **Recommendation:** Use torch_a on all 2 problems: it is ahead of the best "
              "variant here. The best own choice reaches 0.500x of it on average. To go on, "
              "develop mine@2: it is the best single variant."));
  CHECK(tells(page, "Use the rivals if these hold:"));
  CHECK(tells(
      page,
      "`mine@2` reaches 0.50x of them on average, so it must become 2.00x faster to be level."));
  for (const char* wrong : {"Take the recommendation", "Keep it there", "in place of the start"}) {
    CHECK(page.find(wrong) == std::string::npos);
  }
}

TEST_CASE("two pages say for which problems the recommendation holds", "[report][summary]") {
  Story story = mine_twice_as_fast();
  session::SessionView view = story.close().view();
  CHECK(tells(summary_of(view),
              "- It holds for problems like these 2, hot burst: f16, B 1 to 8, 4 heads, Sq and Skv "
              "64 to 512, D 64, not causal."));
  const Json device{{"name", "NVIDIA H200"}, {"backend", "cuda"}};
  view.environment = session::Fact{1, "", Json::object({{"device", device}})};
  view.opened.payload["suite"]["problems"].erase(1);
  CHECK(tells(summary_of(view), "problems like this one on NVIDIA H200, hot burst: f16, B 1, "));
  Story mixed;
  const std::string decode = "B=2 Hq=8 Hkv=2 Sq=1 Skv=4096 D=128 bf16 causal=bottom_right";
  mixed.baseline();
  for (const std::string& problem : {std::string(k_small), decode}) {
    mixed.add(std::nullopt, {.problem = problem,
                             .candidate = "own@9",
                             .against = "torch_a",
                             .speedup = 2,
                             .phase = "standalone",
                             .role = "rival",
                             .regime = "sustained"});
  }
  CHECK(
      tells(summary_of(mixed.close()),
            "problems like these 2, hot sustained: bf16 and f16, B 1 to 2, Hq 4 to 8, Hkv 2 to 4, "
            "Sq 1 to 64, Skv 64 to 4096, D 64 to 128, causal and not."));
}

TEST_CASE("two pages name the rivals that the figures rest on", "[report][summary]") {
  Story story = mine_twice_as_fast();
  put_beside(story, 1.5, 3);
  put_beside(story, 3, 1.5, "torch_b");
  session::SessionView view = story.close().view();
  const std::string unknown = summary_of(view);
  CHECK(tells(unknown,
              "Measure again when `torch_a` or `torch_b` changes; their version is not recorded."));
  for (const char* rival : {"torch_a", "torch_b"}) {
    const bool is_a = std::string(rival) == "torch_a";
    view.iterations[0].built.push_back({is_a ? 2 : 3,
                                        "",
                                        {{"subject", rival},
                                         {"outcome", "built"},
                                         {"versions", {{"torch", is_a ? "2.12" : "2.11"}}}}});
  }
  const std::string page = summary_of(view);
  CHECK(tells(page, "Measure again when `torch_a` changes; it was torch 2.12 [e2]."));
  CHECK(tells(page, "Measure again when `torch_b` changes; it was torch 2.11 [e3]."));
  Story one = mine_twice_as_fast();
  put_beside(one, 3, 3);
  put_beside(one, 1.5, 1.5, "torch_b");
  CHECK(tells(summary_of(one.close()), "Measure again when `torch_b` changes"));
}

TEST_CASE("two pages of a session that only measured say so", "[report][summary]") {
  Story story;
  story.baseline();
  for (const char* problem : {k_small, k_large}) {
    story.add(0, {.problem = problem,
                  .candidate = "base@1",
                  .against = "torch_a",
                  .speedup = 2,
                  .phase = "baseline",
                  .role = "rival"});
  }
  // While it is open, iterations may follow.
  CHECK(tells(summary_of(story), "Make `base@1` faster on 2 problems of suite `two`"));
  const std::string page = summary_of(story.close());
  CHECK(tells(page, "Measure `base@1` beside rivals on 2 problems of suite `two`"));
  CHECK(page.find("Make `base@1` faster") == std::string::npos);
}

TEST_CASE("a missed goal has a step", "[report][summary]") {
  session::SessionView view = mine_twice_as_fast().close().view();
  const auto note = [&](const std::string& words) {
    view.notes.push_back({view.events, "", {{"text", words}}});
  };
  note("near: geometric mean 1.20 asked for, 1.181 reached; lowest other_name 1.137; goal missed");
  const std::string event = "[e" + std::to_string(view.events) + "]";
  CHECK(tells(summary_of(view),
              "| Reach the goal near (its weakest problem is at 1.14x): find out first what limits "
              "it"));
  CHECK(tells(summary_of(view), "1.6 % more reaches the goal " + event));
  note("far: 0.938 reached; lowest large 0.5; goal missed; short: large 0.500x beside torch_a");
  note("met: geometric mean 1.10 asked for, 1.147 reached; lowest small 1.1; goal reached");
  const std::string page = summary_of(view);
  CHECK(tells(page,
              "| Reach the goal far (weakest on large, 0.50x): find out first what "
              "limits it. Then 1 more missed"));
  CHECK(tells(page, "100 % more reaches the rival " + event));
  Json causes = Json::array();
  causes.push_back({{"cause", "a"}, {"title", "too few blocks"}, {"state", "supported"}});
  Json decided{{"subject", "mine@2"}};
  decided["causes"] = std::move(causes);
  view.causes = session::Fact{1, "", std::move(decided)};
  CHECK(tells(summary_of(view), "0.50x): begin with its cause (above)"));
}

TEST_CASE("room is explained where no rival shows how much can be had", "[report][summary]") {
  Story story = mine_twice_as_fast();
  put_beside(story, 2, 0.9);
  session::SessionView view = story.close().view();
  const auto room = [&](const char* problem, double share) {
    view.iterations[1].findings.push_back(
        {view.events,
         "",
         {{"analysis", "roofline_share"},
          {"problem", problem},
          {"statement", "s"},
          {"figures", {{"share_frac", share}, {"plan", "hot"}}}}});
  };
  room(k_small, 0.1);
  CHECK(tells(summary_of(view), "Find why small takes 10.0 times the least it could"));
  room(k_large, 0.05);
  CHECK(tells(summary_of(view), "Find why small takes 10.0 times the least it could"));
  CHECK(tells(summary_of(view), "Find out why large is slower than `torch_a`"));
}

TEST_CASE("what iterations took is a part of what the session took", "[report][summary]") {
  Story story = mine_twice_as_fast();
  session::SessionView view = story.close().view();
  view.iterations[1].ledger.debit(session::CostItem::device, 60, std::nullopt);
  view.ledger.debit(session::CostItem::device, 100, std::nullopt);
  CHECK(tells(summary_of(view),
              "the one iteration took 1 min of the device; baseline and other "
              "measurements 40 s."));
  session::IterationView second = view.iterations[1];
  second.number = 2;
  view.iterations.push_back(second);
  view.ledger.debit(session::CostItem::device, 20, std::nullopt);
  CHECK(tells(summary_of(view), "2 iterations took 2 min of the device, on average 1 min each."));
}

TEST_CASE("two pages say what the recommendation with the rivals it keeps reaches",
          "[report][summary]") {
  Story story = mine_twice_as_fast();
  put_beside(story, 4, 0.25);
  const std::string page = summary_of(story.close());
  CHECK(tells(page, "ahead on 1 of 2, behind on 1. With"));
  CHECK(tells(page, "With the rivals kept where they are faster, counted as 1.00x, it is 2.00x."));
  Story ahead = mine_twice_as_fast();
  put_beside(ahead, 4, 4);
  const std::string won = summary_of(ahead.close());
  CHECK(won.find("With the rivals kept") == std::string::npos);
  CHECK(tells(won, "Use mine@2 in place of the start and of torch_a."));
}

TEST_CASE("a rival that is level within 1 % is not measured again", "[report][summary]") {
  for (const double spread : {1.008, 1.05}) {
    Story story = mine_twice_as_fast();
    put_beside(story, 2, 2);
    story.add(1, {.problem = k_small,
                  .candidate = "mine@2",
                  .against = "torch_a",
                  .speedup = 1,
                  .outcome = "ambiguous",
                  .role = "rival",
                  .spread = spread});
    const std::string page = summary_of(story.close());
    INFO(page);
    CHECK(tells(page, "Measure small again, in more worker processes") == (spread > 1.01));
  }
}

TEST_CASE("two pages of a roadmap name the kernel or the parameter to try", "[report][summary]") {
  Story story = mine_twice_as_fast();
  put_beside(story, 2, 2);
  session::SessionView view = story.close().view();
  const auto entry = [](const char* technique, const char* how, double expected) {
    return Json{{"technique", technique}, {"title", "a way"}, {"how", how},
                {"expected", expected},   {"low", 1.0},       {"high", 3.0},
                {"hours_low", 2},         {"hours_high", 8},  {"risk", "low"}};
  };
  view.roadmap =
      session::Fact{0,
                    "",
                    {{"incumbent", "mine@2"},
                     {"entries", Json::array({entry("padding", "PADDING=4", 1.5),
                                              entry("tensor_core_mma", "other has it", 1.2)})}}};
  const std::string page = summary_of(view);
  INFO(page);
  CHECK(tells(page, "| Try a way (`padding`) by PADDING=4"));
  CHECK(tells(page, "2 to 8 h"));
  CHECK(tells(page, "| Compare `other`, which has a way (`tensor_core_mma`)"));
  CHECK(tells(page, "1.20x (1.00x to 3.00x)"));
}

}  // namespace wb::test
