// SPDX-License-Identifier: MIT
// How findings become a diagnosis: which evidence counts, which outweighs other evidence, and which
// gains follow.
#include <cmath>
#include <limits>
#include <random>

#include "analyze/disassembly.hpp"
#include "core/json.hpp"
#include "diagnosed.hpp"

using namespace wb;
using namespace wb::advise;
using namespace wb::catalogue;
using namespace wb::device;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::variant;
using namespace wb::test;

TEST_CASE("nothing found decides nothing", "[advise][causes]") {
  for (const Diagnosis& one : diagnose(causes(), techniques(), target(), {})) {
    INFO(one.cause->id);
    CHECK(one.state == HypothesisState::undecided);
    CHECK(one.evidence.empty());
    CHECK_FALSE(one.is_contradictory);
  }
}

TEST_CASE("the findings of others are no evidence", "[advise][causes]") {
  const auto theirs = finding("launch", {{"units_frac", 0.06}, {"subject", "torch"}});
  CHECK(of("under_utilisation", {theirs}).state == HypothesisState::undecided);
  const auto ours = finding("reference_check", {{"state", "longer for less"}});
  CHECK(of("unwarmed_reference", {ours}).state == HypothesisState::undecided);
  // A finding that names no subject is about the problem, and so about every subject.
  Finding plain = finding("working_set", {{"tensors_fit_last_cache", true}});
  plain.figures.erase("subject");
  CHECK(of("memory_bandwidth", {plain}).state == HypothesisState::refuted);
}

TEST_CASE("evidence against evidence: the stronger counts, else none", "[advise][causes]") {
  const auto seen = finding("launch", {{"units_frac", 1.0}}, k_small, 1);
  const auto inferred = finding(
      "grid_scaling",
      {{"verdict", "not serial"}, {"by", "times"}, {"idle_on", {label(problem_of(k_small))}}},
      k_small, 2);
  const Diagnosis strong = of("under_utilisation", {inferred, seen});
  CHECK(strong.state == HypothesisState::refuted);
  CHECK(strong.strength == RuleStrength::strong);
  REQUIRE(strong.evidence.size() == 2);
  CHECK(strong.evidence[0].events == std::vector<std::int64_t>{1});  // what decided comes first
  CHECK(strong.evidence[1].supports);
  const auto other = finding("launch", {{"units_frac", 0.1}}, k_small, 3);
  const Diagnosis both = of("under_utilisation", {seen, other});
  CHECK(both.state == HypothesisState::undecided);
  CHECK(both.is_contradictory);
  CHECK(both.evidence.size() == 2);
}

TEST_CASE("what was derived yields to what was measured", "[advise][causes]") {
  const auto derived = finding("launch_rule", {{"units_most_frac", 0.1}});
  const Diagnosis alone = of("under_utilisation", {derived});
  CHECK(alone.state == HypothesisState::supported);
  CHECK(alone.strength == RuleStrength::derived);
  const auto inferred = finding("parallelism", {{"parallelism_only", "no"}});
  const Diagnosis weak = of("under_utilisation", {derived, inferred});
  CHECK(weak.state == HypothesisState::refuted);
  CHECK(weak.strength == RuleStrength::weak);
  CHECK_FALSE(weak.is_contradictory);
}

TEST_CASE("a rule of a kernel's cause may count for its problem only", "[advise][causes]") {
  Target who = target();
  who.problems.push_back({problem_of(k_large), 3});
  const auto idle = finding("launch_rule", {{"walks_in_series", true}, {"units_most_frac", 0.1}});
  const Diagnosis walk = of("sequential_kv", {idle}, who);
  CHECK(walk.state == HypothesisState::supported);
  CHECK(walk.where == std::vector<std::string>{label(problem_of(k_small))});
}

TEST_CASE("causes of urgent problems come before larger gains elsewhere", "[advise][causes]") {
  Target who = target();
  who.problems[0].urgency = 1;
  who.problems.push_back({problem_of(k_large), 1, 0});
  const auto small = finding("launch", {{"units_frac", 0.06}});
  const auto large = finding("roofline_share", {{"flop_share_frac", 0.8}}, k_large);
  const auto all = diagnose(causes(), techniques(), who, {small, large});
  CHECK(all.front().cause->id == "compute_peak");
}

TEST_CASE("groups of problems are decided each for itself, the urgent one first",
          "[advise][causes]") {
  Target who = target();
  who.problems[0].urgency = 4;
  who.problems[0].group = "won";
  who.problems.push_back({problem_of(k_large), 3, 0, "lost to a rival"});
  const auto idle = finding("launch", {{"units_frac", 0.06}}, k_large);
  const auto full = finding("launch", {{"units_frac", 1.0}}, k_small);
  const Diagnosis both = of("under_utilisation", {idle, full}, who);
  REQUIRE(both.groups.size() == 2);
  CHECK(both.groups[0].group == "lost to a rival");
  CHECK(both.groups[0].state == HypothesisState::supported);
  CHECK(both.groups[0].supported == 1);
  CHECK(both.groups[0].problems == std::vector<std::string>{label(problem_of(k_large))});
  CHECK(both.groups[1].group == "won");
  CHECK(both.groups[1].state == HypothesisState::refuted);
  CHECK(both.groups[1].supported == 0);
  CHECK(both.urgency == 0);
  // What is known of the won ones only leaves the lost ones open, and the measurement is for them.
  who.problems[1].weight = 1;
  const Diagnosis some = of("launch_bound",
                            {finding("roofline_share", {{"empty_call_frac", 0.15}}, k_small),
                             finding("call_cost", {{"eager_over_hot", 1.0}}, k_large)},
                            who);
  CHECK(some.groups[0].state == HypothesisState::undecided);
  CHECK(some.groups[1].state == HypothesisState::refuted);
  CHECK(to_json(both)["groups"][0] == Json{{"group", "lost to a rival"},
                                           {"problems", {label(problem_of(k_large))}},
                                           {"state", "supported"},
                                           {"supported", 1}});
  CHECK(of("under_utilisation", {idle, full}).groups.empty());  // no problem has a group
}

TEST_CASE("one observation proves one cause, and is weak for the others", "[advise][causes]") {
  const auto few = finding("launch", {{"units_frac", 0.2}, {"rows_per_block", 128}});
  const Diagnosis own = of("under_utilisation", {few});
  CHECK(own.strength == RuleStrength::strong);
  CHECK(own.evidence.front().shared_with.empty());
  const Diagnosis shared = of("tile_too_large", {few});
  CHECK(shared.strength == RuleStrength::weak);
  CHECK(shared.evidence.front().shared_with == "under_utilisation");
  CHECK(to_json(shared)["evidence"][0]["shared_with"] == "under_utilisation");
  CHECK_FALSE(to_json(own)["evidence"][0].contains("shared_with"));
  // By the rule alone it is one observation, too, and the cause with its own comes first.
  const auto derived = finding(
      "launch_rule", {{"units_most_frac", 0.2}, {"walks_in_series", true}, {"rows_least", 128}});
  CHECK(of("sequential_kv", {derived}).is_only_shared);
  CHECK(of("tile_too_large", {derived}).is_only_shared);
  const auto all = diagnose(causes(), techniques(), target(), {derived});
  CHECK(all.front().cause->id == "under_utilisation");
  // Figures of one finding that are read by one cause each are observations of their own.
  const auto code = finding(
      "sass", {{"matrix", 0}, {"warpgroup_matrix", 0}, {"fma", 9}, {"worst_shared_ways", 8}});
  CHECK(of("bank_conflicts", {code}).strength == RuleStrength::strong);
  CHECK(of("tensor_cores_unused", {code}).strength == RuleStrength::strong);
  // Of two sizes only the smaller one left units idle.
  Target who = target();
  who.problems.push_back({problem_of(k_large), 1});
  const auto beside =
      finding("grid_scaling",
              {{"verdict", "not serial"},
               {"by", "times"},
               {"problems", {label(problem_of(k_small)), label(problem_of(k_large))}},
               {"idle_on", {label(problem_of(k_small))}}},
              "");
  CHECK(of("under_utilisation", {beside}, who).where ==
        std::vector<std::string>{label(problem_of(k_small))});
}

TEST_CASE("a refutation holds for the problems that it covers, lost ones first",
          "[advise][causes]") {
  Target who = target();
  who.problems[0].weight = 3;
  who.problems[0].urgency = 4;
  who.problems[0].group = "won, latency-bound";
  who.problems.push_back({problem_of(k_large), 1, 0, "lost to a rival, compute-bound"});
  const auto won = finding("roofline_share", {{"empty_call_frac", 0.01}}, k_small);
  const auto lost = finding("roofline_share", {{"empty_call_frac", 0.01}}, k_large);
  const Diagnosis open = of("launch_bound", {won}, who);
  CHECK(open.state == HypothesisState::undecided);
  REQUIRE(open.decided_by.has_value());
  CHECK(open.decided_by->command.find(to_text(problem_of(k_large))) != std::string::npos);
  CHECK(of("launch_bound", {won, lost}, who).state == HypothesisState::refuted);
  // Of a kernel's cause, too: what holds where latency bounds says nothing of what arithmetic
  // bounds.
  const auto walk = finding("key_walk", {{"verdict", "not serial"}}, k_small);
  CHECK(of("sequential_kv", {walk}, who).state == HypothesisState::undecided);
  who.problems[1].group = "lost to a rival, latency-bound";
  CHECK(of("sequential_kv", {walk}, who).state == HypothesisState::refuted);
  who.problems[0].group = "won";  // what bounds it is not known: it speaks for all
  CHECK(of("sequential_kv", {walk}, who).state == HypothesisState::refuted);
  // What the code says has no problem, and holds everywhere.
  who.problems[1].group = "lost to a rival, compute-bound";
  const auto code = finding("sass", {{"matrix", 64}}, "");
  CHECK(of("tensor_cores_unused", {code}, who).state == HypothesisState::refuted);
}

TEST_CASE("the gain on a problem is not the mean over the suite", "[advise][causes]") {
  Target who = target();
  for (const char* text : {"B=1 Hq=16 Sq=4096 D=64 f16", "B=2 Hq=16 Sq=4096 D=64 f16", k_large}) {
    who.problems.push_back({problem_of(text), 1});
  }
  const Diagnosis one = of("under_utilisation", {finding("launch", {{"units_frac", 0.06}})}, who);
  REQUIRE(one.gain.has_value());
  REQUIRE(one.gain_there.has_value());
  CHECK(one.gain_there->high == Approx(10));  // the catalogue's range of split_kv
  CHECK(one.gain->high == Approx(std::pow(10, 0.25)));
  CHECK(to_json(one)["gain_there"]["high"].get<double>() == Approx(10));
}

TEST_CASE("causes are asked for where the subject is dispatched", "[advise][causes]") {
  Target who = target();
  who.problems.push_back({problem_of(k_large), 1});
  who.problems[1].served_by = "other@2";
  const auto elsewhere = finding("launch", {{"units_frac", 0.06}}, k_large);
  const Diagnosis none = of("under_utilisation", {elsewhere}, who);
  CHECK(none.state == HypothesisState::undecided);
  CHECK(none.evidence.empty());
  const auto here = finding("launch", {{"units_frac", 1.0}}, k_small);
  CHECK(of("under_utilisation", {elsewhere, here}, who).state == HypothesisState::refuted);
}

TEST_CASE("a share of a peak counts under the plan that was timed", "[advise][causes]") {
  const auto cold = finding("roofline_share", {{"plan", "cold"}, {"byte_share_frac", 0.9}});
  CHECK(of("memory_bandwidth", {cold}).state == HypothesisState::undecided);
  Target who = target();
  who.plan = "cold";
  CHECK(of("memory_bandwidth", {cold}, who).state == HypothesisState::supported);
  // On a CPU, which has no profiler, calls with emptied caches decide.
  who = target();
  who.backend = "cpu";
  who.problems = {{problem_of("B=1 Hq=8 Sq=512 D=64 f32"), 1}};
  CHECK(of("memory_bandwidth", {}, who).decided_by->probe == "cold");
}

TEST_CASE("a finding may call a problem by its name or by its text form", "[advise][causes]") {
  Target who = target();
  who.problems[0].problem.name = "small";
  for (const char* called : {"small", k_small}) {
    auto idle = finding("launch", {{"units_frac", 0.06}});
    idle.problem = called == std::string_view(k_small) ? to_text(problem_of(k_small)) : called;
    const Diagnosis one = of("under_utilisation", {idle}, who);
    INFO(called);
    CHECK(one.state == HypothesisState::supported);
    CHECK(one.where == std::vector<std::string>{"small"});
  }
  auto other = finding("launch", {{"units_frac", 0.06}});
  other.problem = "smaller";
  CHECK(of("under_utilisation", {other}, who).state == HypothesisState::undecided);
}

TEST_CASE("an open cause names one measurement that this device can have", "[advise][causes]") {
  Target who = target();
  who.problems[0].urgency = 1;
  who.problems.push_back({problem_of(k_large), 1, 0});
  for (const Diagnosis& one : diagnose(causes(), techniques(), who, {})) {
    INFO(one.cause->id);
    REQUIRE(one.decided_by.has_value());
    CHECK(one.decided_by->command.find("{") == std::string::npos);
    CHECK(one.decided_by->command.rfind("sdpa-wb ", 0) == 0);
    CHECK_FALSE(one.decided_by->brings.empty());
  }
  // The urgent problem, or what the probe varies of the smallest.
  CHECK(of("memory_bandwidth", {}, who).decided_by->command ==
        "sdpa-wb profile ours@1 --problem '" + to_text(problem_of(k_large)) + "'");
  CHECK_FALSE(of("memory_bandwidth", {}, who).decided_by->counter.empty());
  const auto walk = of("sequential_kv", {}, who).decided_by;
  CHECK(walk->probe == "keys");
  CHECK(walk->command.find("Skv=1024") != std::string::npos);
  CHECK(walk->command.find("Skv=4096") != std::string::npos);
  CHECK(to_json(of("sequential_kv", {}, who))["decided_by"]["command"] == walk->command);
  // On a CPU there is no profiler of a GPU and no machine code of one.
  Target cpu = target();
  cpu.backend = "cpu";
  cpu.problems = {{problem_of("B=1 Hq=8 Sq=512 D=64 f32"), 1}};
  for (const Diagnosis& one : diagnose(causes(), techniques(), cpu, {})) {
    INFO(one.cause->id);
    if (one.state != HypothesisState::undecided) continue;
    REQUIRE(one.decided_by.has_value());
    CHECK(one.decided_by->command.find("profile") == std::string::npos);
    CHECK(one.decided_by->command.find("--sass") == std::string::npos);
  }
  // A kernel of Python has no machine code that a build gives.
  Target python = target();
  python.has_machine_code = false;
  CHECK_FALSE(of("narrow_loads", {}, python).decided_by.has_value());
  CHECK(to_json(of("narrow_loads", {}, python))["decided_by"].is_null());
  CHECK(of("bank_conflicts", {}, python).decided_by->probe == "profile");
  // What is decided needs nothing.
  const auto seen = finding("launch", {{"units_frac", 1.0}});
  CHECK_FALSE(of("under_utilisation", {seen}).decided_by.has_value());
  // Calls from the host decide only where the objective is theirs.
  CHECK(of("launch_bound", {}).decided_by->probe.empty());
  Target eager = target();
  eager.plan = "eager";
  CHECK(of("launch_bound", {}, eager).decided_by->probe == "eager");
}

TEST_CASE("a cause may be at work on one problem and not on another", "[advise][causes]") {
  Target who = target();
  who.problems.push_back({problem_of(k_large), 3});
  const auto small = finding("roofline_share",
                             {{"empty_call_frac", 0.8}, {"plan", "hot"}, {"headroom_ratio", 1.25}});
  const auto large = finding("roofline_share", {{"empty_call_frac", 0.001}}, k_large);
  const Diagnosis both = of("launch_bound", {small, large}, who);
  CHECK(both.state == HypothesisState::supported);
  CHECK(both.where == std::vector<std::string>{label(problem_of(k_small))});
  CHECK(both.share_frac == Approx(0.25));
  CHECK(of("launch_bound", {large}, who).state == HypothesisState::refuted);
  // Refuted on a quarter of the suite, unknown on the rest: unknown.
  const auto few = finding("roofline_share", {{"empty_call_frac", 0.001}}, k_small);
  CHECK(of("launch_bound", {few}, who).state == HypothesisState::undecided);
  // Of a kernel's cause evidence anywhere counts, even outside the suite.
  const auto probe =
      finding("key_walk", {{"verdict", "serial"}}, "B=1 Hq=1 Sq=64 Skv=128 D=64 f16");
  CHECK(of("sequential_kv", {probe}, who).share_frac == Approx(1));
  const auto elsewhere = finding("launch", {{"units_frac", 0.1}}, "B=1 Hq=1 Sq=64 D=64 f16");
  CHECK(of("under_utilisation", {elsewhere}, who).state == HypothesisState::undecided);
}

TEST_CASE("plans, backends and kinds of problems keep rules and causes out", "[advise][causes]") {
  Finding fits = finding("working_set", {{"tensors_fit_last_cache", true}});
  Target cold = target();
  cold.plan = "cold";
  CHECK(of("memory_bandwidth", {fits}, cold).state == HypothesisState::undecided);
  Target cpu = target();
  cpu.backend = "cpu";
  cpu.problems = {{problem_of("B=1 Hq=8 Sq=512 D=64 f32"), 1}};
  // What cannot be at work is refuted with the reason, and comes last.
  const auto on_cpu = diagnose(causes(), techniques(), cpu, {});
  CHECK(on_cpu.size() == causes().size());
  CHECK(on_cpu.front().not_applicable.empty());
  CHECK_FALSE(on_cpu.back().not_applicable.empty());
  const Diagnosis banks = of("bank_conflicts", {}, cpu);
  CHECK(banks.state == HypothesisState::refuted);
  CHECK(banks.not_applicable.find("cuda") != std::string::npos);
  CHECK(of("under_utilisation", {}, cpu).not_applicable.empty());
  Target exact = target();
  exact.problems = cpu.problems;
  CHECK(of("tensor_cores_unused", {}, exact).not_applicable.find("dtype") != std::string::npos);
  Target alone = target();
  alone.has_others = false;
  CHECK_FALSE(of("unwarmed_reference", {}, alone).not_applicable.empty());
  Target unknown;  // of files without a device every cause is asked
  CHECK(diagnose(causes(), techniques(), unknown, {}).size() == causes().size());
}

TEST_CASE("bank conflicts are decided by the lanes in the machine code where nothing else does",
          "[advise][causes]") {
  // What ncu says when it may not read counters, and when its rules are silent.
  const auto blind = finding("profile", {{"tool", "ncu"}, {"available", false}});
  const auto silent = finding("profile", {{"says_bank_conflicts", false}});
  const auto launch = finding("launch", {{"units_frac", 1.0}, {"warp_lanes_frac", 1.0}});
  const auto code_of = [](const char* stride) {
    const auto kernels =
        analyze::read_sass(std::string("Function : _Z1kv\n"
                                       "  /*0000*/  S2R R11, SR_TID.X ;  /* 0x0 */\n"
                                       "  /*0010*/  IMAD R7, R11, ") +
                           stride +
                           ", RZ ;  /* 0x0 */\n"
                           "  /*0020*/  LDS R9, [R7] ;  /* 0x0 */\n"
                           "  /*0030*/  EXIT ;  /* 0x0 */\n");
    REQUIRE(kernels.ok());
    return analyze::sass_findings(*kernels).front();
  };
  const auto state_with = [&](const Finding& code) {
    const auto state = of("bank_conflicts", {blind, launch, code}).state;
    CHECK(of("bank_conflicts", {silent, launch, code}).state == state);
    return state;
  };
  CHECK(state_with(code_of("0x80")) == HypothesisState::supported);  // rows of 128 bytes
  CHECK(state_with(code_of("0x84")) == HypothesisState::refuted);    // the same rows, padded
  for (const char* stride : {"0x80", "0x84"}) {
    Finding without = code_of(stride);
    for (const std::string figure :
         {"worst_shared_ways", "shared_accesses_by_ways", "shared_accesses_unknown"}) {
      REQUIRE(without.figures.erase(figure) == 1);
    }
    CHECK(state_with(without) == HypothesisState::undecided);
  }
}

TEST_CASE("gains come from the remedies that are left, within the room", "[advise][causes]") {
  const auto conflict = finding("sass", {{"worst_shared_ways", 8}}, "");
  const Diagnosis open = of("bank_conflicts", {conflict});
  REQUIRE(open.gain.has_value());
  CHECK(open.gain->low == Approx(1.0));
  CHECK(open.gain->high == Approx(1.4));
  CHECK(open.remedies.size() == 2);
  const auto room = finding("roofline_share", {{"headroom_ratio", 1.1}, {"plan", "hot"}});
  CHECK(of("bank_conflicts", {conflict, room}).gain->high == Approx(1.1));
  Target swizzled = target();
  swizzled.techniques.emplace_back("bank_conflict_swizzle");
  const Diagnosis done = of("bank_conflicts", {conflict}, swizzled);
  CHECK(done.state == HypothesisState::supported);
  CHECK(done.remedies.empty());
  CHECK_FALSE(done.gain.has_value());
}

TEST_CASE("what would gain most comes first, weak evidence after strong", "[advise][causes]") {
  const std::vector<Finding> findings{
      finding("sass",
              {{"worst_shared_ways", 8}, {"matrix", 0}, {"warpgroup_matrix", 0}, {"fma", 10}}, ""),
      finding("launch", {{"units_frac", 1.0}})};
  const auto all = diagnose(causes(), techniques(), target(), findings);
  CHECK(all[0].cause->id == "tensor_cores_unused");
  CHECK(all[1].cause->id == "bank_conflicts");
  CHECK(all.back().state == HypothesisState::refuted);
  for (std::size_t i = 1; i < all.size(); ++i) {
    const bool was_refuted = all[i - 1].state == HypothesisState::refuted;
    CHECK((!was_refuted || all[i].state == HypothesisState::refuted));
  }
  const auto by = remedied_by(all);
  CHECK(by.at("tensor_core_mma") == std::vector<std::string>{"tensor_cores_unused"});
  CHECK_FALSE(by.contains("split_kv"));
}

TEST_CASE("much evidence is counted, not lost", "[advise][causes]") {
  std::vector<Finding> findings;
  for (int i = 0; i < 9; ++i)
    findings.push_back(finding("sass", {{"worst_shared_ways", 2}}, "", i));
  const Diagnosis one = of("bank_conflicts", findings);
  CHECK(one.evidence.size() == k_most_evidence);
  CHECK(one.evidence_left_out == 6);
}

TEST_CASE("no findings whatever make it crash or invent a gain", "[advise][causes][hostile]") {
  std::mt19937 random(20);
  const auto pick = [&](std::size_t n) { return std::size_t(random() % n); };
  std::vector<std::string> figures, analyses;
  for (const Cause& cause : causes()) {
    for (const auto* rules : {&cause.supported, &cause.refuted}) {
      for (const CauseRule& rule : *rules) {
        analyses.push_back(rule.analysis);
        for (const FigurePredicate& one : rule.when) figures.push_back(one.figure);
      }
    }
  }
  for (const char* key : {"subject", "plan", "problems", "headroom_ratio"}) figures.push_back(key);
  const std::vector<Json> values{0,
                                 1,
                                 -1,
                                 0.5,
                                 1e300,
                                 -1e300,
                                 std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::infinity(),
                                 "",
                                 "serial",
                                 "not serial",
                                 "ours@1",
                                 "registers",
                                 "hot",
                                 true,
                                 false,
                                 nullptr,
                                 Json::array(),
                                 Json::array({label(problem_of(k_small)), 3, nullptr}),
                                 Json::object()};
  for (int round = 0; round < 2000; ++round) {
    std::vector<Finding> findings;
    for (std::size_t i = pick(12); i > 0; --i) {
      Finding one;
      one.analysis = pick(9) == 0 ? "no such" : analyses[pick(analyses.size())];
      if (pick(2) == 0) one.problem = pick(2) == 0 ? label(problem_of(k_small)) : "elsewhere";
      if (pick(8) != 0) {
        one.figures = Json::object();
        for (std::size_t k = pick(6); k > 0; --k) {
          one.figures[figures[pick(figures.size())]] = values[pick(values.size())];
        }
      }
      findings.push_back(std::move(one));
    }
    Target who = target();
    if (pick(3) == 0) who.problems.clear();
    if (pick(5) == 0) who = Target{};
    for (const Diagnosis& one : diagnose(causes(), techniques(), who, findings)) {
      const bool is_decided = one.state != HypothesisState::undecided;
      if (is_decided != one.strength.has_value()) FAIL("a state without its strength");
      if (is_decided && one.evidence.empty()) FAIL("decided by nothing");
      if (!(one.share_frac >= 0 && one.share_frac <= 1 + 1e-12)) FAIL("a share beyond the whole");
      if (one.gain && !(one.gain->low <= one.gain->expected + 1e-12 &&
                        one.gain->expected <= one.gain->high + 1e-12)) {
        FAIL("a gain outside its range");
      }
      (void)to_json(one).dump();
    }
  }
}
