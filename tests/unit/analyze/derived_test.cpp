// SPDX-License-Identifier: MIT
// What manifest, build and launch rule say of a variant, and what recorded launches say instead.
#include "analyze/derived.hpp"

#include "analyze/compiled_code.hpp"
#include "analyze/evidence.hpp"
#include "core/json.hpp"
#include "made_evidence.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::analyze;
using namespace wb::catalogue;
using namespace wb::device;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::variant;

namespace {

constexpr const char* k_shape = "B=1 Hq=8 Sq=512 D=64 f16";
constexpr const char* k_subject = "flash@1";
constexpr std::int64_t k_build = 5, k_turns = 7, k_launches = 21;

Problem shape(const char* text = k_shape) {
  return parse_problem(text).value();
}

Evidence h200() {
  Evidence evidence;
  evidence.device = *known_gpu("NVIDIA H200");
  evidence.observations = {made::observation(k_shape, 10, PlanKind::hot, k_subject, {k_turns})};
  return evidence;
}

Json graph_launch(const char* kernel, std::int64_t blocks, std::int64_t threads = 256) {
  return {{"kernel", kernel},
          {"grid", {blocks, 1, 1}},
          {"block", {threads, 1, 1}},
          {"per_call", 1},
          {"dynamic_shared_bytes", 40 * 1024},
          {"static_shared_bytes", 0},
          {"registers", 128},
          {"local_bytes", 0},
          {"blocks_per_sm", 2}};
}

Json recorded(const Json& launches, const char* text = k_shape) {
  return {{"iteration", 0},
          {"subject", k_subject},
          {"problem", to_text(shape(text))},
          {"launches", launches}};
}

struct Derived {
  Manifest manifest;
  LaunchRule rule;
  DerivedInput input;
  Derived() {
    manifest.name = "flash";
    manifest.techniques = {"tensor_core_mma", "query_tiling"};
    rule.kernel = "flash";
    rule.rows_least = "64";
    rule.rows_most = "128";
    rule.threads_least = "128";
    rule.threads_most = "256";
    input.subject = k_subject;
    input.manifest = &manifest;
    input.rule = &rule;
    input.problems = {shape()};
    input.build_events = {k_build};
  }
  Derived(const Derived&) = delete;
  /// The only finding of that analysis.
  [[nodiscard]] Finding only(const std::string& analysis, const Evidence& evidence) const {
    std::vector<Finding> found;
    for (Finding& finding : derived_findings(input, evidence)) {
      if (finding.analysis == analysis) found.push_back(std::move(finding));
    }
    REQUIRE(found.size() == 1);
    return found[0];
  }
  [[nodiscard]] bool says(const std::string& analysis, const Evidence& evidence) const {
    for (const Finding& finding : derived_findings(input, evidence)) {
      if (finding.analysis == analysis) return true;
    }
    return false;
  }
};

PtxasRecord spilling() {
  PtxasRecord record;
  record.kernels = {
      {.kernel = "flash<__half, 64>",
       .registers = 168,
       .spill_store_bytes = 12,
       .spill_load_bytes = 12},
      {.kernel = "flash<float, 64>",
       .registers = 255,
       .spill_store_bytes = 300,
       .spill_load_bytes = 400},
      {.kernel = "merge", .registers = 40},
  };
  return record;
}

}  // namespace

TEST_CASE("without a recorded launch the rule's bounds are told, as derived",
          "[analyze][derived]") {
  const Derived derived;
  const Finding finding = derived.only("launch_rule", h200());
  CHECK(finding.statement.find("derived, not measured") == 0);
  CHECK(finding.figures["blocks_least"] == 32);
  CHECK(finding.figures["blocks_most"] == 64);
  CHECK(finding.figures["units_most_frac"].get<double>() == Approx(64.0 / 132));
  CHECK(finding.figures["walks_in_series"] == true);
  CHECK_FALSE(finding.figures.contains("waves_least"));  // how many blocks share an SM is open
  CHECK(finding.unseen.find("no tool saw") != std::string::npos);
}

TEST_CASE("a recorded launch takes the place of the rule's blocks and is cited",
          "[analyze][derived]") {
  const Derived derived;
  Evidence evidence = h200();
  add_recorded_launches(evidence, recorded(Json::array({graph_launch("flash<__half, 64>", 48)})),
                        k_launches);
  const Finding finding = derived.only("launch_rule", evidence);
  CHECK(finding.statement.find("flash@1 launches 48 blocks") == 0);
  CHECK(finding.figures["blocks_least"] == 48);
  CHECK(finding.figures["blocks_most"] == 48);
  CHECK(finding.figures["waves_least"].get<double>() == Approx(48.0 / (132 * 2)));
  CHECK(finding.events.front() == k_launches);
  // Another subject's, or on another problem, says nothing of this one.
  Evidence others = h200();
  Json foreign = recorded(Json::array({graph_launch("flash", 48)}));
  foreign["subject"] = "other@2";
  add_recorded_launches(others, foreign, k_launches);
  add_recorded_launches(
      others, recorded(Json::array({graph_launch("flash", 48)}), "B=1 Hq=8 Sq=64 D=64 f16"),
      k_launches);
  CHECK(derived.only("launch_rule", others).figures["blocks_most"] == 64);
}

TEST_CASE("of a persistent grid the tiles make the waves", "[analyze][derived]") {
  constexpr const char* k_long = "B=2 Hq=16 Sq=512 D=64 f16";  // 256 tiles of 64 rows
  Derived derived;
  derived.rule.rows_most = "64";
  derived.input.problems = {shape(k_long)};
  Evidence evidence = h200();
  evidence.observations = {made::observation(k_long, 10, PlanKind::hot, k_subject, {k_turns})};
  Json whole = graph_launch("flash", 132);
  whole["blocks_per_sm"] = 1;
  add_recorded_launches(evidence, recorded(Json::array({whole}), k_long), k_launches);
  // Without a rule the full grid may be one: nothing is said of its waves.
  const auto unknown = made::run("launch", evidence);
  CHECK_FALSE(unknown.at(0).figures.contains("waves"));
  CHECK(unknown.at(0).figures["units_frac"] == 1.0);
  add_rule_facts(evidence, k_subject, derived.manifest, {}, &derived.rule);
  const auto known = made::run("launch", evidence);
  CHECK(known.at(0).figures["tiles"] == 256);
  CHECK(known.at(0).figures["waves"].get<double>() == Approx(256.0 / 132));
  CHECK(known.at(0).figures["wave_fill_frac"].get<double>() == Approx(256.0 / 264));
  CHECK(known.at(0).statement.find("they take 256 tiles in turn") != std::string::npos);
  const Finding rule = derived.only("launch_rule", evidence);
  CHECK(rule.figures["waves_least"].get<double>() == Approx(256.0 / 132));
  CHECK(rule.figures["wave_fill_most_frac"].get<double>() == Approx(256.0 / 264));
  CHECK(rule.statement.find("they take 256 tiles in turn, of 64 query rows") != std::string::npos);
  // Fewer blocks than the device has units are no persistent grid, whatever the rule says.
  Evidence few = h200();
  few.observations = evidence.observations;
  add_recorded_launches(few, recorded(Json::array({graph_launch("flash", 48)}), k_long),
                        k_launches);
  add_rule_facts(few, k_subject, derived.manifest, {}, &derived.rule);
  CHECK_FALSE(made::run("launch", few).at(0).figures.contains("tiles"));
  CHECK(made::run("launch", few).at(0).figures["waves"].get<double>() < 1);
}

TEST_CASE("the analysis of launches reads what the graph recorded", "[analyze][launch]") {
  Evidence evidence = h200();
  add_recorded_launches(evidence, recorded(Json::array({graph_launch("flash<__half, 64>", 32)})),
                        k_launches);
  const auto findings = made::run("launch", evidence);
  REQUIRE(findings.size() == 1);
  const Json& figures = findings[0].figures;
  CHECK(figures["source"] == "graph");
  CHECK(figures["blocks"] == 32);
  CHECK(figures["units_frac"].get<double>() == Approx(32.0 / 132));
  CHECK(figures["blocks_per_unit"] == 2);
  CHECK(figures["limited_by"] == "registers");
  CHECK(figures["occupancy_frac"].get<double>() == Approx(0.25));
  CHECK(figures["hides_latency"] == false);
  CHECK(figures["rows_per_block"] == 128);  // the only launch of a call
  CHECK(findings[0].events == std::vector<std::int64_t>{k_turns, k_launches});
  const auto grids = made::run("grid_check", evidence);
  REQUIRE(grids.size() == 1);
  CHECK(grids[0].statement.find("Grid: (32, 1, 1), Block: (256, 1, 1)") != std::string::npos);
}

TEST_CASE("of several launches the one with most registers at work is told, without re-reads",
          "[analyze][launch]") {
  Evidence evidence = h200();
  Json merge = graph_launch("merge", 64);
  merge["registers"] = 32;
  add_recorded_launches(evidence, recorded(Json::array({merge, graph_launch("flash", 32)})),
                        k_launches);
  const auto findings = made::run("launch", evidence);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].figures["kernel"] == "flash");
  CHECK_FALSE(findings[0].figures.contains("rows_per_block"));
}

TEST_CASE("launches that cannot be, or that a tool saw too, change nothing",
          "[analyze][launch][hostile]") {
  Evidence evidence = h200();
  Json lie = graph_launch("flash", 32);
  lie["blocks_per_sm"] = 900;  // more than an SM holds
  add_recorded_launches(evidence, recorded(Json::array({lie})), k_launches);
  CHECK(made::run("launch", evidence)[0].figures["blocks_per_unit"] == 2);
  add_recorded_launches(evidence, recorded(Json::array({graph_launch("flash", 99)})),
                        k_launches + 1);
  CHECK(evidence.kernels.size() == 1);  // the first counts
  for (const Json& odd :
       {recorded(Json::array({Json{{"kernel", "x"}, {"grid", "(1, 1, 1)"}}})), recorded("all"),
        Json(), Json(3),
        Json{{"subject", k_subject}, {"problem", "B=0"}, {"launches", Json::array()}}}) {
    Evidence other = h200();
    add_recorded_launches(other, odd, k_launches);
    CHECK(other.kernels.empty());
  }
  Evidence seen = h200();
  const Json by_ncu{{"kernel", "flash"},
                    {"grid", "(16, 1, 1)"},
                    {"block", "(64, 1, 1)"},
                    {"metrics", Json::object()},
                    {"share_frac", 1}};
  add_launches(seen, Json::array({by_ncu}), k_subject, shape(), "ncu", {20});
  add_recorded_launches(seen, recorded(Json::array({graph_launch("flash", 32)})), k_launches);
  CHECK(seen.kernels.size() == 1);
}

TEST_CASE("a spill counts where its kernel is launched", "[analyze][derived]") {
  Derived derived;
  derived.input.ptxas = spilling();
  Evidence evidence = h200();
  // By dtype and head dimension in the name, as no launch was recorded.
  Finding finding = derived.only("spills", evidence);
  CHECK(finding.figures["kernel"] == "flash<__half, 64>");
  CHECK(finding.figures["spill_bytes"] == 12);
  CHECK(finding.figures["seen_by"] == "name");
  CHECK(finding.events == std::vector<std::int64_t>{k_build});
  CHECK(derived.only("configuration", evidence).figures["spills"] == false);
  add_recorded_launches(evidence, recorded(Json::array({graph_launch("flash<__half, 64>", 32)})),
                        k_launches);
  finding = derived.only("spills", evidence);
  CHECK(finding.figures["seen_by"] == "launch");
  CHECK(finding.events == std::vector<std::int64_t>{k_build, k_launches});
  // Launched is a kernel that does not spill: then there is nothing to say.
  Evidence clean = h200();
  add_recorded_launches(clean, recorded(Json::array({graph_launch("merge", 32)})), k_launches);
  CHECK_FALSE(derived.says("spills", clean));
  CHECK(derived.only("configuration", clean).figures["spills"] == false);
  // A driver that does not tell names leaves it to the names of the build.
  Evidence nameless = h200();
  add_recorded_launches(nameless, recorded(Json::array({graph_launch("?", 32)})), k_launches);
  CHECK(derived.only("spills", nameless).figures["seen_by"] == "name");
  // The large spill is of another dtype, and counts on a problem that has it.
  const char* const k_f32 = "B=1 Hq=8 Sq=512 D=64 f32";
  derived.input.problems = {shape(k_f32)};
  CHECK(derived.only("spills", h200()).figures["spill_bytes"] == 400);
  CHECK(derived.only("configuration", h200()).figures["spills"] == true);
  // What the record left out may be the one that is launched.
  derived.input.problems = {shape()};
  derived.input.ptxas->kernels_left_out = derived.input.ptxas->spilling_left_out = 3;
  CHECK_FALSE(derived.only("configuration", h200()).figures.contains("spills"));
  derived.input.ptxas.reset();
  CHECK_FALSE(derived.says("spills", h200()));
}

TEST_CASE("a kernel's name tells which problems it may be for", "[analyze][derived]") {
  const Problem f16 = shape();
  CHECK(may_serve("flash", f16));
  CHECK(may_serve("flash<Shape<__half, 64, 1>>", f16));
  CHECK(may_serve("flash<Shape<__half, float, 64>>", f16));  // float sums
  CHECK(may_serve("flash<(int)64, true>", f16));
  CHECK_FALSE(may_serve("flash<Shape<__nv_bfloat16, 64, 1>>", f16));
  CHECK_FALSE(may_serve("flash<float, 64>", f16));
  CHECK_FALSE(may_serve("flash<__half, 256>", f16));
  CHECK(may_serve("flash<__half, ... 1>", f16));  // the head dimension may be what was cut
  // A head dimension between two that kernels have takes the next one.
  const Problem odd = shape("B=1 Hq=8 Sq=512 D=72 f16");
  CHECK(may_serve("flash<__half, 128>", odd));
  CHECK(may_serve("flash<__half, 80>", odd));
  CHECK_FALSE(may_serve("flash<__half, 64>", odd));
}

TEST_CASE("registers of kernels that nothing launches limit nobody", "[analyze][derived]") {
  Derived derived;
  derived.input.ptxas = spilling();
  Evidence evidence = h200();
  add_ptxas(evidence, spilling(), k_subject, {k_build});
  const double frac =
      derived.only("configuration", evidence).figures["register_occupancy_frac"].get<double>();
  derived.input.problems = {shape("B=1 Hq=8 Sq=512 D=64 f32")};
  const double of_f32 =
      derived.only("configuration", evidence).figures["register_occupancy_frac"].get<double>();
  CHECK(of_f32 < frac);
}

TEST_CASE("matrix units fed by asynchronous copies hide latency", "[analyze][derived]") {
  Derived derived;
  derived.manifest.backend = variant::Backend::cuda;
  CHECK_FALSE(hides_latency(derived.input));
  CHECK(derived.only("configuration", h200()).figures["hides_latency"] == false);
  derived.manifest.techniques = {"tensor_core_wgmma", "tma_copy"};
  CHECK(hides_latency(derived.input));
  CHECK(derived.only("configuration", h200()).figures["hides_latency"] == true);
  CHECK_FALSE(hides_latency(DerivedInput{}));
  // A parameter of 0 turns the copies off, in manifests from before conditions.
  derived.manifest.techniques = {"tensor_core_mma", "async_copy"};
  derived.input.configuration = {{"ASYNC_COPY", 0}};
  CHECK_FALSE(hides_latency(derived.input));
}
