// SPDX-License-Identifier: MIT
// Reports of ncu and compute-sanitizer, whole, torn and hostile. The fixtures have the form of the
// tools' own pages, with kernels and figures of ours.
#include "core/json.hpp"
#include "worker/inspection.hpp"

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <random>

#include "measure/ncu_report.hpp"
#include "ncu_table.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

using namespace wb;
using namespace wb::measure;
using namespace wb::worker;
using wb::worker::test::k_header;
using wb::worker::test::metric;
using namespace std::chrono_literals;

TEST_CASE("a profile has one record for each launch", "[worker][tool_report]") {
  const std::string text =
      "==PROF== Connected to process 77\n==PROF== Profiling \"split\" - 0: 0%....100% - 9 "
      "passes\n" +
      std::string(k_header) +
      metric(0, "void split<64, 2>(Args)", "Registers Per Thread", "register/thread", "168") +
      metric(0, "void split<64, 2>(Args)", "DRAM Throughput", "%", "61.5") +
      metric(1, "merge", "Registers Per Thread", "register/thread", "1,032") +
      metric(0, "void split<64, 2>(Args)", "Function Cache Configuration", "", "CachePreferNone") +
      R"--("1","77","w","h","merge","1","13","(1)","(1)","0","9.0","S","","","","R","O","advice")--"
      "\n";
  const auto launches = read_ncu_report(text, 8);
  REQUIRE(launches.ok());
  REQUIRE(launches->size() == 2);
  const Json& split = (*launches)[0];
  CHECK(split["kernel"] == "void split<64, 2>(Args)");
  CHECK(split["grid"] == "(64, 8, 1)");
  CHECK(split["block"] == "(128, 1, 1)");
  CHECK(split["metrics"].size() == 3);
  CHECK(split["metrics"]["DRAM Throughput"] == Json({{"value", 61.5}, {"unit", "%"}}));
  CHECK(split["metrics"]["Function Cache Configuration"]["value"] == "CachePreferNone");
  CHECK(split["advice"].empty());
  CHECK((*launches)[1]["advice"] == Json::array({{{"rule", "R"}, {"text", "advice"}}}));
  CHECK((*launches)[1]["metrics"].size() == 1);
  CHECK((*launches)[1]["metrics"]["Registers Per Thread"]["value"] == 1032.0);
  CHECK(read_ncu_report(text, 1)->size() == 1);
}

TEST_CASE("a metric of one name in two units keeps both", "[worker][tool_report]") {
  const auto launches =
      read_ncu_report(std::string(k_header) + metric(0, "k", "Memory Throughput", "%", "61.5") +
                          metric(0, "k", "Memory Throughput", "byte/s", "1,000"),
                      8);
  REQUIRE(launches.ok());
  const Json& metrics = (*launches)[0]["metrics"];
  CHECK(metrics["Memory Throughput"]["value"] == 61.5);
  CHECK(metrics["Memory Throughput [byte/s]"]["value"] == 1000.0);
}

TEST_CASE("a report as ncu 2025.3 writes it on an H200", "[worker][tool_report]") {
  const auto text =
      RealFileSystem().read(source_dir() / "tests/data/ncu_speed_of_light.csv", 1u << 20);
  REQUIRE(text.ok());
  const auto launches = read_ncu_report(*text, 8);
  REQUIRE(launches.ok());
  REQUIRE(launches->size() == 1);
  const Json& launch = (*launches)[0];
  CHECK(launch["kernel"] == "void mma_flash<Shape<__half, 64, 1, 1, 4, 32, 2, 2>>(Params)");
  CHECK(launch["grid"] == "(8, 32, 1)");
  CHECK(launch["metrics"]["Duration"] == Json({{"value", 7552.0}, {"unit", "ns"}}));
  CHECK(launch["metrics"]["DRAM Throughput"]["value"] == 0.12);
  REQUIRE(launch["advice"].size() == 1);
  CHECK(launch["advice"][0]["rule"] == "SOLBottleneck");
}

TEST_CASE("what is no table of ncu's is an error, and a torn one has no torn rows",
          "[worker][tool_report]") {
  CHECK_FALSE(read_ncu_report("", 8).ok());
  CHECK_FALSE(read_ncu_report("==ERROR== The application returned an error code (3).\n", 8).ok());
  CHECK_FALSE(read_ncu_report("\"ID\",\"Kernel Name\"\n\"0\",\"k\"\n", 8).ok());
  const std::string whole =
      std::string(k_header) + metric(0, "k", "A", "%", "1") + metric(0, "k", "B", "%", "nan");
  for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    const auto launches = read_ncu_report(whole.substr(0, bytes), 8);
    if (bytes == whole.size()) REQUIRE(launches.ok());
    if (!launches.ok()) continue;
    for (const Json& launch : *launches) {
      for (const auto& [name, entry] : launch["metrics"].items()) {
        CHECK((name == "A" || name == "B"));
        CHECK(entry["value"] == (name == "A" ? Json(1.0) : Json("nan")));
      }
    }
  }
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    std::string noise = whole;
    for (int k = 0; k < 5; ++k) noise[random() % noise.size()] = static_cast<char>(random());
    (void)read_ncu_report(noise, 8);
    (void)read_sanitizer_report(noise);
  }
}

TEST_CASE("why ncu may not look is said in words that help", "[worker][tool_report]") {
  CHECK(why_ncu_is_blocked("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission")
            ->find("administrator") != std::string::npos);
  CHECK(why_ncu_is_blocked("==ERROR== Failed to initialize the profiler: LibraryNotLoaded\n"));
  CHECK_FALSE(why_ncu_is_blocked("==WARNING== No kernels were profiled.\n"));
  CHECK_FALSE(why_ncu_is_blocked("==PROF== Disconnected from process 77\n"));
}

TEST_CASE("compute-sanitizer's summary decides, and its messages are kept",
          "[worker][tool_report]") {
  const SanitizerReport clean =
      read_sanitizer_report("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n");
  CHECK(clean.finished);
  CHECK(clean.errors == 0);
  CHECK(clean.messages.empty());
  const SanitizerReport wrong = read_sanitizer_report(
      "========= COMPUTE-SANITIZER\n"
      "========= Invalid __global__ write of size 4 bytes\n"
      "=========     at attention(Args)+0x70\n"
      "=========     by thread (3,0,0) in block (0,0,0)\n"
      "========= \n"
      "========= Invalid __shared__ read of size 16 bytes\n"
      "=========     at attention(Args)+0x90\n"
      "========= \n"
      "========= ERROR SUMMARY: 34 errors\n");
  CHECK(wrong.finished);
  CHECK(wrong.errors == 34);
  CHECK(wrong.messages == std::vector<std::string>{"Invalid __global__ write of size 4 bytes",
                                                   "Invalid __shared__ read of size 16 bytes"});
  const SanitizerReport races = read_sanitizer_report(
      "========= Error: Race reported between Write access at attention+0x10\n"
      "=========     and Read access at attention+0x50 [512 hazards]\n"
      "========= \n"
      "========= RACECHECK SUMMARY: 3 hazards displayed (1 error, 2 warnings)\n");
  CHECK(races.finished);
  CHECK(races.errors == 1);
  CHECK(races.warnings == 2);
  REQUIRE(races.messages.size() == 1);
  // The summary that found most counts, whichever comes last; one without a number counts not.
  const SanitizerReport twice = read_sanitizer_report(
      "========= ERROR SUMMARY: 3 errors\n========= ERROR SUMMARY: 0 errors\n");
  CHECK(twice.errors == 3);
  const SanitizerReport unread =
      read_sanitizer_report("========= ERROR SUMMARY: 3 errors\n========= ERROR SUMMARY: many\n");
  CHECK(unread.finished);
  CHECK(unread.errors == 3);
  for (const char* torn : {"========= ERROR SUMMARY:", "========= ERROR SUMMARY: ",
                           "========= ERROR SUMMARY: many errors",
                           "========= ERROR SUMMARY: 99999999999999999999 errors",
                           "========= RACECHECK SUMMARY: 3 hazards displayed",
                           "========= RACECHECK SUMMARY: 3 hazards displayed (1 error, "}) {
    INFO(torn);
    CHECK_FALSE(read_sanitizer_report(torn).finished);
  }
  // Without its summary nothing may be called clean.
  CHECK_FALSE(read_sanitizer_report("========= COMPUTE-SANITIZER\n").finished);
  CHECK_FALSE(read_sanitizer_report("").finished);
}

TEST_CASE("the tools are called without touching clocks, on one call in a role of its own",
          "[worker][tool_report]") {
  InspectionTask task;
  task.tool = "ncu";
  task.program = "/opt/ncu";
  task.own_program = "/opt/worker";
  task.folder = "/tmp/s";
  task.order.library = "/tmp/a.so";
  task.order.gpu = 1;
  task.order.folder = "/tmp/s/variant";
  const auto argv = inspection_command(task);
  const auto has = [&](const std::string& word, const std::string& next) {
    const auto at = std::find(argv.begin(), argv.end(), word);
    return at != argv.end() && at + 1 != argv.end() && *(at + 1) == next;
  };
  CHECK(argv.front() == "/opt/ncu");
  CHECK(has("--clock-control", "none"));
  CHECK(has("--profile-from-start", "off"));
  CHECK(has("--log-file", report_path(task).string()));
  CHECK(has("/opt/worker", "--role=exercise"));
  const auto order = parse_json(argv.back(), "the order");
  REQUIRE(order.ok());
  CHECK((*order)["gpu"] == 1);
  CHECK((*order)["folder"] == "/tmp/s/variant");
  // The variant may write below its own folder, so the report must not lie there.
  CHECK(report_path(task).parent_path() == task.folder);
  task.tool = "racecheck";
  CHECK(inspection_command(task)[3] == "--tool");
}

TEST_CASE("how a call ended is the last line of its kind, and what is none says nothing",
          "[worker][tool_report]") {
  const auto failed = [](Invalidity invalidity) {
    return exercise_line(Failure{invalidity, "words", {}});
  };
  const std::string good = exercise_line(std::nullopt);
  for (const Invalidity known :
       {Invalidity::constraints, Invalidity::runtime, Invalidity::environment}) {
    const auto end = read_exercise_end("the variant's words\n" + failed(known) + "the tool's\n");
    REQUIRE(end);
    REQUIRE(end->failure);
    CHECK(end->failure->invalidity == known);
    CHECK(end->failure->message == "words");
  }
  CHECK_FALSE(read_exercise_end(failed(Invalidity::runtime) + good)->failure);
  CHECK(read_exercise_end(good + failed(Invalidity::runtime))->failure);
  // Without a line end before it: the variant printed some words and no line end.
  CHECK(read_exercise_end("no line end" + good));
  for (const std::string& nothing :
       {std::string(), std::string("a call\n"), failed(Invalidity::timeout),
        good.substr(0, good.size() - 2), std::string("sdpa-wb exercise: []\n"),
        std::string("sdpa-wb exercise: {\"message\":\"m\"}\n"), good + "sdpa-wb exercise: \n"}) {
    INFO(nothing);
    CHECK_FALSE(read_exercise_end(nothing));
  }
  // A message of any length and any bytes still gives one line that can be read.
  const auto long_end = read_exercise_end(
      exercise_line(Failure{Invalidity::runtime, std::string(1u << 20, 'x') + "\n\xff\"", {}}));
  REQUIRE(long_end);
  CHECK(long_end->failure->message.size() < 4096);
}
