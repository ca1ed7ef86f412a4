// SPDX-License-Identifier: MIT
// What a process that runs a candidate says of its kernels: a Python subject's profiler, read as
// untrusted text, and calls under ncu or compute-sanitizer, with shell scripts in place of the
// tools.
#include <chrono>
#include <fstream>

#include "core/json.hpp"
#include "ncu_table.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "worker/inspection.hpp"
#include "worker/profile.hpp"

using namespace std::chrono_literals;
using namespace wb::problem;
using namespace wb::worker;
using namespace wb;
using wb::worker::test::k_header;
using wb::worker::test::metric;

TEST_CASE("the launches of a call are records as ncu's", "[worker][kernel_names]") {
  const auto read = read_kernel_names({{"launches",
                                        {{{"kernel", "void flash<64>(Params)"},
                                          {"grid", "(32, 8, 1)"},
                                          {"block", "(128, 1, 1)"},
                                          {"share_frac", 0.75}},
                                         {{"kernel", "combine"},
                                          {"grid", "(4, 1, 1)"},
                                          {"block", "(32, 1, 1)"},
                                          {"share_frac", 0.25}}}},
                                       {"launched", 40}});
  CHECK(read.available);
  CHECK(read.reason.empty());
  CHECK(read.records["tool"] == "torch.profiler");
  CHECK(read.records["launched"] == 40);
  const Json& launches = read.records["launches"];
  REQUIRE(launches.size() == 2);
  CHECK(launches[0]["kernel"] == "void flash<64>(Params)");
  CHECK(launches[0]["grid"] == "(32, 8, 1)");
  CHECK(launches[0]["metrics"].empty());
  CHECK(launches[1]["share_frac"] == 0.25);
}

TEST_CASE("a profiler that could not look says why", "[worker][kernel_names]") {
  const auto blocked = read_kernel_names({{"reason", "torch.profiler failed: CUPTI is busy"}});
  CHECK_FALSE(blocked.available);
  CHECK(blocked.reason == "torch.profiler failed: CUPTI is busy");
  CHECK(blocked.records.empty());
  const auto silent = read_kernel_names(Json::object());
  CHECK_FALSE(silent.available);
  CHECK_FALSE(silent.reason.empty());
}

TEST_CASE("names that a subject forged are short, printable and few",
          "[worker][kernel_names][hostile]") {
  Json launches = Json::array();
  for (int i = 0; i < 500; ++i) {
    launches.push_back({{"kernel", "\x1b[2Jwin\n" + std::string(5'000, 'x')},
                        {"grid", std::string(900, '1')},
                        {"block", 7},
                        {"share_frac", i % 2 == 0 ? Json(1e300) : Json("all of it")}});
  }
  const auto read = read_kernel_names({{"launches", launches}, {"launched", -1}});
  REQUIRE(read.available);
  CHECK(read.records["launched"] == 32);
  CHECK(read.records.dump().size() < (16u << 10));
  for (const Json& launch : read.records["launches"]) {
    const auto name = launch["kernel"].get<std::string>();
    CHECK(name.starts_with("\\x1b[2Jwin\\n"));
    CHECK(name.find('\n') == std::string::npos);
    CHECK(launch["block"] == "");
    CHECK_FALSE(launch.contains("share_frac"));
  }
  for (const Json& odd : {Json({{"launches", "many"}}), Json({{"launches", {1, nullptr, ""}}}),
                          Json({{"launches", {Json::object(), {{"kernel", ""}}}}}),
                          Json({{"launches", Json::array()}, {"reason", 3}})}) {
    CHECK_FALSE(read_kernel_names(odd).available);
    CHECK_FALSE(read_kernel_names(odd).reason.empty());
  }
}

namespace {

/// A tool that is a shell script: `body` finds the report's path in $REPORT and the worker's
/// arguments behind its own in "$@".
struct PlayedTool {
  TempDirectory folder = *TempDirectory::create("wb-tool");
  ChildRegistry registry;
  CancelSource cancel;
  InspectionTask task;

  PlayedTool(const std::string& tool, const std::string& body) {
    task.tool = tool;
    task.program = folder.path() / tool;
    task.own_program = "/nowhere/worker";
    task.folder = folder.path();
    task.order.folder = folder.path() / "variant";
    std::ofstream(task.program) << "#!/bin/sh\nREPORT=\"$2\"\n" << body;
    fs::permissions(task.program, fs::perms::owner_all);
  }
  Outcome<protocol::ProfileResult> play(std::chrono::milliseconds patience = 20s) {
    return inspect(registry, task, std::chrono::steady_clock::now() + patience, cancel);
  }
};

std::string says(const std::optional<Failure>& failure) {
  return "cat <<'END'\n" + exercise_line(failure) + "END\n";
}
const std::string k_clean_report = "echo '========= ERROR SUMMARY: 0 errors' > $REPORT\n";
const std::string k_bad_report = "echo '========= ERROR SUMMARY: 2 errors' > $REPORT\n";

}  // namespace

TEST_CASE("a clean run, findings, and a call that failed are three things",
          "[worker][tool_report]") {
  const auto clean = PlayedTool("memcheck", k_clean_report + says(std::nullopt)).play();
  REQUIRE(clean.ok());
  CHECK(clean->available);
  CHECK(clean->records["clean"] == true);
  CHECK(clean->records["tool"] == "memcheck");
  const auto found = PlayedTool("racecheck",
                                "echo '========= Error: Race reported' > $REPORT\n"
                                "echo '========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 "
                                "warnings)' >> $REPORT\n" +
                                    says(std::nullopt))
                         .play();
  REQUIRE(found.ok());
  CHECK(found->records["clean"] == false);
  CHECK(found->records["errors"] == 1);
  for (const Invalidity invalidity :
       {Invalidity::constraints, Invalidity::runtime, Invalidity::environment}) {
    // The tool found nothing, but the variant did not come to its end.
    const Failure failure{invalidity, "planted", {}};
    const auto failed = PlayedTool("memcheck", k_clean_report + says(failure) + "exit 1\n").play();
    REQUIRE_FALSE(failed.ok());
    CHECK(failed.error().invalidity == invalidity);
    CHECK(failed.error().message == "planted");
    const std::string nothing = "echo '==WARNING== No kernels were profiled.' > $REPORT\n";
    const auto not_profiled = PlayedTool("ncu", nothing + says(failure) + "exit 1\n").play();
    REQUIRE_FALSE(not_profiled.ok());
    CHECK(not_profiled.error().invalidity == invalidity);
  }
  const auto launched_none =
      PlayedTool("ncu",
                 "echo '==WARNING== No kernels were profiled.' > $REPORT\n" + says(std::nullopt))
          .play();
  REQUIRE(launched_none.ok());
  CHECK_FALSE(launched_none->available);
  CHECK(launched_none->reason.find("No kernels were profiled") != std::string::npos);
  // What the tool found comes before how the call ended: it may be why.
  const Failure lost{Invalidity::runtime, "unspecified launch failure", {}};
  const auto both = PlayedTool("memcheck", k_bad_report + says(lost) + "exit 1\n").play();
  REQUIRE(both.ok());
  CHECK(both->records["errors"] == 2);
}

TEST_CASE("a variant that ends the process is not clean, and its launches are no profile",
          "[worker][tool_report]") {
  const std::string table = std::string(k_header) + metric(0, "k", "A", "%", "1");
  for (auto& [tool, report] :
       {std::pair<std::string, std::string>{"memcheck", k_clean_report},
        std::pair<std::string, std::string>{"ncu", "cat > $REPORT <<'END'\n" + table + "END\n"}}) {
    INFO(tool);
    const auto early = PlayedTool(tool, report + "echo 'some words'\n").play();
    REQUIRE_FALSE(early.ok());
    CHECK(early.error().invalidity == Invalidity::runtime);
    CHECK(early.error().message.find("before the call was over") != std::string::npos);
    CHECK(PlayedTool(tool, report + says(std::nullopt)).play().ok());
  }
}

TEST_CASE("a machine that cannot start the GPU is at fault, not the variant",
          "[worker][tool_report]") {
  // The tool starts the real role; what it finds decides. No variant is there to be loaded.
  PlayedTool tool("memcheck",
                  k_clean_report + "shift 4\nexec \"$@\"\n");  // --log-file R --tool memcheck
  tool.task.own_program = binary_dir() / "sdpa-wb-worker";
  tool.task.order.library = tool.folder.path() / "none.so";
  tool.task.order.problem = *parse_problem("B=1 Hq=1 Sq=16 D=16 f32");
  tool.task.order.gpu = 999;
  const auto answer = tool.play();
  REQUIRE_FALSE(answer.ok());
  const std::string& message = answer.error().message;
  INFO(message);
  CHECK(answer.error().invalidity == Invalidity::environment);
  // Of the device, not of the order, whose library is not there either.
  const bool of_the_device = message.find("CUDA driver") != std::string::npos ||
                             message.find("GPU 999") != std::string::npos;
  CHECK(of_the_device);
  CHECK(message.find("none.so") == std::string::npos);
  CHECK(message.find("the order") == std::string::npos);
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
    return "cat > $REPORT <<'END'\n" + table + "END\n" + more + says(std::nullopt);
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
