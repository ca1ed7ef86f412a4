// SPDX-License-Identifier: MIT
// The events of the example session (log_story.cpp).
#include <cmath>

#include "core/json.hpp"
#include "log_builder.hpp"
#include "measure/comparison.hpp"
#include "measure/prediction.hpp"

namespace wb::test {

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
  const bool has_figure = std::isfinite(versus.speedup);
  return log.add("comparison_made",
                 {{"iteration", iteration},
                  {"phase", versus.phase},
                  {"problem", versus.problem.empty() ? Json() : Json(versus.problem)},
                  {"plan", versus.plan},
                  {"candidate", versus.candidate},
                  {"against", versus.against},
                  {"role", versus.role},
                  {"speedup", has_figure ? Json(versus.speedup) : Json()},
                  {"interval", has_figure ? interval(versus.low, versus.high) : Json()},
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
  // The figure over the incumbent, as the engine takes it from its own comparison.
  std::optional<measure::Comparison> measured;
  const session::IterationView& view = *log.view().find(iteration);
  for (const session::Fact& fact : view.comparisons) {
    const Json& payload = fact.payload;
    if (!payload["problem"].is_null() || payload["plan"] != "hot") continue;
    if (payload["role"] != "incumbent" || payload["speedup"].is_null()) continue;
    measured.emplace();
    measured->speedup = payload["speedup"];
    measured->interval = {payload["interval"]["low"], payload["interval"]["high"], 0.99};
    measured->outcome =
        measure::parse_comparison_outcome(payload["outcome"].get<std::string>()).value();
  }
  const double predicted = view.opened.payload["hypothesis"]["predicted_speedup"];
  Json payload{
      {"iteration", iteration},
      {"state", state},
      {"reason", reason},
      {"predicted_speedup", predicted},
      {"measured_speedup", measured ? Json(measured->speedup) : Json()},
      {"interval", measured ? interval(measured->interval.low, measured->interval.high) : Json()}};
  payload.update(to_json(measure::decide_prediction({"theory", predicted}, measured)));
  log.add("hypothesis_decided", std::move(payload));
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

}  // namespace wb::test
