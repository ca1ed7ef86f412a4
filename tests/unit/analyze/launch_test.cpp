// SPDX-License-Identifier: MIT
#include "analyze/evidence.hpp"

#include "analyze/occupancy.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "made_evidence.hpp"
#include "measure/ncu_report.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

using namespace wb;
using namespace wb::analyze;
using namespace wb::device;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::variant;

namespace {

constexpr const char* k_problem = "B=1 Hq=32 Sq=512 D=64 f16";

Evidence on(std::string_view gpu, std::string_view problem = k_problem) {
  Evidence evidence;
  evidence.device = *known_gpu(gpu);
  evidence.observations = {made::observation(problem, 10, PlanKind::hot, "flash@1", {7})};
  return evidence;
}

Json taken(const Json& launches, std::string_view tool) {
  return {{"subject", "flash@1"}, {"problem", to_text(made::observation(k_problem, 1).problem)},
          {"tool", tool},         {"available", true},
          {"reason", ""},         {"records", {{"launches", launches}}}};
}

Json launch(const char* grid, const char* block, double share = 1) {
  return {{"kernel", "flash"},
          {"grid", grid},
          {"block", block},
          {"metrics", Json::object()},
          {"share_frac", share}};
}

Json with_resources(Json launch, double registers, double static_bytes, double dynamic_bytes) {
  const auto metric = [&](const char* name, double value, const char* unit) {
    launch["metrics"][name] = {{"value", value}, {"unit", unit}};
  };
  metric("Registers Per Thread", registers, "register/thread");
  metric("Static Shared Memory Per Block", static_bytes, "byte/block");
  metric("Dynamic Shared Memory Per Block", dynamic_bytes, "byte/block");
  return launch;
}

}  // namespace

TEST_CASE("Fewer blocks than SMs leave the others idle", "[analyze][launch]") {
  Evidence evidence = on("NVIDIA H200");
  add_profile(evidence, taken(Json::array({launch("(32, 1, 1)", "(384, 1, 1)")}), "torch.profiler"),
              20);
  const auto findings = made::run("launch", evidence);
  REQUIRE(findings.size() == 1);
  const Json& figures = findings[0].figures;
  CHECK(figures.at("blocks") == 32);
  CHECK(figures.at("threads_per_block") == 384);
  CHECK(figures.at("units_frac").get<double>() == Approx(32.0 / 132));
  CHECK(findings[0].statement.find("at most 24 % of the 132 SMs") != std::string::npos);
  CHECK(findings[0].events == std::vector<std::int64_t>{7, 20});
  // torch.profiler does not tell registers, so waves are said to be unseen.
  CHECK_FALSE(figures.contains("waves"));
  CHECK(findings[0].unseen.find("torch.profiler does not tell registers") != std::string::npos);
}

TEST_CASE("Waves follow from registers and shared memory, re-reads from the blocks",
          "[analyze][launch]") {
  Evidence evidence = on("NVIDIA H200");
  const Json small = launch("(1, 1, 1)", "(32, 1, 1)", 0.01);
  const Json main = with_resources(launch("(8, 32, 1)", "(128, 1, 1)", 0.99), 168, 0, 48.0 * 1024);
  add_profile(evidence, taken(Json::array({small, main}), "ncu"), 20);
  const auto findings = made::run("launch", evidence);
  REQUIRE(findings.size() == 1);
  const Json& figures = findings[0].figures;
  CHECK(figures.at("blocks") == 256);
  CHECK(figures.at("blocks_per_unit") == 3);
  CHECK(figures.at("limited_by") == "registers");
  CHECK(figures.at("blocks_to_fill") == 396);
  CHECK(figures.at("waves").get<double>() == Approx(256.0 / 396));
  CHECK(figures.at("rows_per_block") == 64);
  CHECK(figures.at("kv_redundancy") == 8);
  CHECK(figures.at("shared_frac").get<double>() == Approx(48.0 / 228));
}

TEST_CASE("Threads at work lie between one a row and the lanes that were active",
          "[analyze][launch]") {
  Evidence evidence = on("NVIDIA H200");
  Json main = launch("(8, 32, 1)", "(256, 1, 1)");
  main["metrics"]["Avg. Active Threads Per Warp"] = {{"value", 20.0}, {"unit", ""}};
  add_profile(evidence, taken(Json::array({main}), "ncu"), 20);
  const auto findings = made::run("launch", evidence);
  REQUIRE(findings.size() == 1);
  const Json& figures = findings[0].figures;
  CHECK(figures.at("row_threads_per_block") == 64);  // 512 rows over 8 blocks a head
  CHECK(figures.at("row_threads_frac").get<double>() == Approx(0.25));
  CHECK(figures.at("active_threads_per_block").get<double>() == Approx(256 * 20.0 / 32));
  CHECK(figures.at("active_threads_frac").get<double>() == Approx(20.0 / 32));
  // More rows than threads keep all of them at work, and no more than all.
  Evidence few = on("NVIDIA H200");
  add_profile(few, taken(Json::array({launch("(8, 32, 1)", "(32, 1, 1)")}), "ncu"), 20);
  const auto all = made::run("launch", few);
  CHECK(all[0].figures.at("row_threads_frac") == 1.0);
  CHECK_FALSE(all[0].figures.contains("active_threads_per_block"));
}

TEST_CASE("A kernel that does a part of the work tells nothing of re-reads", "[analyze][launch]") {
  Evidence evidence = on("NVIDIA H200");
  add_profile(evidence,
              taken(Json::array({launch("(8, 32, 1)", "(128, 1, 1)", 0.6),
                                 launch("(32, 1, 1)", "(128, 1, 1)", 0.4)}),
                    "torch.profiler"),
              20);
  const auto findings = made::run("launch", evidence);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].figures.at("blocks") == 256);
  CHECK_FALSE(findings[0].figures.contains("kv_redundancy"));
}

TEST_CASE("A grid that shares out no rows tells nothing of re-reads", "[analyze][launch]") {
  for (const char* grid : {"(132, 1, 1)", "(16, 1, 1)", "(32768, 1, 1)"}) {
    Evidence evidence = on("NVIDIA H200");
    add_profile(evidence, taken(Json::array({launch(grid, "(128, 1, 1)")}), "ncu"), 20);
    const auto findings = made::run("launch", evidence);
    REQUIRE(findings.size() == 1);
    CHECK_FALSE(findings[0].figures.contains("kv_redundancy"));
  }
}

TEST_CASE("Without a tool that looked, the launch is said to be unknown", "[analyze][launch]") {
  Evidence evidence = on("NVIDIA H200");
  const Json blocked{{"subject", "flash@1"},
                     {"problem", k_problem},
                     {"tool", "ncu"},
                     {"available", false},
                     {"reason", "the driver lets only an administrator read counters"},
                     {"records", Json::object()}};
  add_profile(evidence, blocked, 21);
  const auto findings = made::run("launch", evidence);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].statement.find("no tool saw grid and block") != std::string::npos);
  CHECK(findings[0].events == std::vector<std::int64_t>{21});
  const auto profile = made::run("profile", evidence);
  REQUIRE(profile.size() == 1);
  CHECK(profile[0].statement.find("profiler blocked mode") != std::string::npos);
  CHECK(profile[0].unseen.find("bank conflicts") != std::string::npos);
  evidence.device = made::device();  // a CPU launches no grids
  CHECK(made::run("launch", evidence).empty());
}

TEST_CASE("Records that are not well formed add nothing", "[analyze][launch]") {
  Evidence evidence = on("NVIDIA H200");
  add_profile(evidence, Json("no object"), 1);
  add_profile(evidence, taken(Json("no list"), "ncu"), 1);
  add_profile(evidence, taken(Json::array({1, Json::object(), launch("(0, 1, 1)", "x")}), "ncu"),
              1);
  add_profile(evidence, taken(Json::array({launch("(99999999999, 99999999999, 9)", "(1)")}), "ncu"),
              1);
  for (const KernelFacts& kernel : evidence.kernels) CHECK_FALSE(kernel.blocks);
  Json other = taken(Json::array({launch("(1, 1, 1)", "(32, 1, 1)")}), "memcheck");
  const std::size_t before = evidence.kernels.size();
  add_profile(evidence, other, 1);
  CHECK(evidence.kernels.size() == before);
  CHECK(evidence.blind_spots.empty());
}

TEST_CASE("What ncu saw is told with its advice", "[analyze][launch]") {
  const auto text =
      RealFileSystem().read(source_dir() / "tests/data/ncu_speed_of_light.csv", 1u << 20);
  REQUIRE(text.ok());
  const auto launches = read_ncu_report(*text, 8);
  REQUIRE(launches.ok());
  Evidence evidence = on("NVIDIA H200");
  add_launches(evidence, *launches, "flash@1", evidence.observations[0].problem, "ncu", {9});
  const auto findings = made::run("profile", evidence);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].figures.at("memory_throughput_frac").get<double>() == Approx(0.2574));
  CHECK(findings[0].figures.at("sm_throughput_frac").get<double>() == Approx(0.2723));
  CHECK(findings[0].statement.find("latency limits it") != std::string::npos);
  CHECK(findings[0].statement.find("This kernel grid is too small") != std::string::npos);
  CHECK(made::run("launch", evidence).at(0).figures.at("blocks") == 256);
}

TEST_CASE("A profile by itself is explained without times", "[analyze][launch]") {
  Evidence evidence = on("NVIDIA H200");
  evidence.observations.clear();
  add_profile(evidence, taken(Json::array({launch("(8, 32, 1)", "(128, 1, 1)")}), "ncu"), 20);
  const auto findings = analyze::analyze(evidence);
  REQUIRE(findings.size() == 3);
  CHECK(findings[0].analysis == "grid_check");
  CHECK(findings[1].analysis == "launch");
  CHECK(findings[1].figures.at("kv_redundancy") == 8);
  CHECK_FALSE(findings[1].figures.contains("kv_requested_bytes_per_s"));
  CHECK(findings[2].analysis == "profile");
}

TEST_CASE("Registers bound the occupancy of what was compiled", "[analyze][launch]") {
  PtxasRecord record;
  record.kernels.resize(2);
  record.kernels[0].kernel = "wide";
  record.kernels[0].registers = 220;
  record.kernels[1].kernel = "narrow";
  record.kernels[1].registers = 32;
  Evidence evidence = on("NVIDIA H200");
  add_ptxas(evidence, record, "flash@1", {5});
  const auto findings = made::run("register_limit", evidence);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].figures.at("kernel") == "wide");
  CHECK(findings[0].figures.at("most_warps") == 8);
  CHECK(findings[0].figures.at("most_occupancy_frac").get<double>() == Approx(0.125));
  CHECK(findings[0].events == std::vector<std::int64_t>{5});
  record.kernels.erase(record.kernels.begin());
  Evidence free = on("NVIDIA H200");
  add_ptxas(free, record, "flash@1", {5});
  CHECK(made::run("register_limit", free).empty());
}

// Occupancy. Expected blocks: what cuda_occupancy.h of CUDA 13.0 answers, with the largest
// carve-out.

namespace {

struct Known {
  const char* architecture;
  BlockDemand demand;
  std::int64_t blocks;
  std::string_view limited_by;
};

}  // namespace

TEST_CASE("Blocks of an SM are those of the toolkit's own calculator", "[analyze][unit]") {
  const Known known[] = {{"sm_90", {128, 168, 49152}, 3, "registers"},
                         {"sm_90a", {384, 168, 204800}, 1, "shared memory"},
                         {"sm_80", {256, 64, 0}, 4, "registers"},
                         {"sm_89", {256, 128, 32768}, 2, "registers"},
                         {"sm_100", {1024, 64, 0}, 1, "registers"},
                         {"sm_120", {96, 40, 10000}, 9, "shared memory"},
                         {"sm_86", {32, 16, 0}, 16, "blocks"},
                         {"sm_87", {128, 255, 1000}, 2, "registers"},
                         {"sm_80", {33, 100, 5000}, 8, "registers"},
                         {"sm_80", {1024, 32, 0}, 2, "warps"}};
  for (const Known& one : known) {
    const auto limits = sm_limits(one.architecture);
    REQUIRE(limits);
    const auto found = occupancy(*limits, one.demand);
    REQUIRE(found);
    CAPTURE(one.architecture, one.demand.threads, one.demand.registers, one.demand.shared_bytes);
    CHECK(found->blocks == one.blocks);
    CHECK(found->limited_by == one.limited_by);
    CHECK(found->frac == Approx(static_cast<double>(found->warps) / limits->warps));
  }
}

TEST_CASE("A block that no SM can hold has no occupancy, impossible ones no answer",
          "[analyze][unit]") {
  const auto hopper = sm_limits("sm_90");
  REQUIRE(hopper);
  CHECK(occupancy(*hopper, {1024, 255, 0})->blocks == 0);
  CHECK(occupancy(*hopper, {128, 32, 228 * 1024})->blocks == 0);
  CHECK_FALSE(occupancy(*hopper, {0, 32, 0}));
  CHECK_FALSE(occupancy(*hopper, {2048, 32, 0}));
  CHECK_FALSE(occupancy(*hopper, {128, 256, 0}));
  CHECK_FALSE(occupancy(*hopper, {128, 32, -1}));
  CHECK_FALSE(sm_limits("sm_70"));
  CHECK_FALSE(sm_limits("gfx942"));
  CHECK_FALSE(sm_limits(""));
}

TEST_CASE("Registers alone bound the warps of an SM", "[analyze][unit]") {
  const auto hopper = sm_limits("sm_90"), ada = sm_limits("sm_89");
  CHECK(most_warps(*hopper, 32) == 64);
  CHECK(most_warps(*hopper, 168) == 12);
  CHECK(most_warps(*hopper, 220) == 8);
  CHECK(most_warps(*ada, 32) == 48);
  CHECK(most_warps(*ada, 0) == 0);
}
