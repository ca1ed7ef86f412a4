// SPDX-License-Identifier: MIT
#include "advise/roadmap.hpp"

#include <algorithm>
#include <cmath>

#include "core/json.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

using namespace wb;
using namespace wb::advise;
using namespace wb::catalogue;
using namespace wb::problem;
using namespace wb::variant;

namespace {

std::vector<Technique> made_catalogue() {
  return *load_techniques(RealFileSystem(), SearchPath{{source_dir()}});
}

RoadmapProblem problem_of(const std::string& text, std::string bound, double room,
                          std::optional<double> rival = {}) {
  RoadmapProblem result;
  result.problem = *parse_problem(text);
  result.bound = std::move(bound);
  result.room_ratio = room;
  result.rival_ratio = rival;
  result.events = {7};
  return result;
}

/// A tiled kernel without tensor cores on a Hopper GPU, ten times behind.
Situation tiled() {
  Situation s;
  s.incumbent = "k@00000000";
  s.backend = "cuda";
  s.architecture = "sm_90";
  s.techniques = {"fused_softmax", "online_softmax", "query_tiling"};
  s.problems = {problem_of("B=8 Hq=16 Sq=512 D=64 f16", "compute", 100, 0.1)};
  return s;
}

const RoadmapEntry* find(const Roadmap& roadmap, std::string_view technique) {
  const auto found =
      std::find_if(roadmap.entries.begin(), roadmap.entries.end(),
                   [&](const RoadmapEntry& e) { return e.technique->name == technique; });
  return found == roadmap.entries.end() ? nullptr : &*found;
}

std::string reason_of(const Roadmap& roadmap, std::string_view technique) {
  for (const NotAdvised& one : roadmap.not_advised) {
    if (one.technique == technique) return one.reason;
  }
  return {};
}

/// Of another session, on the problem of tiled().
Trial trial_of(const std::string& technique, const std::string& kernel, double speedup,
               const std::string& outcome) {
  Trial trial;
  trial.session = "before";
  trial.iteration = 4;
  trial.event = 40;
  trial.backend = "cuda";
  trial.architecture = "sm_90";
  trial.parent = trial.kernel = kernel;
  trial.problems = {*parse_problem("B=8 Hq=16 Sq=512 D=64 f16")};
  trial.added = {technique};
  trial.isolated = technique;
  trial.outcome = outcome;
  trial.speedup = speedup;
  return trial;
}

}  // namespace

TEST_CASE("what the incumbent lacks is advised, what it has is not", "[advise]") {
  const auto all = made_catalogue();
  Situation s = tiled();
  const Roadmap roadmap = make_roadmap(all, s);
  REQUIRE_FALSE(roadmap.entries.empty());
  CHECK(roadmap.entries.front().technique->name == "tensor_core_mma");
  CHECK(roadmap.entries.front().strength == EvidenceStrength::strong);
  CHECK(roadmap.entries.front().events == std::vector<std::int64_t>{7});
  CHECK(reason_of(roadmap, "query_tiling") == "the incumbent has it");
  s.techniques.push_back("tensor_core_mma");
  const Roadmap later = make_roadmap(all, s);
  CHECK(find(later, "tensor_core_mma") == nullptr);
  CHECK(reason_of(later, "register_tiling").find("pointless") != std::string::npos);
  // Each technique of the backend is either advised or has a reason not to be; no other is there.
  for (const Technique& technique : all) {
    INFO(technique.name);
    const auto& backends = technique.backends;
    const bool ours = std::find(backends.begin(), backends.end(), "cuda") != backends.end();
    const bool advised = find(later, technique.name) != nullptr;
    const bool left_out = !reason_of(later, technique.name).empty();
    CHECK((advised != left_out) == ours);
  }
}

TEST_CASE("a technique that another kernel has is told with that kernel", "[advise]") {
  const auto all = made_catalogue();
  Situation s = tiled();
  REQUIRE(find(make_roadmap(all, s), "tensor_core_mma")->how.empty());
  s.kernels_with = {{"tensor_core_mma", "other_flash"}, {"vectorized_loads", "other_flash"}};
  s.switches = {{"vectorized_loads", "VECTOR_LOADS=1"}};
  const Roadmap roadmap = make_roadmap(all, s);
  CHECK(find(roadmap, "tensor_core_mma")->how == "other_flash has it");
  // What a parameter turns on needs no other kernel.
  CHECK(find(roadmap, "vectorized_loads")->how == "VECTOR_LOADS=1");
}

TEST_CASE("architecture, kind of problem and dtype keep techniques out", "[advise]") {
  const auto all = made_catalogue();
  Situation s = tiled();
  s.architecture = "sm_80";
  Roadmap roadmap = make_roadmap(all, s);
  CHECK(reason_of(roadmap, "tensor_core_wgmma") == "needs sm_90, this is sm_80");
  CHECK(find(roadmap, "tensor_core_mma") != nullptr);
  CHECK(reason_of(roadmap, "masked_block_skip") == "no problem of the suite is of its kind");
  s.problems = {problem_of("B=8 Hq=16 Sq=512 D=64 f32 causal=top_left", "compute", 100)};
  roadmap = make_roadmap(all, s);
  CHECK(find(roadmap, "masked_block_skip") != nullptr);
  CHECK(reason_of(roadmap, "tensor_core_mma") == "no problem of the suite is of its kind");
  s.problems.front().bound = "launch";
  roadmap = make_roadmap(all, s);
  CHECK(reason_of(roadmap, "masked_block_skip").find("bounds none") != std::string::npos);
  CHECK(roadmap.entries.empty());
}

TEST_CASE("no gain goes beyond the room that the bound leaves", "[advise]") {
  const auto all = made_catalogue();
  Situation s = tiled();
  s.problems.front().room_ratio = 1.5;
  const Roadmap roadmap = make_roadmap(all, s);
  const RoadmapEntry* entry = find(roadmap, "tensor_core_mma");
  REQUIRE(entry != nullptr);
  CHECK(entry->low == Approx(1.5));
  CHECK(entry->high == Approx(1.5));
  for (const RoadmapStage& stage : roadmap.stages) CHECK(stage.high <= 1.5 * (1 + 1e-12));
  s.problems.front().room_ratio = 1.0;
  const Roadmap none = make_roadmap(all, s);
  CHECK(none.entries.empty());
  CHECK(reason_of(none, "tensor_core_mma") == "the problems' bounds leave it no room");
}

TEST_CASE("a suite is helped where its bound is the technique's", "[advise]") {
  const auto all = made_catalogue();
  Situation s = tiled();
  s.problems.push_back(problem_of("B=1 Hq=1 Sq=16 D=64 f16", "launch", 100));
  s.problems.back().weight = 3;
  const Roadmap roadmap = make_roadmap(all, s);
  const RoadmapEntry* entry = find(roadmap, "tensor_core_mma");
  REQUIRE(entry != nullptr);
  CHECK(entry->share_frac == Approx(0.25));
  CHECK(entry->high == Approx(std::pow(8.0, 0.25)));
  // Where nothing says what bounds it, it may help, on weak evidence.
  s.problems.back().bound.clear();
  const Roadmap unknown = make_roadmap(all, s);
  REQUIRE(find(unknown, "tensor_core_mma") != nullptr);
  CHECK(find(unknown, "tensor_core_mma")->strength == EvidenceStrength::weak);
  CHECK(std::count(unknown.unseen.begin(), unknown.unseen.end(),
                   "what bounds some of the problems") == 1);
}

TEST_CASE("the share of past predictions is drawn towards 1 and never negative", "[advise]") {
  CHECK(calibration_of({}).share == 1.0);
  CHECK(calibration_of({{4, 2, 1}, {4, 2, 2}}).share == Approx((3 + 2 * 0.5) / 5));
  const Calibration half = calibration_of({{4, 2, 1}, {9, 3, 2}, {2, 4, 3}, {0.5, 0.5, 4}});
  CHECK(half.count == 3);  // a predicted loss tells nothing about gains
  CHECK(half.median == Approx(0.5));
  CHECK(half.share == Approx((3 + 3 * 0.5) / 6));
  CHECK(half.events == std::vector<std::int64_t>{1, 2, 3});
  CHECK(calibration_of({{4, 2, 1}, {4, 2, 2}, {4, 8, 3}, {4, 16, 4}}).share == Approx(1.0));
  // Three unrelated tries, one of them an 8.81x win, once gave an exponent of -0.48.
  const Calibration unlike = calibration_of({{2, 0.696, 1}, {3, 0.593, 2}, {5, 8.81, 3}});
  CHECK(unlike.median < 0.0);
  CHECK(unlike.share > 0.2);
  std::vector<PastPrediction> wrong(20, {2, 0.25, 7});
  CHECK(calibration_of(wrong).share == 0.0);
  CHECK(calibration_of({{2, 0.5, 1}, {2, std::nan(""), 3}}).count == 1);
}

TEST_CASE("predictions calibrate the techniques of their family only", "[advise]") {
  const auto all = made_catalogue();
  Situation s = tiled();
  const double plain = find(make_roadmap(all, s), "vectorized_loads")->expected;
  CHECK(plain == Approx(std::sqrt(1.1 * 3.2)));
  const double others = find(make_roadmap(all, s), "register_tiling")->expected;
  s.predictions = {{4, 2, 1, "copies"}, {9, 3, 2, "copies"}, {4, 2, 3, "copies", false}};
  const Roadmap later = make_roadmap(all, s);
  const RoadmapEntry* entry = find(later, "vectorized_loads");
  REQUIRE(entry != nullptr);
  CHECK(entry->calibration == Approx(0.75));
  CHECK(entry->expected == Approx(std::pow(plain, 0.75)));
  CHECK(find(later, "register_tiling")->expected == Approx(others));
  CHECK(later.families.at("copies").events == std::vector<std::int64_t>{1, 2});
  s.predictions = {{4, 2, 1}, {9, 3, 2}, {4, 2, 3}};  // of no single technique
  CHECK(find(make_roadmap(all, s), "vectorized_loads")->expected == Approx(plain));
}

TEST_CASE("what was tried here without a gain is not advised again", "[advise]") {
  const auto all = made_catalogue();
  Situation s = tiled();
  s.tries = {{"vectorized_loads", 0.98, false, 12}, {"async_copy", std::nullopt, false, 13}};
  Roadmap roadmap = make_roadmap(all, s);
  CHECK(reason_of(roadmap, "vectorized_loads") == "known loser here: tried here, 0.98x, no gain");
  CHECK(reason_of(roadmap, "async_copy").find("without a figure") != std::string::npos);
  s.tries.push_back({"vectorized_loads", 1.3, true, 14});  // and lost again with another incumbent
  roadmap = make_roadmap(all, s);
  CHECK(find(roadmap, "vectorized_loads") != nullptr);
}

TEST_CASE("what a step took out and won is not advised back", "[advise]") {
  const auto all = made_catalogue();
  Situation s = tiled();
  Trial step = trial_of("", "k", 1.86, "win");
  step.added.clear();
  step.isolated.clear();
  step.removed = {"vectorized_loads"};
  step.event = 21;
  s.trials = {step};
  CHECK(find(make_roadmap(all, s), "vectorized_loads") != nullptr);  // of another session
  s.trials.front().is_own = true;
  const Roadmap roadmap = make_roadmap(all, s);
  CHECK(find(roadmap, "vectorized_loads") == nullptr);
  CHECK(reason_of(roadmap, "vectorized_loads") == "iteration 4 took it out and won, 1.86x");
  for (const NotAdvised& one : roadmap.not_advised) {
    if (one.technique != "vectorized_loads") continue;
    CHECK(one.is_loser);
    CHECK(one.event == 21);
  }
  s.trials.front().outcome = "no_gain";
  CHECK(find(make_roadmap(all, s), "vectorized_loads") != nullptr);
}

TEST_CASE("isolated trials move the expectation, and a loser of this scope is left out",
          "[advise]") {
  const auto all = made_catalogue();
  Situation s = tiled();
  const double plain = find(make_roadmap(all, s), "vectorized_loads")->expected;
  s.trials = {trial_of("vectorized_loads", "other", 1.2, "win")};
  Roadmap roadmap = make_roadmap(all, s);
  const RoadmapEntry* entry = find(roadmap, "vectorized_loads");
  REQUIRE(entry != nullptr);
  CHECK(entry->expected == Approx(std::sqrt(plain * 1.2)));
  CHECK(entry->effect.tried == 1);
  s.trials = {trial_of("vectorized_loads", "other", 0.9, "no_gain")};
  CHECK(find(make_roadmap(all, s), "vectorized_loads") != nullptr);  // on another kernel
  s.trials = {trial_of("vectorized_loads", "k", 0.9, "no_gain")};
  roadmap = make_roadmap(all, s);
  CHECK(find(roadmap, "vectorized_loads") == nullptr);
  CHECK(reason_of(roadmap, "vectorized_loads") ==
        "known loser here: 0.90x in iteration 4 of before");
  CHECK(std::any_of(roadmap.not_advised.begin(), roadmap.not_advised.end(),
                    [](const NotAdvised& one) { return one.is_loser; }));
  s.problems.front().problem = *parse_problem("B=8 Hq=16 Sq=4096 D=64 f16");  // other sizes
  CHECK(find(make_roadmap(all, s), "vectorized_loads") != nullptr);
}

TEST_CASE("an idea of the register is advised where it fits and the incumbent lacks it",
          "[advise][ideas]") {
  const auto all = made_catalogue();
  Situation s = tiled();
  Idea idea;
  idea.id = "more_stages";
  idea.title = "three stages";
  idea.family = "copies";
  idea.backends = {"cuda"};
  idea.helps = {"compute"};
  idea.kernels = {"k"};
  idea.parameters = {{"STAGES", 3}};
  idea.state = IdeaState::won;
  idea.source = "a test";
  s.ideas = {idea};
  s.configuration = {{"STAGES", 2}};
  Roadmap roadmap = make_roadmap(all, s);
  const RoadmapEntry* entry = find(roadmap, "more_stages");
  REQUIRE(entry != nullptr);
  CHECK(entry->how == "STAGES=3");
  CHECK(entry->ideas == std::vector<std::string>{"more_stages"});
  s.configuration = {{"STAGES", 3}};  // it has it
  CHECK(find(make_roadmap(all, s), "more_stages") == nullptr);
  s.configuration = {{"STAGES", 2}};
  s.ideas[0].kernels = {"other"};
  CHECK(find(make_roadmap(all, s), "more_stages") == nullptr);
  s.ideas[0] = idea;
  s.ideas[0].scope.head_dim = {128, 256};
  CHECK(find(make_roadmap(all, s), "more_stages") == nullptr);
  s.ideas[0] = idea;
  s.ideas[0].state = IdeaState::lost;
  CHECK(reason_of(make_roadmap(all, s), "more_stages") == "known loser here: more_stages (a test)");
  s.ideas[0].pack = "somebody";  // what others say of an idea counts for nothing
  roadmap = make_roadmap(all, s);
  REQUIRE(find(roadmap, "more_stages") != nullptr);
  CHECK(find(roadmap, "more_stages")->is_foreign);
}

TEST_CASE("a technique that a lost idea names is no step where that lost", "[advise][ideas]") {
  const auto all = made_catalogue();
  Situation s = tiled();
  s.problems.push_back(problem_of("B=8 Hq=16 Sq=512 D=128 f16", "compute", 100));
  REQUIRE(find(make_roadmap(all, s), "vectorized_loads")->share_frac == Approx(1.0));
  Idea idea;
  idea.id = "wide_loads";
  idea.title = "wide loads";
  idea.technique = "vectorized_loads";
  idea.backends = {"cuda"};
  idea.state = IdeaState::no_gain;
  idea.source = "a test";
  idea.scope.head_dim = {64, 64};
  s.ideas = {idea};
  CHECK(find(make_roadmap(all, s), "vectorized_loads")->share_frac == Approx(0.5));
  s.ideas[0].scope.head_dim = {64, 128};
  CHECK(find(make_roadmap(all, s), "vectorized_loads") == nullptr);
}

TEST_CASE("beside room something is said: a step, a measurement, or that ideas are needed",
          "[advise]") {
  const auto all = made_catalogue();
  Situation s = tiled();
  Roadmap roadmap = make_roadmap(all, s);
  REQUIRE(roadmap.room.size() == 1);
  CHECK(roadmap.room[0].room == Approx(100));
  CHECK(roadmap.room[0].steps.front() == "tensor_core_mma");
  s.problems.front().bound = "launch";  // nothing that it lacks works against that
  roadmap = make_roadmap(all, s);
  REQUIRE(roadmap.entries.empty());
  REQUIRE(roadmap.room.size() == 1);
  CHECK(roadmap.room[0].says.find("ideas against launch on this GPU are needed") !=
        std::string::npos);
  s.pending = {{"launch_bound", "launches set the time", "sdpa-wb diagnose --measure"}};
  CHECK(make_roadmap(all, s).room[0].says.find("`sdpa-wb diagnose --measure` tells") !=
        std::string::npos);
  s.problems.front().room_ratio = 1.1;
  s.problems.front().rival_ratio = 1.05;
  CHECK(make_roadmap(all, s).room.empty());
  s.problems.front().rival_ratio = 0.5;  // a rival shows that there is more
  CHECK(make_roadmap(all, s).room[0].room == Approx(2.0));
}

TEST_CASE("stages take what is ready, tell the target and the cost", "[advise]") {
  const auto all = made_catalogue();
  Situation s = tiled();
  s.iteration_s = 60;
  s.device_usd_per_hour = 6.0;
  const Roadmap roadmap = make_roadmap(all, s);
  REQUIRE(roadmap.stages.size() == 3);
  std::vector<std::string> had = s.techniques;
  std::size_t steps = 0;
  for (const RoadmapStage& stage : roadmap.stages) {
    for (const std::string& name : stage.techniques) {
      const RoadmapEntry* entry = find(roadmap, name);
      REQUIRE(entry != nullptr);
      for (const std::string& need : entry->technique->needs) {
        INFO(name << " needs " << need);
        CHECK(std::find(had.begin(), had.end(), need) != had.end());
      }
      ++steps;
    }
    had.insert(had.end(), stage.techniques.begin(), stage.techniques.end());
  }
  CHECK(roadmap.rival_ratio == Approx(0.1));
  CHECK(*roadmap.stages.back().rival_expected == Approx(0.1 * roadmap.stages.back().expected));
  CHECK(roadmap.measuring_s == Approx(60.0 * static_cast<double>(steps)));
  CHECK(roadmap.measuring_usd == Approx(0.1 * static_cast<double>(steps)));
  CHECK(roadmap.hours_low > 0);
  // The target is reached at the first stage whose expected figures reach it.
  s.target_ratio = *roadmap.stages[1].rival_expected * 0.999;
  CHECK(make_roadmap(all, s).reached_at_stage == 2);
  s.target_ratio = 0.1;
  CHECK(make_roadmap(all, s).reached_at_stage == 0);
  s.target_ratio = 900;
  CHECK_FALSE(make_roadmap(all, s).reached_at_stage.has_value());
  s.problems.front().rival_ratio.reset();
  const Roadmap alone = make_roadmap(all, s);
  CHECK_FALSE(alone.rival_ratio.has_value());
  CHECK(std::count(alone.unseen.begin(), alone.unseen.end(), "how a rival stands") == 1);
}

TEST_CASE("what replaces each other is in no stage together", "[advise]") {
  const auto all = made_catalogue();
  const Situation s = tiled();
  const Roadmap roadmap = make_roadmap(all, s);
  // Both lead the list: side by side their gains would be multiplied.
  REQUIRE(find(roadmap, "tensor_core_mma") != nullptr);
  REQUIRE(find(roadmap, "register_tiling") != nullptr);
  REQUIRE_FALSE(roadmap.stages.empty());
  double expected = 1;
  std::vector<std::string> before = s.techniques;
  for (const RoadmapStage& stage : roadmap.stages) {
    for (const std::string& name : stage.techniques) {
      const RoadmapEntry* entry = find(roadmap, name);
      REQUIRE(entry != nullptr);
      expected *= entry->expected;
      for (const std::string& other : entry->technique->replaced_by) {
        INFO(name << " is pointless beside " << other);
        CHECK(std::count(stage.techniques.begin(), stage.techniques.end(), other) == 0);
        CHECK(std::count(before.begin(), before.end(), other) == 0);
      }
    }
    before.insert(before.end(), stage.techniques.begin(), stage.techniques.end());
    CHECK(stage.expected == Approx(std::min(expected, 100.0)));
  }
  CHECK(roadmap.stages[0].techniques.front() == "tensor_core_mma");
  CHECK(std::count(before.begin(), before.end(), "register_tiling") == 0);
}

TEST_CASE("what only one architecture has is advised on no later one", "[advise]") {
  const auto all = made_catalogue();
  Situation s = tiled();
  s.techniques.push_back("tensor_core_mma");
  for (const char* hopper : {"sm_90", "sm_90a"}) {
    s.architecture = hopper;
    CHECK(find(make_roadmap(all, s), "tensor_core_wgmma") != nullptr);
  }
  for (const char* later : {"sm_100", "sm_120"}) {
    s.architecture = later;
    const Roadmap roadmap = make_roadmap(all, s);
    CHECK(find(roadmap, "tensor_core_wgmma") == nullptr);
    CHECK(reason_of(roadmap, "tensor_core_wgmma") ==
          std::string("sm_90 is the last that has it, this is ") + later);
  }
}

TEST_CASE("the share that is told counts bounds that are known", "[advise]") {
  const auto all = made_catalogue();
  Situation s = tiled();
  s.problems.push_back(problem_of("B=4 Hq=16 Sq=512 D=64 f16", "", 100));
  const Roadmap roadmap = make_roadmap(all, s);
  const RoadmapEntry* entry = find(roadmap, "tensor_core_mma");
  REQUIRE(entry != nullptr);
  CHECK(entry->why == "50 % of the suite is bound by compute, which it works against");
  CHECK(entry->share_frac == Approx(1.0));
  CHECK(entry->strength == EvidenceStrength::strong);
}

TEST_CASE("a roadmap of nothing is empty and says why", "[advise]") {
  const auto all = made_catalogue();
  Situation s;
  s.backend = "cpu";
  const Roadmap roadmap = make_roadmap(all, s);
  CHECK(roadmap.entries.empty());
  CHECK(roadmap.stages.empty());
  const Json json = to_json(roadmap);
  CHECK(json["rival_ratio"].is_null());
  CHECK(json["measuring_s"].is_null());
  CHECK(json["entries"].empty());
}
