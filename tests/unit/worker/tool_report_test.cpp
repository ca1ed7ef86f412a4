// SPDX-License-Identifier: MIT
// Reports of ncu and compute-sanitizer, whole, torn and hostile. The fixtures have the form of the
// tools' own pages, with kernels and figures of ours.
#include "worker/tool_report.hpp"

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <random>

#include "support/catch.hpp"
#include "worker/inspection.hpp"

using namespace wb;
using namespace wb::worker;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view k_header =
    R"("ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream",)"
    R"("Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit",)"
    R"("Metric Value","Rule Name","Rule Type","Rule Description")"
    "\n";

std::string metric(int id, const std::string& kernel, const std::string& name,
                   const std::string& unit, const std::string& value) {
  return fmt::format(
      R"--("{}","77","worker","127.0.0.1","{}","1","13","(128, 1, 1)","(64, 8, 1)","0","9.0",)--"
      R"--("A section","{}","{}","{}","","","")--"
      "\n",
      id, kernel, name, unit, value);
}

}  // namespace

TEST_CASE("comma-separated values keep commas, quotes and line ends inside quotes",
          "[worker][tool_report]") {
  using Rows = std::vector<std::vector<std::string>>;
  CHECK(parse_csv("a,\"b,c\",\"d\"\"e\"\r\n\"f\ng\",,h") ==
        Rows{{"a", "b,c", "d\"e"}, {"f\ng", "", "h"}});
  CHECK(parse_csv("\n\na\n\n") == Rows{{"a"}});
  CHECK(parse_csv("\"never closed, it ends") == Rows{{"never closed, it ends"}});
  CHECK(parse_csv("").empty());
}

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
  CHECK((*launches)[1]["metrics"].size() == 1);
  CHECK((*launches)[1]["metrics"]["Registers Per Thread"]["value"] == 1032.0);
  CHECK(read_ncu_report(text, 1)->size() == 1);
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
  CHECK(why_ncu_is_blocked("==WARNING== No kernels were profiled.\n"));
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
  task.library = "/tmp/a.so";
  task.gpu = 1;
  task.scratch = "/tmp/s";
  const auto argv = inspection_command(task, "/tmp/s/report.txt");
  const auto has = [&](const std::string& word, const std::string& next) {
    const auto at = std::find(argv.begin(), argv.end(), word);
    return at != argv.end() && at + 1 != argv.end() && *(at + 1) == next;
  };
  CHECK(argv.front() == "/opt/ncu");
  CHECK(has("--clock-control", "none"));
  CHECK(has("--profile-from-start", "off"));
  CHECK(has("--log-file", "/tmp/s/report.txt"));
  CHECK(has("/opt/worker", "--role=exercise"));
  CHECK(argv[argv.size() - 2] == "--gpu=1");
  CHECK(parse_json(argv.back(), "the order").ok());
  task.tool = "racecheck";
  CHECK(inspection_command(task, "r")[3] == "--tool");
}

namespace {

/// A tool that is a shell script: `body` finds the report's path in $REPORT.
struct PlayedTool {
  TempDirectory folder = *TempDirectory::create("wb-tool");
  Family family;
  CancelSource cancel;
  InspectionTask task;

  PlayedTool(const std::string& tool, const std::string& body) {
    task.tool = tool;
    task.program = folder.path() / tool;
    task.own_program = "/nowhere/worker";
    task.scratch = folder.path() / "scratch";
    fs::create_directory(task.scratch);
    std::ofstream(task.program) << "#!/bin/sh\nREPORT=\"$2\"\n" << body;
    fs::permissions(task.program, fs::perms::owner_all);
  }
  Outcome<protocol::ProfileResult> play(std::chrono::milliseconds patience = 20s) {
    return inspect(family, task, std::chrono::steady_clock::now() + patience, cancel);
  }
};

}  // namespace

TEST_CASE("a clean run, findings, and a call that failed are three things",
          "[worker][tool_report]") {
  const auto clean =
      PlayedTool("memcheck", "echo '========= ERROR SUMMARY: 0 errors' > $REPORT\n").play();
  REQUIRE(clean.ok());
  CHECK(clean->available);
  CHECK(clean->records["clean"] == true);
  CHECK(clean->records["tool"] == "memcheck");
  const auto found = PlayedTool("racecheck",
                                "echo '========= Error: Race reported' > $REPORT\n"
                                "echo '========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 "
                                "warnings)' >> $REPORT\n")
                         .play();
  REQUIRE(found.ok());
  CHECK(found->records["clean"] == false);
  CHECK(found->records["errors"] == 1);
  // The tool found nothing, but the variant did not come to its end.
  const auto failed = PlayedTool("memcheck",
                                 "echo '========= ERROR SUMMARY: 0 errors' > $REPORT\n"
                                 "echo 'wb_sdpa_forward: planted' >&2\nexit 3\n")
                          .play();
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().invalidity == Invalidity::runtime);
  CHECK(failed.error().untrusted_output.find("planted") != std::string::npos);
}

TEST_CASE("a tool that says nothing, is not there or never ends blames nobody",
          "[worker][tool_report]") {
  const auto silent = PlayedTool("memcheck", "echo 'no device' >&2\nexit 1\n").play();
  REQUIRE(silent.ok());
  CHECK_FALSE(silent->available);
  CHECK(silent->reason.find("no device") != std::string::npos);
  const auto blocked =
      PlayedTool("ncu", "echo '==ERROR== ERR_NVGPUCTRPERM' > $REPORT\nexit 1\n").play();
  REQUIRE(blocked.ok());
  CHECK_FALSE(blocked->available);
  CHECK(blocked->reason.find("administrator") != std::string::npos);
  PlayedTool absent("ncu", "");
  absent.task.program = absent.folder.path() / "none";
  const auto missing = absent.play();
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().invalidity == Invalidity::environment);
  const auto endless = PlayedTool("ncu", "sleep 60\n").play(300ms);
  REQUIRE_FALSE(endless.ok());
  CHECK(endless.error().invalidity == Invalidity::timeout);
}

TEST_CASE("a profile keeps the report only where all of it has room", "[worker][tool_report]") {
  const std::string table = std::string(k_header) + metric(0, "k", "A", "%", "1");
  const auto write = [&](const std::string& more) {
    return "cat > $REPORT <<'END'\n" + table + "END\n" + more;
  };
  const auto small = PlayedTool("ncu", write("")).play();
  REQUIRE(small.ok());
  CHECK(small->available);
  CHECK(small->records["csv"].get<std::string>().find("Metric Name") != std::string::npos);
  CHECK(small->records["launches"].size() == 1);
  const auto large =
      PlayedTool("ncu", write("head -c 200000 /dev/zero | tr '\\0' x >> $REPORT\n")).play();
  REQUIRE(large.ok());
  CHECK(large->available);
  CHECK_FALSE(large->records.contains("csv"));
}
