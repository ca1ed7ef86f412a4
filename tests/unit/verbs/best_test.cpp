// SPDX-License-Identifier: MIT
#include <fstream>
#include <sstream>

#include "catalogue/dispatch.hpp"
#include "core/json.hpp"
#include "session/log.hpp"
#include "session/storage.hpp"
#include "support/places.hpp"
#include "unit/engine/engine_world.hpp"

using namespace wb;
using namespace wb::catalogue;
using namespace wb::session;
using testing::Bench;

namespace {

constexpr const char* k_problem = "B=1 Hq=8 Sq=2048 D=64 f32";

/// A dispatch table in a folder that is searched before the checkout.
void write_table(Bench& bench, const Json& rules) {
  const fs::path kernels = bench.folder.path() / "first" / "kernels";
  fs::create_directories(kernels);
  std::ofstream(kernels / "dispatch.json") << Json{{"version", 1}, {"rules", rules}}.dump();
  bench.roots = {bench.folder.path() / "first", source_dir()};
  bench.restart();
}

Json proven(Json rule) {
  rule["artifact_id"] = std::string(64, 'a');
  rule["session"] = "s-0007";
  return rule;
}

/// Whether a session found a subject ahead: it became the incumbent, or was faster than a rival.
bool is_ahead_in(const std::string& log, const std::string& label) {
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    const Json event = Json::parse(line);
    const Json& payload = event["payload"];
    if (event["type"] == "incumbent_changed" && payload["to"] == label) return true;
    if (event["type"] == "comparison_made" && payload["role"] == "rival" &&
        payload["candidate"] == label && payload["outcome"] == "faster") {
      return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("the table that ships answers for any problem", "[engine][best]") {
  Bench bench;
  const Json best = bench.call("best", {{"problem", k_problem}});
  CHECK(best["fallback"] == true);
  CHECK(best["variant"] == "cpu_tiled");
  CHECK(best["session"].is_null());
  CHECK(best["text"].get<std::string>().find("fallback") != std::string::npos);
}

TEST_CASE("each rule of the table that ships is proved by a session that ships", "[engine][best]") {
  const fs::path source(source_dir());
  const auto read = [](const fs::path& path) {
    const auto text = RealFileSystem().read(path, 64u << 20);
    REQUIRE(text.ok());
    return *text;
  };
  const auto table = parse_dispatch(read(source / "kernels" / "dispatch.json"), "dispatch.json");
  REQUIRE(table.ok());
  for (const DispatchRule& rule : table->rules) {
    if (rule.session.empty()) continue;  // the fallback
    INFO(rule.variant << " " << rule.when);
    const RealFileSystem files;
    const auto storage = open_storage(files, source / rule.session);
    REQUIRE(storage.ok());
    const auto log_text = (*storage)->read_unpacked(std::string(k_log_name));
    REQUIRE(log_text.ok());
    const std::string& log = *log_text;
    CHECK(log.find("\"artifact_id\":\"" + rule.artifact_id) != std::string::npos);
    CHECK(is_ahead_in(log, rule.variant + "@" + rule.artifact_id.substr(0, 8)));
  }
}

TEST_CASE("the first rule that holds is named with what proves it", "[engine][best]") {
  Bench bench;
  write_table(bench, {proven({{"when", "Sq < 1024"}, {"variant", "cpu_online"}}),
                      proven({{"when", "Sq >= 1024"},
                              {"dtypes", {"f32"}},
                              {"variant", "cpu_tiled"},
                              {"configuration", {{"TILE_M", 64}, {"TILE_N", 64}}}}),
                      {{"variant", "cpu_unfused"}}});
  const Json best = bench.call("best", {{"problem", k_problem}});
  CHECK(best["variant"] == "cpu_tiled");
  CHECK(best["rule"] == 2);
  CHECK(best["session"] == "s-0007");
  CHECK(best["artifact_id"] == std::string(64, 'a'));
  CHECK(best["configuration"] == Json{{"TILE_M", 64}, {"TILE_N", 64}});
  CHECK(best["fallback"] == false);
  CHECK(bench.workers_started == 0);  // no rule names a device: nobody is asked
  const Json other = bench.call("best", {{"problem", "B=1 Hq=8 Sq=2048 D=64 bf16"}});
  CHECK(other["variant"] == "cpu_unfused");
  CHECK(other["rule"] == 3);
}

TEST_CASE("rules of another device do not hold; the device is asked for or given",
          "[engine][best]") {
  Bench bench;
  write_table(bench, {proven({{"device", "fake cpu"}, {"variant", "cpu_online"}}),
                      {{"variant", "cpu_unfused"}}});
  const Json here = bench.call("best", {{"problem", k_problem}});
  CHECK(here["variant"] == "cpu_online");
  CHECK(here["device"] == "Fake CPU");
  CHECK(bench.workers_started == 1);
  const Json there = bench.call("best", {{"problem", k_problem}, {"device", "Other CPU"}});
  CHECK(there["variant"] == "cpu_unfused");
}

TEST_CASE("a rule whose variant cannot serve is passed over and named", "[engine][best]") {
  Bench bench;
  write_table(bench, {proven({{"when", "Sq > 1"}, {"variant", "no_such_kernel"}}),
                      proven({{"when", "Sq > 2"},
                              {"variant", "cpu_tiled"},
                              {"configuration", {{"TILE_M", 128}, {"TILE_N", 256}}}}),
                      {{"variant", "cpu_unfused"}}});
  const Json best = bench.call("best", {{"problem", k_problem}});
  CHECK(best["variant"] == "cpu_unfused");
  REQUIRE(best["passed_over"].size() == 2);
  CHECK(best["passed_over"][0]["variant"] == "no_such_kernel");
  CHECK(best["passed_over"][1]["reason"].get<std::string>().find("TILE_M * TILE_N") !=
        std::string::npos);
}

TEST_CASE("a problem or a table that is none, and a fallback that does not serve, are errors",
          "[engine][best]") {
  Bench bench;
  CHECK(bench.engine->call("best", {{"problem", "B=1 S=none"}}).error().code == ErrorCode::parse);
  write_table(bench, {{{"variant", "no_such_kernel"}}});
  const auto answer = bench.engine->call("best", {{"problem", k_problem}});
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code == ErrorCode::invalid);
  CHECK(answer.error().message().find("no_such_kernel") != std::string::npos);
  bench.roots = {bench.folder.path() / "nowhere"};
  bench.restart();
  CHECK(bench.engine->call("best", {{"problem", k_problem}}).error().code == ErrorCode::not_found);
}
