// SPDX-License-Identifier: MIT
// The story: iterations of every kind, and a whole session of them.
#include "core/json.hpp"
#include "log_builder.hpp"

namespace wb::test {

void run_baseline(LogBuilder& log) {
  open_iteration(log, 0, "cpu_unfused", "", 0);
  build(log, 0, k_start);
  judge(log, 0, k_start, k_prefill, 0.31);
  judge(log, 0, k_start, k_decode, 0.28);
  // A rival is built under its artifact's label and goes by its plain name afterwards.
  build(log, 0, std::string(k_torch) + "@77aa0011", "");
  const Json versions{{"python", "3.11.7"}, {"torch", "2.13.0+cpu"}};
  judge(log, 0, k_torch, k_prefill, 0.22, "", versions);
  judge(log, 0, k_torch, k_decode, 0.25, "", versions);
  turns(log, 0, 12);
  for (const char* problem : {k_prefill, k_decode}) {
    log.add("noise_floor_measured", {{"problem", problem},
                                     {"plan", "hot"},
                                     {"floor_frac", problem == k_prefill ? 0.008 : 0.012},
                                     {"within_frac", 0.002},
                                     {"instances", 10},
                                     {"turns", 20},
                                     {"subject", k_start}});
  }
  Versus versus{.candidate = k_start, .against = k_torch, .role = "rival", .phase = "baseline"};
  versus.outcome = "slower";
  for (const char* plan : {"hot", "cold", "eager"}) {
    versus.plan = plan;
    versus.problem = k_prefill;
    versus.candidate_us = 5210.4, versus.against_us = 2083.9;
    versus.speedup = 0.4, versus.low = 0.391, versus.high = 0.409;
    compare(log, 0, versus);
    versus.problem = k_decode;
    versus.candidate_us = 911.2, versus.against_us = 402.1;
    versus.speedup = 0.441, versus.low = 0.43, versus.high = 0.452;
    compare(log, 0, versus);
  }
  log.add("incumbent_changed", {{"iteration", 0},
                                {"from", nullptr},
                                {"to", k_start},
                                {"variant_id", "id-of-start"},
                                {"artifact_id", "art-of-start"},
                                {"configuration", Json::object()},
                                {"speedup", nullptr},
                                {"interval", nullptr}});
  debit(log, 0, "compile_cpu", 1.8, 1.8 * 0.05 / 3600);
  debit(log, 0, "device", 21.337, 21.337 * 0.20 / 3600);
  close_iteration(log, 0, "baseline");
}

void run_win(LogBuilder& log, std::int64_t number) {
  const std::string tiled = fmt::format("cpu_tiled@1f0c44a{}", number);
  const std::string before = log.view().incumbent;
  open_iteration(log, number, "cpu_tiled@0badf00d",
                 "Tiles of queries reuse each key block from the L2 cache.", 2.5);
  build(log, number, tiled);
  judge(log, number, tiled, k_prefill, 0.42);
  judge(log, number, tiled, k_decode, 0.37);
  judge(log, number, tiled, "B=2 Hq=2 Hkv=2 Sq=1 Skv=67 D=64 f32 causal=none", 0.2);
  turns(log, number, 20);
  compare(log, number,
          {.candidate = tiled,
           .against = before,
           .phase = "selection",
           .speedup = 2.71,
           .low = 2.6,
           .high = 2.83});
  log.add("evaluation", {{"iteration", number},
                         {"configuration", Json::object()},
                         {"artifact_id", "x"},
                         {"outcome", "faster"},
                         {"speedup", 2.71},
                         {"interval", interval(2.6, 2.83)}});
  turns(log, number, 40);
  for (const char* plan : {"hot", "cold", "eager"}) {
    const double cooled = std::string(plan) == "cold" ? 0.9 : 1.0;
    Versus mine{.candidate = tiled, .against = before};
    mine.plan = plan;
    mine.problem = k_prefill, mine.candidate_us = 1802.2, mine.against_us = 5208.8 * cooled;
    mine.speedup = 2.89 * cooled, mine.low = 2.84 * cooled, mine.high = 2.95 * cooled;
    compare(log, number, mine);
    mine.problem = k_decode, mine.candidate_us = 373.55, mine.against_us = 910.9 * cooled;
    mine.speedup = 2.44 * cooled, mine.low = 2.37 * cooled, mine.high = 2.5 * cooled;
    compare(log, number, mine);
    mine.problem = "";
    mine.speedup = 2.655 * cooled, mine.low = 2.61 * cooled, mine.high = 2.7 * cooled;
    compare(log, number, mine);
    Versus torch{.candidate = tiled, .against = k_torch, .role = "rival"};
    torch.plan = plan;
    torch.problem = k_prefill, torch.candidate_us = 1802.2, torch.against_us = 2083.1 * cooled;
    torch.speedup = 1.156 * cooled, torch.low = 1.13 * cooled, torch.high = 1.18 * cooled;
    compare(log, number, torch);
    torch.problem = k_decode, torch.candidate_us = 373.55, torch.against_us = 249.4;
    torch.speedup = 0.668, torch.low = 0.651, torch.high = 0.686, torch.outcome = "slower";
    compare(log, number, torch);
    torch.problem = "";
    torch.speedup = 0.879, torch.low = 0.866, torch.high = 0.893;
    compare(log, number, torch);
  }
  find_regime(log, number, k_prefill, "compute");
  find_regime(log, number, k_decode, "memory");
  find_roofline(log, number, k_prefill, 0.24, "cache misses: no counters on this machine");
  find_roofline(log, number, k_decode, 0.11, "cache misses: no counters on this machine");
  decide(log, number, "supported", "faster, and the prediction lies below the interval");
  change_incumbent(log, number, before, tiled, 2.655, 2.61, 2.7);
  debit(log, number, "compile_cpu", 2.4, 2.4 * 0.05 / 3600);
  debit(log, number, "device", 48.912, 48.912 * 0.20 / 3600);
  close_iteration(log, number, "win", "", "confirmed");
}

void run_no_gain(LogBuilder& log, std::int64_t number) {
  const std::string candidate = fmt::format("cpu_online@9e3d00b{}", number);
  open_iteration(log, number, "cpu_online@0badf00e",
                 "One pass over the keys saves a read of the scores", 1.2);
  build(log, number, candidate);
  judge(log, number, candidate, k_prefill, 0.4);
  judge(log, number, candidate, k_decode, 0.33);
  turns(log, number, 16);
  Versus versus{.candidate = candidate, .against = log.view().incumbent, .phase = "selection"};
  versus.problem = k_prefill, versus.candidate_us = 1797.9, versus.against_us = 1802.0;
  versus.speedup = 1.003, versus.low = 0.996, versus.high = 1.009;
  versus.outcome = "same", versus.reason = "the whole interval lies within the noise floor";
  compare(log, number, versus);
  versus.problem = k_decode, versus.candidate_us = 371.2, versus.against_us = 373.9;
  versus.speedup = 1.007, versus.low = 0.989, versus.high = 1.026;
  versus.outcome = "ambiguous", versus.reason = "the interval crosses the noise floor";
  compare(log, number, versus);
  versus.problem = "";
  versus.speedup = 1.005, versus.low = 0.995, versus.high = 1.011, versus.outcome = "same";
  compare(log, number, versus);
  log.add("evaluation", {{"iteration", number},
                         {"configuration", Json::object()},
                         {"artifact_id", "y"},
                         {"outcome", "same"},
                         {"speedup", 1.005},
                         {"interval", interval(0.995, 1.011)}});
  decide(log, number, "refuted", "same: the interval lies wholly below the prediction");
  debit(log, number, "compile_cpu", 2.1, 2.1 * 0.05 / 3600);
  debit(log, number, "device", 17.204, 17.204 * 0.20 / 3600);
  close_iteration(log, number, "no_gain", "", "same as the incumbent");
}

void run_compile_failure(LogBuilder& log, std::int64_t number) {
  const std::string candidate = fmt::format("cpu_simd@00dead0{}", number);
  open_iteration(log, number, candidate, "Wider vectors for the score loop.", 1.4);
  fail_build(log, number, candidate,
             "kernel.cpp:41:7: error: '__m512' was not declared in this scope\n   41 |   __m512 "
             "acc;\n      |   ^~~~~~");
  decide(log, number, "undecided", "no valid measurement");
  debit(log, number, "compile_cpu", 0.6, 0.6 * 0.05 / 3600);
  close_iteration(log, number, "invalid", "compile",
                  "kernel.cpp:41:7: error: '__m512' was not declared in this scope");
}

void close_session(LogBuilder& log, const std::string& reason) {
  log.add("session_closed", {{"reason", reason},
                             {"outcome", "win"},
                             {"recommendation", "ship the tiled kernel for prefill"}});
}

namespace {

/// Everything up to the end of a session.
LogBuilder story() {
  LogBuilder log;
  open_session(log);
  record_environment(log);
  run_baseline(log);
  run_win(log, 1);
  run_no_gain(log, 2);
  run_compile_failure(log, 3);
  log.add("note", {{"text", "torch was pinned to two threads"}, {"iteration", nullptr}});
  return log;
}

LogBuilder ended(LogBuilder log) {
  close_session(log, "budget: 3 of 3 evaluations");
  log.view().log_head = std::string(64, 'a');
  return log;
}

Json cause(const char* id, const char* title, const char* state) {
  const bool is_open = std::string(state) == "undecided";
  return {{"cause", id},
          {"title", title},
          {"theory", "The theory of it."},
          {"test", "What decides it."},
          {"prediction", "What changes if it is right."},
          {"state", state},
          {"strength", is_open ? Json(nullptr) : Json("strong")},
          {"contradictory", false},
          {"where", Json::array()},
          {"share_frac", is_open ? 0.0 : 1.0},
          {"evidence", Json::array()},
          {"evidence_left_out", 0},
          {"needs", Json::array()},
          {"remedies", Json::array()},
          {"gain", nullptr}};
}

Json evidence(const char* says, const char* statement, std::int64_t event) {
  return {{"says", says},
          {"strength", "strong"},
          {"analysis", "roofline_share"},
          {"statement", statement},
          {"by", "byte_share_frac 0.8 >= 0.6"},
          {"problem", "prefill"},
          {"events", {event}}};
}

}  // namespace

LogBuilder whole_session() {
  return ended(story());
}

namespace {

void decide_causes(LogBuilder& log) {
  Json supported = cause("memory_bandwidth", "memory bandwidth", "supported");
  supported["evidence"] =
      Json::array({evidence("supported", "cpu_tiled on prefill: 80 % of the bandwidth", 9)});
  supported["where"] = {"prefill"};
  supported["share_frac"] = 0.5;
  supported["remedies"] = {"cache_tiling"};
  supported["gain"] = {{"low", 1.0}, {"expected", 1.4}, {"high", 2.0}};
  supported["gain_there"] = {{"low", 1.0}, {"expected", 1.96}, {"high", 4.0}};
  Json refuted = cause("launch_bound", "the cost of a call", "refuted");
  refuted["evidence"] =
      Json::array({evidence("refuted", "an empty call takes 0.1 % of the time", 9)});
  Json open = cause("sequential_kv", "keys walked one after another", "undecided");
  open["needs"] = {
      {{"verb", "measure"},
       {"arguments", {{"variant", "{variant}"}, {"problem", "{problems}"}, {"plan", "hot"}}},
       {"brings", "how time grows with keys"},
       {"probe", "keys"}}};
  Json mended = cause("under_utilisation", "too few blocks for the device", "supported");
  mended["evidence"] = Json::array({evidence("supported", "1 block for 2 cores", 12)});
  log.add("causes_decided", {{"subject", log.view().incumbent},
                             {"plan", "hot"},
                             {"causes", {supported, open, refuted}},
                             {"start", {{"subject", k_start}, {"causes", {mended}}}},
                             {"gaps", Json::array()}});
}

}  // namespace

LogBuilder explained_session() {
  LogBuilder log = story();
  decide_causes(log);
  return ended(std::move(log));
}

namespace {

Json roadmap_entry(const char* technique, double low, double expected, double high) {
  return {{"technique", technique},
          {"title", std::string("the title of ") + technique},
          {"low", low},
          {"expected", expected},
          {"high", high},
          {"strength", "strong"},
          {"why", "all of the suite is bound by memory"},
          {"causes", {"memory_bandwidth"}},
          {"events", Json::array()},
          {"source", "a session"},
          {"hours_low", 2},
          {"hours_high", 6},
          {"complexity", "low"},
          {"risk", "low"},
          {"needs", Json::array()},
          {"pros", "fewer bytes"},
          {"cons", "more registers"}};
}

}  // namespace

Json roadmap_payload(std::int64_t predictions) {
  return {
      {"calibration", {{"share", 0.5}, {"count", predictions}, {"events", Json::array()}}},
      {"entries",
       {roadmap_entry("cache_tiling", 1.1, 1.25, 1.6), roadmap_entry("split_kv", 1.0, 1.2, 3.0)}},
      {"not_advised", Json::array()},
      {"stages",
       {{{"techniques", {"cache_tiling", "split_kv"}},
         {"low", 1.1},
         {"expected", 1.5},
         {"high", 4.8},
         {"rival_low", 0.9},
         {"rival_expected", 1.3}}}},
      {"rival_ratio", 0.8},
      {"target_ratio", 1.0},
      {"reached_at_stage", 1},
      {"hours_low", 4},
      {"hours_high", 12},
      {"measuring_s", 120.0},
      {"measuring_usd", nullptr},
      {"unseen", Json::array()}};
}

LogBuilder handed_over_session() {
  LogBuilder log;
  Json opened = opened_payload();
  opened["planned_minutes"] = 1.0;
  log.add("session_opened", opened);
  record_environment(log);
  run_baseline(log);
  log.add("note", {{"text", "from here on kernels are tried"},
                   {"iteration", nullptr},
                   {"phase", "search"},
                   {"planned_minutes", 1.5}});
  run_win(log, 1);
  run_no_gain(log, 2);
  run_compile_failure(log, 3);
  log.add("note", {{"text", "tiles of queries are what helps"}, {"iteration", nullptr}});
  decide_causes(log);
  log.add("roadmap_made", roadmap_payload(3));
  return ended(std::move(log));
}

}  // namespace wb::test
