// SPDX-License-Identifier: MIT
#include <algorithm>

#include "analyze/analysis.hpp"
#include "core/json.hpp"
#include "report/evidence.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "verbs/file_findings.hpp"

using namespace wb;
using namespace wb::verbs;

namespace {

class Folder {
 public:
  Folder() : m_folder(*TempDirectory::create("wb-analyze")) {}
  /// The path of a file with that text.
  std::string file(const std::string& name, std::string_view text) {
    const fs::path path = m_folder.path() / name;
    REQUIRE(m_files.write_atomic(path, text, Durability::none).ok());
    return path.string();
  }
  Result<Json> analyze(const Json& args) { return analyze_files(m_files, args); }
  std::string refusal(const Json& args) {
    const auto result = analyze(args);
    REQUIRE_FALSE(result.ok());
    return result.error().message();
  }

 private:
  TempDirectory m_folder;
  RealFileSystem m_files;
};

bool has_finding(const Json& result, std::string_view analysis) {
  for (const Json& finding : result["findings"]) {
    if (finding["analysis"] == analysis) return true;
  }
  return false;
}

constexpr std::string_view k_table =
    "B,H,S,ours (ms),SDPA (ms)\n1,1,128,0.579,0.085\n8,8,128,1.281,0.086\n16,8,512,23.9,0.326\n";

}  // namespace

TEST_CASE("A table of a file is explained for a device of the table", "[engine][analyze]") {
  Folder folder;
  const auto result = folder.analyze({{"table", folder.file("t.csv", k_table)},
                                      {"device", "L4"},
                                      {"shape", "D=64 f16"},
                                      {"all", true}});
  REQUIRE(result.ok());
  CHECK((*result)["device"] == "NVIDIA L4");
  for (const char* analysis :
       {"reference_check", "regime", "roofline_share", "parallelism", "intensity", "working_set"}) {
    CAPTURE(analysis);
    CHECK(has_finding(*result, analysis));
  }
  const std::string text = (*result)["text"];
  CHECK(text.find("21.8 % of the f16 compute peak") != std::string::npos);
  CHECK(text.find("gap: how the times were taken") != std::string::npos);
}

TEST_CASE("The important findings are told, the others counted", "[engine][analyze]") {
  Folder folder;
  const std::string table = folder.file("t.csv", k_table);
  Json args{{"table", table}, {"device", "L4"}, {"shape", "D=64 f16"}};
  const auto few = folder.analyze(args);
  args["all"] = true;
  const auto all = folder.analyze(args);
  REQUIRE(few.ok());
  REQUIRE(all.ok());
  CHECK((*few)["findings"] == (*all)["findings"]);
  CHECK((*few)["order"] == (*all)["order"]);
  const std::size_t n = (*few)["findings"].size();
  REQUIRE(n > 12);
  std::vector<std::size_t> order = (*few)["order"];
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < n; ++i) CHECK(order[i] == i);
  const auto told = [&](const Json& answer) {
    const std::string text = answer["text"];
    return std::count_if(
        answer["findings"].begin(), answer["findings"].end(), [&](const Json& finding) {
          return text.find(finding["statement"].get<std::string>()) != std::string::npos;
        });
  };
  CHECK(told(*few) == 12);
  CHECK(told(*all) == static_cast<std::ptrdiff_t>(n));
  const std::string text = (*few)["text"];
  CHECK(text.find("and " + std::to_string(n - 12) + " more of less weight: --all shows them\n") !=
        std::string::npos);
  CHECK((*all)["text"].get<std::string>().find("--all") == std::string::npos);
  // A reference that takes as long for 64 times the work makes every ratio doubtful, so it leads.
  const std::size_t first = (*few)["order"][0];
  CHECK((*few)["findings"][first]["analysis"] == "reference_check");
}

TEST_CASE("What was seen comes before facts, and ours before others", "[engine][analyze]") {
  const auto finding = [](const char* analysis, Json figures) {
    measure::Finding made;
    made.analysis = analysis;
    made.figures = std::move(figures);
    return made;
  };
  const std::vector<measure::Finding> findings{
      finding("working_set", Json::object()),
      finding("roofline_share", {{"subject", "ours@1"}, {"headroom_ratio", 2.0}}),
      finding("roofline_share", {{"subject", "rival"}, {"headroom_ratio", 3.0}}),
      finding("roofline_share", {{"subject", "ours@1"}, {"headroom_ratio", 50.0}}),
      finding("key_walk", {{"subject", "ours@1"}, {"verdict", "serial"}}),
      finding("key_walk", {{"subject", "ours@1"}, {"verdict", "not serial"}})};
  CHECK(analyze::by_importance(findings, "ours@1") == std::vector<std::size_t>{4, 3, 1, 5, 2, 0});
  CHECK(analyze::by_importance({}, "ours@1").empty());
}

TEST_CASE("A device that is not known is named, and none costs only its peaks",
          "[engine][analyze]") {
  Folder folder;
  const std::string table = folder.file("t.csv", k_table);
  CHECK(folder.refusal({{"table", table}, {"device", "GTX 1080"}, {"shape", "D=64 f16"}})
            .find("not in the table of GPUs") != std::string::npos);
  const std::string many =
      folder.refusal({{"table", table}, {"device", "a100"}, {"shape", "D=64 f16"}});
  CHECK(many.find("more than one of that name") != std::string::npos);
  CHECK(many.find("NVIDIA A100-SXM4-40GB") != std::string::npos);
  // Whole words only: an H20 is no H200, an A10 no A100, an L40 no L4.
  for (const char* other : {"H20", "A10", "L40", "L40S", "GB200", "MI300A", "MI300", "RTX 4000"}) {
    CAPTURE(other);
    const std::string refused =
        folder.refusal({{"table", table}, {"device", other}, {"shape", "D=64 f16"}});
    CHECK(refused.find("more than one") == std::string::npos);
    const bool is_part = std::string(other) == "RTX 4000";
    CHECK((refused.find("one GPU of the table has it in its name") != std::string::npos) ==
          is_part);
    CHECK((refused.find("not in the table of GPUs") != std::string::npos) != is_part);
    CHECK(refused.find("NVIDIA RTX 4000 Ada Generation") != std::string::npos);
  }
  const auto bare = folder.analyze({{"table", table}, {"shape", "D=64 f16"}});
  REQUIRE(bare.ok());
  CHECK_FALSE(has_finding(*bare, "roofline_share"));
  CHECK(has_finding(*bare, "reference_check"));
  CHECK((*bare)["gaps"][0].get<std::string>().find("no --device") != std::string::npos);
}

TEST_CASE("Files that are not there or not what they should be are named", "[engine][analyze]") {
  Folder folder;
  CHECK(folder.refusal({{"table", "/nowhere/t.csv"}}).find("/nowhere/t.csv") != std::string::npos);
  CHECK(folder.refusal({{"sass", folder.file("k.sass", "hello")}})
            .find("no function with machine code") != std::string::npos);
  const std::string report = folder.file("ncu.csv", "no table");
  CHECK(folder.refusal({{"ncu", report}}).find("--problem") != std::string::npos);
  CHECK(folder.refusal({{"ncu", report}, {"problem", "B=1 Hq=1 Sq=64 D=64 f16"}})
            .find("it printed no table") != std::string::npos);
  CHECK(folder.refusal({{"ncu", report}, {"problem", "B=1"}}).find("Hq") != std::string::npos);
}

TEST_CASE("A profile's launches are those of ours where a table has that problem",
          "[engine][analyze]") {
  Folder folder;
  const std::string table = folder.file("t.csv", "B,H,S,ours (us),SDPA (us)\n1,32,512,10,9\n");
  const auto result =
      folder.analyze({{"table", table},
                      {"device", "H200"},
                      {"shape", "D=64 f16"},
                      {"ncu", (source_dir() / "tests/data/ncu_speed_of_light.csv").string()},
                      {"problem", "B=1 Hq=32 Sq=512 D=64 f16"},
                      {"all", true}});
  if (!result.ok()) FAIL(result.error().message());
  const std::string text = (*result)["text"];
  CHECK(text.find("launch: ours (us) on B=1 Hq=32 Sq=512 D=64 f16") != std::string::npos);
  CHECK(text.find("launch: SDPA (us): no tool saw") != std::string::npos);
}

TEST_CASE("Options go with their file, and files with no session", "[engine][analyze]") {
  const auto said = [](const Json& args, bool has_session = false) {
    const auto checked = check_analyze_arguments(args, has_session);
    if (checked.ok()) return std::string("fine");
    CHECK(checked.error().code == ErrorCode::usage);
    return checked.error().message();
  };
  for (const char* option : {"shape", "ours", "reference", "plan"}) {
    CAPTURE(option);
    CHECK(said({{option, "x"}, {"sass", "f"}}).find("of --table") != std::string::npos);
    CHECK(said({{option, "x"}, {"table", "f"}}) == "fine");
  }
  CHECK(said({{"problem", "x"}, {"table", "f"}}).find("of --ncu") != std::string::npos);
  CHECK(said({{"problem", "x"}, {"ncu", "f"}}) == "fine");
  CHECK(said({{"device", "L4"}}, true).find("names its own device") != std::string::npos);
  CHECK(said({{"device", "L4"}, {"sass", "f"}}) == "fine");
  for (const char* file : {"table", "ncu", "sass"}) {
    CAPTURE(file);
    CHECK(said({{file, "f"}}, true).find("one at a time") != std::string::npos);
    CHECK(said({{file, "f"}}) == "fine");
  }
  CHECK(said(Json::object(), true) == "fine");
}
