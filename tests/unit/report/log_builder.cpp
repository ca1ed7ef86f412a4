// SPDX-License-Identifier: MIT
#include "log_builder.hpp"

namespace wb::test {

IterationView* LogBuilder::target(const Json& payload) {
  const auto number = payload.find("iteration");
  if (number == payload.end() || !number->is_number_integer()) return nullptr;
  for (IterationView& iteration : m_view.iterations) {
    if (iteration.number == number->get<std::int64_t>()) return &iteration;
  }
  return nullptr;
}

void LogBuilder::close(IterationView& iteration, Fact fact) {
  if (iteration.incumbent_changed && fact.payload["outcome"] != "abandoned") {
    m_view.incumbent = iteration.incumbent_changed->payload["to"];
  }
  iteration.closed = std::move(fact);
}

void LogBuilder::add_to_iteration(const std::string& type, IterationView& iteration, Fact fact) {
  if (type == "variant_built")
    iteration.built.push_back(std::move(fact));
  else if (type == "verdict_given")
    iteration.verdicts.emplace_back(std::move(fact));
  else if (type == "evaluation")
    iteration.evaluations.push_back(std::move(fact));
  else if (type == "comparison_made")
    iteration.comparisons.push_back(std::move(fact));
  else if (type == "finding_recorded")
    iteration.findings.push_back(std::move(fact));
  else if (type == "profile_taken")
    iteration.profiles.push_back(std::move(fact));
  else if (type == "cost_debited")
    iteration.costs.push_back(std::move(fact));
  else if (type == "note")
    iteration.notes.push_back(std::move(fact));
  else if (type == "turn_measured")
    iteration.turns.push_back(fact.seq);
  else if (type == "hypothesis_decided")
    iteration.hypothesis = std::move(fact);
  else if (type == "incumbent_changed")
    iteration.incumbent_changed = std::move(fact);
  else if (type == "iteration_closed")
    close(iteration, std::move(fact));
  else if (type == "iteration_committed")
    iteration.committed = std::move(fact);
}

std::int64_t LogBuilder::add(const std::string& type, Json payload) {
  const std::int64_t seq = ++m_view.events;
  m_events.emplace_back(type, payload);
  const std::string t = fmt::format("2026-11-20T18:{:02}:{:02}.000Z", seq / 60 % 60, seq % 60);
  if (m_view.first_t.empty()) m_view.first_t = t;
  m_view.last_t = t;
  if (type == "cost_debited") {
    const CostItem item = payload["item"] == "tokens"   ? CostItem::tokens
                          : payload["item"] == "device" ? CostItem::device
                                                        : CostItem::compile_cpu;
    const auto usd =
        payload["usd"].is_number() ? std::optional(payload["usd"].get<double>()) : std::nullopt;
    m_view.ledger.debit(item, payload["quantity"], usd);
    IterationView* iteration = target(payload);
    (iteration != nullptr ? *iteration : m_view.outside)
        .ledger.debit(item, payload["quantity"], usd);
  }
  Fact fact{seq, t, std::move(payload)};
  if (type == "session_opened") {
    m_view.opened = std::move(fact);
  } else if (type == "environment_recorded") {
    m_view.environment = std::move(fact);
  } else if (type == "noise_floor_measured") {
    m_view.noise_floors.push_back(std::move(fact));
  } else if (type == "decision_recorded") {
    m_view.decisions.push_back(std::move(fact));
  } else if (type == "recovered") {
    m_view.recoveries.push_back(std::move(fact));
  } else if (type == "session_resumed") {
    m_view.resumes.push_back(std::move(fact));
    m_view.status = SessionStatus::open;
  } else if (type == "session_paused") {
    m_view.status = SessionStatus::paused;
  } else if (type == "session_closed") {
    m_view.closed = std::move(fact);
    m_view.status = SessionStatus::closed;
  } else if (type == "iteration_opened") {
    IterationView iteration;
    iteration.number = fact.payload["iteration"];
    iteration.opened = std::move(fact);
    m_view.iterations.push_back(std::move(iteration));
  } else if (IterationView* iteration = target(fact.payload)) {
    add_to_iteration(type, *iteration, std::move(fact));
  } else if (type == "note") {
    m_view.notes.push_back(std::move(fact));
  } else {
    add_to_iteration(type, m_view.outside, std::move(fact));
  }
  return seq;
}

LogBuilder LogBuilder::prefix(std::size_t n) const {
  LogBuilder shorter;
  for (std::size_t i = 0; i < n && i < m_events.size(); ++i) {
    shorter.add(m_events[i].first, m_events[i].second);
  }
  return shorter;
}

Json opened_payload() {
  return {
      {"session", "20261120-demo"},
      {"title", "attention on two CPU cores"},
      {"objective",
       {{"rule", "geomean_speedup"}, {"plan", "hot"}, {"regime", "burst"}, {"min_speedup", 0.95}}},
      {"suite",
       {{"name", "demo"},
        {"problems",
         {{{"problem", k_prefill}, {"name", "prefill"}, {"weight", 1.0}, {"held_out", false}},
          {{"problem", k_decode}, {"name", "decode"}, {"weight", 1.0}, {"held_out", false}}}}}},
      {"backend", "cpu"},
      {"start_variant", "cpu_unfused"},
      {"budget", {{"evaluations", 3}, {"wall_s", 600.0}, {"usd", nullptr}}},
      {"stop", {{"plateau", 2}, {"equal_failures", nullptr}}},
      {"rates",
       {{"compile_cpu_usd_per_hour", 0.05},
        {"device_usd_per_hour", 0.20},
        {"token_usd_per_million", nullptr}}},
      {"effort", "standard"},
      {"workbench_version", "0.1.0"},
      {"author", {{"name", "A. Tester"}, {"email", "a@example.org"}}}};
}

void open_session(LogBuilder& log) {
  log.add("session_opened", opened_payload());
}

void record_environment(LogBuilder& log) {
  log.add("environment_recorded",
          {{"device",
            {{"backend", "cpu"},
             {"name", "AMD EPYC 7B13"},
             {"architecture", "x86-64-v3"},
             {"units", 2},
             {"f32_flops_per_s", {{"value", 1.568e11}, {"source", "calibrated at open"}}},
             {"memory_bytes_per_s", {{"value", 1.9e10}, {"source", "calibrated at open"}}}}},
           {"toolchain", {{"compiler", "g++ (Debian 12.2.0-14) 12.2.0"}, {"target", "native"}}},
           {"worker",
            {{"version", "0.1.0"},
             {"transport", "local"},
             {"isolation", "rlimits"},
             {"python", "3.11.2"},
             {"threads", 2}}},
           {"call_overhead_us", 0.042},
           {"host", {{"os", "Debian GNU/Linux 12"}, {"kernel", "6.1.0"}}}});
}

void open_iteration(LogBuilder& log, std::int64_t number, const std::string& variant,
                    const std::string& theory, double predicted) {
  Json hypothesis;
  if (!theory.empty()) hypothesis = {{"theory", theory}, {"predicted_speedup", predicted}};
  log.add("iteration_opened", {{"iteration", number},
                               {"parent", theory.empty() ? Json() : Json(k_start)},
                               {"variant", variant},
                               {"variant_id", "id-of-" + variant},
                               {"configuration", Json::object()},
                               {"hypothesis", hypothesis},
                               {"techniques", Json::array()}});
}

void build(LogBuilder& log, std::int64_t iteration, const std::string& subject,
           const std::string& compiler) {
  log.add("variant_built", {{"iteration", iteration},
                            {"subject", subject},
                            {"variant_id", "id-of-" + subject},
                            {"artifact_id", "art-" + subject},
                            {"configuration", Json::object()},
                            {"cached", false},
                            {"compiler", compiler},
                            {"wall_s", 1.9},
                            {"cpu_s", 1.8},
                            {"outcome", "built"},
                            {"message", ""},
                            {"log_blob", nullptr}});
}

void fail_build(LogBuilder& log, std::int64_t iteration, const std::string& subject,
                const std::string& message) {
  log.add("variant_built", {{"iteration", iteration},
                            {"subject", subject},
                            {"variant_id", "id-of-" + subject},
                            {"artifact_id", ""},
                            {"configuration", Json::object()},
                            {"cached", false},
                            {"compiler", "g++ (Debian 12.2.0-14) 12.2.0"},
                            {"wall_s", 0.7},
                            {"cpu_s", 0.6},
                            {"outcome", "compile"},
                            {"message", message},
                            {"log_blob", std::string(64, 'b')}});
}

void judge(LogBuilder& log, std::int64_t iteration, const std::string& subject,
           const std::string& problem, double share, const std::string& failure,
           const Json& versions) {
  Json runs = Json::array();
  for (int i = 0; i < 4; ++i) {
    runs.push_back({{"draw", i < 3 ? "normal" : "large"},
                    {"seed", 1000 + i},
                    {"pass", failure.empty()},
                    {"reason", failure},
                    {"worst",
                     {{"rule", "max"},
                      {"error", share * 1e-5},
                      {"budget", 1e-5},
                      {"share", share - 0.01 * i},
                      {"row", 5},
                      {"column", 3}}},
                    {"blocks_judged", 32},
                    {"blocks_total", 32},
                    {"lse_judged", i == 0}});
  }
  log.add("verdict_given", {{"iteration", iteration},
                            {"subject", subject},
                            {"problem", problem},
                            {"pass", failure.empty()},
                            {"outcome", failure.empty() ? "pass" : "correctness"},
                            {"message", failure},
                            {"versions", versions},
                            {"runs", runs}});
}

std::pair<std::int64_t, std::int64_t> turns(LogBuilder& log, std::int64_t iteration, int n) {
  const std::int64_t first = log.last() + 1;
  for (int i = 0; i < n; ++i) log.add("turn_measured", {{"iteration", iteration}});
  return {first, log.last()};
}

std::int64_t compare(LogBuilder& log, std::int64_t iteration, const Versus& versus) {
  return log.add("comparison_made",
                 {{"iteration", iteration},
                  {"phase", versus.phase},
                  {"problem", versus.problem.empty() ? Json() : Json(versus.problem)},
                  {"plan", versus.plan},
                  {"candidate", versus.candidate},
                  {"against", versus.against},
                  {"role", versus.role},
                  {"speedup", versus.speedup},
                  {"interval", interval(versus.low, versus.high)},
                  {"noise_floor_frac", 0.012},
                  {"outcome", versus.outcome},
                  {"reason", versus.reason},
                  {"instances", versus.phase == "selection" ? 2 : 5},
                  {"rounds", 3},
                  {"candidate_us", versus.candidate_us},
                  {"against_us", versus.against_us},
                  {"turns", {1, 2}}});
}

void debit(LogBuilder& log, std::optional<std::int64_t> iteration, const std::string& item,
           double quantity, std::optional<double> usd) {
  log.add("cost_debited", {{"iteration", iteration ? Json(*iteration) : Json()},
                           {"item", item},
                           {"quantity", quantity},
                           {"unit", item == "tokens" ? "tokens" : "s"},
                           {"usd", usd ? Json(*usd) : Json()},
                           {"what", "test"}});
}

void decide(LogBuilder& log, std::int64_t iteration, const std::string& state,
            const std::string& reason) {
  log.add("hypothesis_decided", {{"iteration", iteration}, {"state", state}, {"reason", reason}});
}

void change_incumbent(LogBuilder& log, std::int64_t iteration, const std::string& from,
                      const std::string& to, double speedup, double low, double high) {
  log.add("incumbent_changed", {{"iteration", iteration},
                                {"from", from},
                                {"to", to},
                                {"variant_id", "id-of-" + to},
                                {"artifact_id", "art-" + to},
                                {"configuration", {{"TILE_M", 32}, {"TILE_N", 64}}},
                                {"speedup", speedup},
                                {"interval", interval(low, high)}});
}

void find_roofline(LogBuilder& log, std::int64_t iteration, const std::string& problem, double frac,
                   const std::string& unseen) {
  log.add("finding_recorded",
          {{"iteration", iteration},
           {"analysis", "roofline_share"},
           {"statement", fmt::format("runs at {:.0f} % of the FLOP bound", frac * 100)},
           {"problem", problem},
           {"figures",
            {{"share_frac", frac},
             {"flop_share_frac", frac},
             {"byte_share_frac", frac / 3},
             {"plan", "hot"},
             {"time_us", 1234.5}}},
           {"events", {log.last()}},
           {"unseen", unseen}});
}

void find_regime(LogBuilder& log, std::int64_t iteration, const std::string& problem,
                 const std::string& regime) {
  log.add("finding_recorded", {{"iteration", iteration},
                               {"analysis", "regime"},
                               {"statement", problem + " is " + regime + "-bound"},
                               {"problem", problem},
                               {"figures", {{"regime", regime}, {"plan", "hot"}}},
                               {"events", {log.last()}},
                               {"unseen", ""}});
}

void close_iteration(LogBuilder& log, std::int64_t iteration, const std::string& outcome,
                     const std::string& invalidity, const std::string& message) {
  log.add("iteration_closed", {{"iteration", iteration},
                               {"outcome", outcome},
                               {"invalidity", invalidity.empty() ? Json() : Json(invalidity)},
                               {"message", message}});
  log.add("iteration_committed",
          {{"iteration", iteration}, {"oid", fmt::format("{:02x}c0ffee{:032x}", iteration, 7)}});
}

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

LogBuilder whole_session() {
  LogBuilder log;
  open_session(log);
  record_environment(log);
  run_baseline(log);
  run_win(log, 1);
  run_no_gain(log, 2);
  run_compile_failure(log, 3);
  log.add("note", {{"text", "torch was pinned to two threads"}, {"iteration", nullptr}});
  close_session(log, "budget: 3 of 3 evaluations");
  log.view().log_head = std::string(64, 'a');
  return log;
}

}  // namespace wb::test
