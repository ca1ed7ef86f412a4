// SPDX-License-Identifier: MIT
#include "unit/session/example_session.hpp"

#include <chrono>
#include <vector>

#include "core/hash.hpp"
#include "core/json.hpp"

namespace wb::testing {

using session::Session;

namespace {

using namespace std::chrono_literals;

const std::string k_problem = "B=1 Hq=4 Hkv=2 Sq=64 Skv=64 D=32 f32 causal=top_left";

Json interval(double low, double high) {
  return {{"low", low}, {"high", high}, {"confidence", 0.99}};
}

std::string label(const std::string& name) {
  return name + "@" + short_hash(example_variant_id(name));
}

Json opened(std::int64_t number, const std::string& name) {
  const bool baseline = number == 0;
  return {{"iteration", number},
          {"parent", baseline ? Json(nullptr) : Json(label("cpu_reference"))},
          {"variant", label(name)},
          {"variant_id", example_variant_id(name)},
          {"configuration", {{"TILE_M", 32}}},
          {"hypothesis", baseline ? Json(nullptr)
                                  : Json{{"theory", "tiles keep K and V in the first cache"},
                                         {"predicted_speedup", 1.5}}},
          {"techniques", {"tiling"}}};
}

Json built(Json iteration, const std::string& name, const std::string& log_blob) {
  return {{"iteration", std::move(iteration)},
          {"subject", label(name)},
          {"variant_id", example_variant_id(name)},
          {"artifact_id", sha256_hex("artifact of " + name)},
          {"configuration", {{"TILE_M", 32}}},
          {"cached", false},
          {"compiler", "g++ 12.2"},
          {"wall_s", 1.5},
          {"cpu_s", 1.25},
          {"outcome", "built"},
          {"message", ""},
          {"log_blob", log_blob.empty() ? Json(nullptr) : Json(log_blob)}};
}

Json turn(std::int64_t iteration, const std::string& subject, int round) {
  return {{"iteration", iteration}, {"problem", k_problem},
          {"plan", "hot"},          {"phase", "confirmation"},
          {"subject", subject},     {"instance", 0},
          {"placement", 0},         {"round", round},
          {"position", round % 2},  {"samples_us", {100.5, 101.25}},
          {"calls_per_sample", 16}, {"wall_us", 3300.0},
          {"flags", Json::array()}, {"spot_pass", nullptr}};
}

Json verdict(std::int64_t iteration, const std::string& subject) {
  return {{"iteration", iteration},
          {"subject", subject},
          {"problem", k_problem},
          {"pass", true},
          {"outcome", "pass"},
          {"message", ""},
          {"runs", Json::array({Json{{"draw", "normal"},
                                     {"seed", 7},
                                     {"pass", true},
                                     {"reason", ""},
                                     {"worst", nullptr},
                                     {"blocks_judged", 4},
                                     {"blocks_total", 4},
                                     {"lse_judged", true}}})}};
}

Json comparison(std::int64_t iteration) {
  return {{"iteration", iteration},
          {"phase", "confirmation"},
          {"problem", nullptr},
          {"plan", "hot"},
          {"candidate", label("cpu_tiled")},
          {"against", label("cpu_reference")},
          {"role", "incumbent"},
          {"speedup", 1.6},
          {"interval", interval(1.5, 1.7)},
          {"noise_floor_frac", 0.01},
          {"outcome", "faster"},
          {"reason", ""},
          {"instances", 5},
          {"rounds", 4},
          {"candidate_us", 62.5},
          {"against_us", 100.0},
          {"turns", {14, 17}}};
}

Json cost(Json iteration, const char* item, double quantity, Json usd) {
  return {{"iteration", std::move(iteration)},
          {"item", item},
          {"quantity", quantity},
          {"unit", item == std::string("tokens") ? "tokens" : "s"},
          {"usd", std::move(usd)},
          {"what", "example"}};
}

/// Appends events one after the other; the first error stays.
class Writer {
 public:
  Writer(Session& session, FakeClock& clock, const OnStep& on_step)
      : m_session(session), m_clock(clock), m_on_step(on_step) {}
  void operator()(std::string_view type, const Json& payload) {
    if (!m_done.ok()) return;
    m_clock.advance(250ms);
    const Result<std::int64_t> seq = m_session.append(type, payload);
    if (!seq.ok()) {
      m_done = seq.error();
    } else if (m_on_step) {
      m_on_step(*seq);
    }
  }
  [[nodiscard]] const Result<void>& done() const { return m_done; }

 private:
  Session& m_session;
  FakeClock& m_clock;
  const OnStep& m_on_step;
  Result<void> m_done;
};

Session::Closing closing(std::int64_t number, const std::string& outcome, const std::string& name) {
  const std::string page = session::iteration_name(number);
  Session::Closing made;
  made.iteration = number;
  made.closed = {{"iteration", number},   {"outcome", outcome},
                 {"invalidity", nullptr}, {"message", "as measured"},
                 {"speedup", 1.6},        {"interval", interval(1.5, 1.7)}};
  made.pages = {{page + ".md", "# Iteration " + page + "\n"},
                {page + ".json", "{\"iteration\": " + std::to_string(number) + "}\n"}};
  if (!name.empty()) made.variant_id = example_variant_id(name);
  made.subject = "Iteration " + page + ": " + outcome;
  made.trailers = {{"Iteration", std::to_string(number)},
                   {"Variant", label(name)},
                   {"Outcome", outcome},
                   {"Cost", "rate not given"}};
  return made;
}

/// What happens before and in the baseline.
void baseline_events(Writer& write, const std::string& log_blob) {
  write("environment_recorded", {{"device", {{"name", "example CPU"}}},
                                 {"toolchain", {{"compiler", "g++ 12.2"}}},
                                 {"worker", {{"version", "0.1.0"}}},
                                 {"call_overhead_us", 0.5},
                                 {"host", {{"os", "Linux"}, {"kernel", "6.1"}}}});
  write("playbook_started", {{"path", "playbooks/optimize.lua"},
                             {"sha256", sha256_hex("lua")},
                             {"args", Json::object()},
                             {"seed", 1},
                             {"replan", false}});
  write("variant_built", built(nullptr, "cpu_reference", log_blob));
  write("iteration_opened", opened(0, "cpu_reference"));
  write("noise_floor_measured", {{"problem", k_problem},
                                 {"plan", "hot"},
                                 {"floor_frac", 0.01},
                                 {"within_frac", 0.002},
                                 {"instances", 5},
                                 {"turns", {8, 9}},
                                 {"subject", label("cpu_reference")}});
  write("verdict_given", verdict(0, label("cpu_reference")));
  for (int round = 0; round < 2; ++round) {
    write("turn_measured", turn(0, label("cpu_reference"), round));
  }
  write("cost_debited", cost(0, "device", 2.5, 0.001));
}

void winning_events(Writer& write) {
  write("verb_called", {{"n", 1},
                        {"verb", "iterate"},
                        {"args_sha256", sha256_hex("{}")},
                        {"args", Json::object()},
                        {"request_id", "r-1"}});
  write("iteration_opened", opened(1, "cpu_tiled"));
  write("variant_built", built(1, "cpu_tiled", ""));
  write("cost_debited", cost(1, "compile_cpu", 1.25, 0.0001));
  write("verdict_given", verdict(1, label("cpu_tiled")));
  for (int round = 0; round < 4; ++round) {
    write("turn_measured", turn(1, label(round % 2 == 0 ? "cpu_tiled" : "cpu_reference"), round));
  }
  write("evaluation", {{"iteration", 1},
                       {"configuration", {{"TILE_M", 32}}},
                       {"artifact_id", sha256_hex("artifact of cpu_tiled")},
                       {"outcome", "pass"},
                       {"speedup", 1.6},
                       {"interval", interval(1.5, 1.7)}});
  write("comparison_made", comparison(1));
  write("profile_taken", {{"iteration", 1},
                          {"subject", label("cpu_tiled")},
                          {"problem", k_problem},
                          {"available", false},
                          {"reason", "no profiler on this backend"},
                          {"records", Json::array()}});
  write("finding_recorded", {{"iteration", 1},
                             {"analysis", "roofline"},
                             {"statement", "4.1 times above the bound"},
                             {"problem", k_problem},
                             {"figures", {{"ratio", 4.1}}},
                             {"events", {20}},
                             {"unseen", Json::array()}});
  write("hypothesis_decided", {{"iteration", 1},
                               {"state", "supported"},
                               {"reason", "faster"},
                               {"predicted_speedup", 1.5},
                               {"measured_speedup", 1.6},
                               {"interval", interval(1.5, 1.7)},
                               {"mechanism", "confirmed"},
                               {"mechanism_reason", "faster"},
                               {"size", "within"},
                               {"size_reason", "its interval holds it"}});
  write("incumbent_changed", {{"iteration", 1},
                              {"from", label("cpu_reference")},
                              {"to", label("cpu_tiled")},
                              {"variant_id", example_variant_id("cpu_tiled")},
                              {"artifact_id", sha256_hex("artifact of cpu_tiled")},
                              {"configuration", {{"TILE_M", 32}}},
                              {"speedup", 1.6},
                              {"interval", interval(1.5, 1.7)}});
  write("cost_debited", cost(1, "device", 4.0, 0.002));
  write("cost_debited", cost(1, "tokens", 1200, nullptr));
  write("note", {{"iteration", 1}, {"text", "unrolling by hand was not needed"}});
}

}  // namespace

Json example_identity() {
  return {
      {"session", "s-example"},
      {"title", "an example"},
      {"objective",
       {{"rule", "geomean_speedup"}, {"plan", "hot"}, {"regime", "burst"}, {"min_speedup", 0.95}}},
      {"suite",
       {{"name", "example"},
        {"problems",
         Json::array({Json{
             {"problem", k_problem}, {"name", "small"}, {"weight", 1.0}, {"held_out", false}}})}}},
      {"backend", "cpu"},
      {"start_variant", "cpu_reference"},
      {"budget", {{"evaluations", 3}, {"wall_s", nullptr}, {"usd", nullptr}}},
      {"stop", {{"plateau", 3}, {"equal_failures", 3}}},
      {"rates",
       {{"compile_cpu_usd_per_hour", 0.3},
        {"device_usd_per_hour", 1.5},
        {"token_usd_per_million", nullptr}}},
      {"effort", "quick"},
      {"workbench_version", "0.1.0"},
      {"author", {{"name", "Ada Example"}, {"email", "ada@example.org"}}}};
}

std::map<std::string, std::string> example_sources(const std::string& name) {
  return {{name + "/kernel.json", "{\"name\": \"" + name + "\"}\n"},
          {name + "/kernel.cpp", "// SPDX-License-Identifier: MIT\n// The kernel " + name + "\n"},
          {"common/shared.txt", "shared by all\n"}};
}

std::string example_variant_id(const std::string& name) {
  return sha256_hex("variant " + name);
}

Result<std::string> run_iteration(Session& session, FakeClock& clock, std::int64_t number,
                                  const std::string& name) {
  clock.advance(1s);
  WB_TRY(session.append("iteration_opened", opened(number, name)));
  WB_TRY(session.store_variant(example_variant_id(name), example_sources(name)));
  WB_TRY(session.append("variant_built", built(number, name, "")));
  return session.close_iteration(closing(number, number == 0 ? "baseline" : "no_gain", name));
}

Result<void> run_example(FileSystem& file_system, FakeClock& clock, const fs::path& folder,
                         const OnStep& on_step) {
  WB_TRY_ASSIGN(Session session, Session::create(file_system, clock, folder, example_identity()));
  const auto close_step = [&](Session::Closing what) -> Result<void> {
    clock.advance(1s);
    const Result<std::string> oid = session.close_iteration(what);
    if (!oid.ok()) return oid.error();
    WB_TRY(session.write_report("session.md", "# The report after iteration\n"));
    if (on_step) on_step(session.log().size());
    return {};
  };
  Writer write(session, clock, on_step);
  if (on_step) on_step(session.log().size());
  WB_TRY_ASSIGN(const std::string blob, session.put_blob(std::string(2000, 'w') + "\n"));
  WB_TRY(
      session.store_variant(example_variant_id("cpu_reference"), example_sources("cpu_reference")));
  baseline_events(write, blob);
  WB_TRY(write.done());
  WB_TRY(close_step(closing(0, "baseline", "cpu_reference")));

  WB_TRY(session.store_variant(example_variant_id("cpu_tiled"), example_sources("cpu_tiled")));
  winning_events(write);
  WB_TRY(write.done());
  WB_TRY(close_step(closing(1, "win", "cpu_tiled")));
  write("verb_answered", {{"n", 1}, {"result", {{"iteration", 1}, {"outcome", "win"}}}});

  write("decision_recorded", {{"question", "what next"},
                              {"options", {"tile", "stop"}},
                              {"choice", "tile"},
                              {"reason", "headroom is left"}});
  write("note", {{"text", "paused for the night"}, {"iteration", nullptr}});
  write("iteration_opened", opened(2, "cpu_tiled"));
  write("session_paused", {{"reason", "SIGTERM"}});
  write("session_resumed", {{"environment_changed", Json::array()}});
  WB_TRY(write.done());
  WB_TRY(close_step(closing(2, "abandoned", "")));
  WB_TRY(write.done());
  clock.advance(1s);
  const Result<std::string> oid = session.close(
      {{"reason", "budget"}, {"outcome", "win"}, {"recommendation", "use cpu_tiled"}},
      [](Session& closed) { return closed.write_report("session.md", "# The last report\n"); });
  if (!oid.ok()) return oid.error();
  if (on_step) on_step(session.log().size());
  return {};
}

}  // namespace wb::testing
