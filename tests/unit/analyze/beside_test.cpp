// SPDX-License-Identifier: MIT
// Comparisons of ours with a reference: the tables of the documents, and the conclusions that are
// allowed.
#include "analyze/evidence.hpp"
#include "core/json.hpp"
#include "made_evidence.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::device;
using namespace wb::measure;

namespace {

struct Row {
  std::string problem;
  double ours_us, reference_us;
};

Evidence table(std::string_view gpu, const std::vector<Row>& rows) {
  Evidence evidence;
  evidence.device = *known_gpu(gpu);
  for (const Row& row : rows) {
    evidence.observations.push_back(
        made::observation(row.problem, row.ours_us, PlanKind::hot, "ours"));
    evidence.observations.push_back(
        made::observation(row.problem, row.reference_us, PlanKind::hot, "sdpa"));
    evidence.beside.push_back(evidence.observations.back());
  }
  return evidence;
}

/// The third document: "17 times for 8 times the batch" are 16 times the work.
Evidence third_document() {
  return table("NVIDIA L4", {{"B=1 Hq=8 Sq=512 D=64 f16", 6800, 15.4},
                             {"B=4 Hq=16 Sq=512 D=64 f16", 45300, 80.3},
                             {"B=8 Hq=16 Sq=512 D=64 f16", 117200, 123.5}});
}

/// The fourth document.
Evidence fourth_document() {
  return table("NVIDIA L4", {{"B=1 Hq=1 Sq=128 D=64 f16", 579, 85},
                             {"B=4 Hq=8 Sq=128 D=64 f16", 752, 85},
                             {"B=8 Hq=8 Sq=128 D=64 f16", 1281, 86},
                             {"B=8 Hq=8 Sq=256 D=64 f16", 4067, 116},
                             {"B=16 Hq=8 Sq=512 D=64 f16", 23900, 326}});
}

void add_launch(Evidence& evidence, const std::string& problem, std::int64_t blocks) {
  KernelFacts kernel;
  kernel.subject = "ours";
  kernel.kernel = "kernel";
  kernel.source = "ncu";
  kernel.problem = made::observation(problem, 1).problem;
  kernel.blocks = blocks;
  evidence.kernels.push_back(std::move(kernel));
}

}  // namespace

TEST_CASE("Scaling stands beside the reference's, over the same sizes", "[analyze][beside]") {
  const auto findings = made::run("scaling", third_document());
  REQUIRE(findings.size() == 2);
  const Json& ours = findings[0].figures;
  CHECK(ours.at("work_ratio").get<double>() == Approx(16));
  CHECK(ours.at("time_ratio").get<double>() == Approx(117.2 / 6.8));
  CHECK(ours.at("class") == "linear");
  CHECK(ours.at("class_is_certain") == false);  // three points leave a wide interval
  CHECK(ours.at("beside") == "sdpa");
  CHECK(ours.at("time_over_beside_first").get<double>() == Approx(6800 / 15.4));
  CHECK(ours.at("time_over_beside_last").get<double>() == Approx(117200 / 123.5));
  CHECK(findings[1].figures.at("class") == "sub-linear");
  CHECK_FALSE(findings[1].figures.contains("beside"));
}

TEST_CASE("An interval needs points off the line to be wide", "[analyze][beside]") {
  const auto exact =
      made::run("scaling", table("NVIDIA L4", {{"B=1 Hq=8 Sq=512 D=64 f16", 10, 1},
                                               {"B=2 Hq=8 Sq=512 D=64 f16", 20, 2},
                                               {"B=4 Hq=8 Sq=512 D=64 f16", 40, 4}}));
  REQUIRE(exact.size() == 2);
  CHECK(exact[0].figures.at("class_is_certain") == true);
  CHECK(exact[0].figures.at("exponent_interval").at(0).get<double>() == Approx(1));
}

TEST_CASE("Growth on a device that is full accuses no grid", "[analyze][beside]") {
  // 64 blocks of 64 rows for 58 SMs already at the smallest size.
  CHECK(made::run("grid_scaling", third_document()).empty());
}

TEST_CASE("Growth with heads while SMs are free is the sign of a serial grid",
          "[analyze][beside]") {
  const std::vector<Row> serial{{"B=1 Hq=1 Sq=64 D=64 f16", 10, 10},
                                {"B=1 Hq=8 Sq=64 D=64 f16", 78, 10.1},
                                {"B=4 Hq=8 Sq=64 D=64 f16", 310, 10.4}};
  const auto findings = made::run("grid_scaling", table("NVIDIA L4", serial));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].figures.at("verdict") == "suspected");
  CHECK(findings[0].figures.at("heads") == Json::array({1, 32}));
  CHECK(findings[0].figures.at("beside") == "sdpa");
  CHECK(findings[0].unseen.find("the launch") != std::string::npos);
  // A reference that grows as fast says that it is the problem, not the grid.
  std::vector<Row> both = serial;
  both[2].reference_us = 320;
  CHECK(made::run("grid_scaling", table("NVIDIA L4", both)).empty());
  // An honest grid takes no longer for more heads, and the fewer left SMs idle.
  const auto honest =
      made::run("grid_scaling", table("NVIDIA L4", {{"B=1 Hq=1 Sq=64 D=64 f16", 10, 10},
                                                    {"B=4 Hq=8 Sq=64 D=64 f16", 12, 10}}));
  REQUIRE(honest.size() == 1);
  CHECK(honest[0].figures.at("verdict") == "not serial");
  CHECK(honest[0].figures.at("by") == "times");
  CHECK(honest[0].figures.at("problems").size() == 2);
  // Units idled at the smaller size; the larger one may have filled them.
  CHECK(honest[0].figures.at("idle_on") ==
        Json::array({"B=1 Hq=1 Hkv=1 Sq=64 Skv=64 D=64 f16 causal=none"}));
}

TEST_CASE("A kernel's own blocks decide whether units are free, not tiles of 64 rows",
          "[analyze][beside]") {
  const std::vector<Row> heads{{"B=1 Hq=1 Sq=64 D=64 f16", 10, 10},
                               {"B=4 Hq=8 Sq=64 D=64 f16", 310, 10.4}};
  const std::vector<Row> keys{{"B=1 Hq=1 Sq=64 Skv=256 D=64 f16", 10, 5},
                              {"B=1 Hq=1 Sq=64 Skv=2048 D=64 f16", 78, 5}};
  const auto with_rule = [](const std::vector<Row>& rows, std::int64_t blocks_a_row) {
    Evidence evidence = table("NVIDIA L4", rows);
    for (const Observation& one : evidence.observations) {
      const std::int64_t blocks = one.problem.B * one.problem.Hq * one.problem.Sq * blocks_a_row;
      if (one.subject == "ours") {
        evidence.blocks_by_rule[{"ours", to_text(one.problem)}] = {blocks / 64, blocks / 64};
      }
    }
    return evidence;
  };
  // Nothing tells: heads and rows are named, and no number of blocks.
  CHECK(made::run("key_walk", table("NVIDIA L4", keys)).at(0).statement.find("1 head x 64 rows") !=
        std::string::npos);
  // One block of 64 rows a head: 32 blocks, and 58 SMs.
  CHECK(made::run("grid_scaling", with_rule(heads, 1))
            .at(0)
            .statement.find("32 blocks by its launch rule fit on the 58 SMs") != std::string::npos);
  CHECK(made::run("key_walk", with_rule(keys, 1)).size() == 1);
  // One block a query row: the device is full, so that time says nothing of grid or walk.
  CHECK(made::run("grid_scaling", with_rule(heads, 64)).empty());
  CHECK(made::run("key_walk", with_rule(keys, 64)).empty());
}

TEST_CASE("Time that goes with the keys while SMs are free is a walk in series",
          "[analyze][beside]") {
  const auto verdict = [](double small_us, double large_us) {
    const auto findings = made::run(
        "key_walk", table("NVIDIA L4", {{"B=1 Hq=1 Sq=64 Skv=256 D=64 f16", small_us, 5},
                                        {"B=1 Hq=1 Sq=64 Skv=512 D=64 f16", 15, 5},
                                        {"B=1 Hq=1 Sq=64 Skv=2048 D=64 f16", large_us, 5}}));
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].figures.at("keys") == Json::array({256, 2048}));
    return findings[0].figures.at("verdict").get<std::string>();
  };
  CHECK(verdict(10, 78) == "serial");
  CHECK(verdict(10, 12) == "not serial");
  CHECK(verdict(10, 35) == "open");
  // Twice the keys are too few to tell, a full device grows with any walk, and keys that a causal
  // rule masks are none.
  const auto silent = [](std::vector<Row> rows) {
    return made::run("key_walk", table("NVIDIA L4", rows)).empty();
  };
  CHECK(silent(
      {{"B=1 Hq=1 Sq=64 Skv=256 D=64 f16", 10, 5}, {"B=1 Hq=1 Sq=64 Skv=512 D=64 f16", 20, 5}}));
  CHECK(silent(
      {{"B=8 Hq=16 Sq=64 Skv=256 D=64 f16", 10, 5}, {"B=8 Hq=16 Sq=64 Skv=2048 D=64 f16", 80, 5}}));
  CHECK(silent({{"B=1 Hq=1 Sq=64 Skv=256 D=64 f16 causal=top_left", 10, 5},
                {"B=1 Hq=1 Sq=64 Skv=2048 D=64 f16 causal=top_left", 80, 5}}));
}

TEST_CASE("A call from the host is held against the captured one", "[analyze][beside]") {
  Evidence evidence;
  evidence.device = made::device();
  const char* problem = "B=1 Hq=1 Sq=64 D=64 f32";
  evidence.observations = {made::observation(problem, 10, PlanKind::hot, "ours", {1}),
                           made::observation(problem, 25, PlanKind::eager, "ours", {1, 2}),
                           made::observation(problem, 9, PlanKind::eager, "theirs", {3})};
  const auto findings = made::run("call_cost", evidence);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].figures.at("eager_over_hot").get<double>() == Approx(2.5));
  CHECK(findings[0].events == std::vector<std::int64_t>{1, 2});
}

TEST_CASE("Where launches were seen, blocks decide and not times", "[analyze][beside]") {
  Evidence misses = third_document();
  add_launch(misses, "B=1 Hq=8 Sq=512 D=64 f16", 8);
  add_launch(misses, "B=8 Hq=16 Sq=512 D=64 f16", 8);
  const auto serial = made::run("grid_scaling", misses);
  REQUIRE(serial.size() == 1);
  CHECK(serial[0].figures.at("verdict") == "serial");
  CHECK(serial[0].figures.at("blocks") == Json::array({8, 8}));
  Evidence grows = third_document();
  add_launch(grows, "B=1 Hq=8 Sq=512 D=64 f16", 64);
  add_launch(grows, "B=8 Hq=16 Sq=512 D=64 f16", 1024);
  CHECK(made::run("grid_scaling", grows).at(0).figures.at("verdict") == "not serial");
  // As many blocks as the device holds, whatever the size: persistent, no fault.
  Evidence persistent = third_document();
  add_launch(persistent, "B=1 Hq=8 Sq=512 D=64 f16", 58);
  add_launch(persistent, "B=8 Hq=16 Sq=512 D=64 f16", 58);
  CHECK(made::run("grid_scaling", persistent).at(0).figures.at("verdict") == "not serial");
}

TEST_CASE("A reference whose time ignores the work is found out", "[analyze][beside]") {
  const auto findings = made::run("reference_check", fourth_document());
  REQUIRE(findings.size() == 1);
  const Json& figures = findings[0].figures;
  CHECK(figures.at("state") == "fixed cost");
  CHECK(figures.at("subject") == "sdpa");
  CHECK(figures.at("work_ratio").get<double>() == Approx(64));
  Evidence measured = fourth_document();
  measured.call_overhead_us = 50;
  CHECK(made::run("reference_check", measured).at(0).figures.at("state") == "launch-bound");
  // On a device that still has room, more blocks cost no time either.
  const auto room =
      made::run("reference_check", table("NVIDIA H200", {{"B=1 Hq=1 Sq=64 D=64 f16", 10, 5},
                                                         {"B=1 Hq=8 Sq=64 D=64 f16", 10, 5.1}}));
  REQUIRE(room.size() == 1);
  CHECK(room[0].figures.at("state") == "room left");
}

TEST_CASE("More time for less of the same work is found out", "[analyze][beside]") {
  // The second document: 0.081 ms at S = 4, 0.024 ms at S = 64.
  Evidence evidence =
      table("NVIDIA L4", {{"B=1 Hq=1 Sq=4 D=64 f16", 5, 81}, {"B=1 Hq=1 Sq=64 D=64 f16", 100, 24}});
  const auto findings = made::run("reference_check", evidence);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].figures.at("state") == "longer for less");
  CHECK(findings[0].statement.find("not warm, was disturbed, or ran another implementation") !=
        std::string::npos);
  // Where its kernels were seen and differ, nobody was cold.
  for (const char* problem : {"B=1 Hq=1 Sq=4 D=64 f16", "B=1 Hq=1 Sq=64 D=64 f16"}) {
    add_launch(evidence, problem, 1);
    evidence.kernels.back().subject = "sdpa";
  }
  CHECK(made::run("reference_check", evidence).at(0).figures.at("state") == "longer for less");
  evidence.kernels.back().kernel = "another";
  CHECK(made::run("reference_check", evidence).at(0).figures.at("state") == "other kernels");
  // Less in one respect and more in another is no order.
  CHECK(made::run("reference_check", table("NVIDIA L4", {{"B=8 Hq=1 Sq=4 D=64 f16", 5, 81},
                                                         {"B=1 Hq=1 Sq=64 D=64 f16", 100, 24}}))
            .empty());
}

TEST_CASE("On a full device too few blocks are not the only cause", "[analyze][beside]") {
  const auto findings = made::run("parallelism", fourth_document());
  REQUIRE(findings.size() == 2);
  const Json& ours = findings[0].figures;
  CHECK(ours.at("subject") == "ours");
  CHECK(ours.at("parallelism_only") == "no");
  CHECK(ours.at("blocks") == 1024);  // 16 x 8 x 8 tiles of 64 rows
  // 359 GFLOP/s of the dense f16 peak of 121 TFLOP/s, not of the f32 peak.
  CHECK(ours.at("roofline_frac").get<double>() == Approx(359.4e9 / 121e12).epsilon(0.01));
  CHECK(findings[1].figures.at("roofline_frac").get<double>() ==
        Approx(26312.6e9 / 121e12).epsilon(0.01));
  const auto few =
      made::run("parallelism", table("NVIDIA L4", {{"B=1 Hq=1 Sq=128 D=64 f16", 579, 85}}));
  REQUIRE(few.size() == 2);
  CHECK(few[0].figures.at("parallelism_only") == "open");
}
