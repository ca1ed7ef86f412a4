// SPDX-License-Identifier: MIT
// `loops`, phases that notes begin, and where a fix lies: verbs over whole sessions.
#include "core/json.hpp"
#include "support/places.hpp"
#include "unit/engine/engine_world.hpp"

using namespace wb;
using testing::Bench;

namespace {

bool tells(const Json& answer, const std::string& words) {
  UNSCOPED_INFO(answer["text"].get<std::string>());
  return answer["text"].get<std::string>().find(words) != std::string::npos;
}

/// Start 200 us, then a kernel of another loop at 100 us.
struct LoopedSession : Bench {
  LoopedSession() {
    worker.subjects["cpu_unfused"] = with_time(200);
    worker.subjects["cpu_tiled"] = with_time(100);
    open();
    iterate();
  }
};

}  // namespace

TEST_CASE("loops of a session: start and incumbent with the figures of both", "[engine][loops]") {
  LoopedSession bench;
  const auto before = Bench::snapshot(bench.session);
  const Json answer = bench.call("loops", {{"recorded", bench.session.string()}});
  CHECK(before == Bench::snapshot(bench.session));
  REQUIRE(answer["sides"].size() == 2);
  CHECK(answer["sides"][0]["loop"] == "scores_in_memory");
  CHECK(answer["sides"][1]["loop"] == "queries_outer");
  CHECK(tells(answer, "## Measured beside each other"));
  CHECK(tells(answer, "2.0"));
  CHECK(tells(answer, ", faster [e"));
}

TEST_CASE("loops of kernels and of families need no session", "[engine][loops]") {
  Bench bench;
  const Json two = bench.call("loops", {{"variant", "cpu_splitkv"}, {"other", "keys_outer"}});
  CHECK(two["sides"][0]["loop"] == "keys_split");
  CHECK(two["sides"][1]["name"] == "keys_outer");
  CHECK_FALSE(tells(two, "Measured"));
  const Json all = bench.call("loops", Json::object());
  CHECK(all["sides"].size() > 20);
  CHECK(tells(all, "# Loops"));
  const auto refused = [&](const Json& args) {
    const auto answer = bench.engine->call("loops", args, {});
    REQUIRE_FALSE(answer.ok());
    return answer.error();
  };
  CHECK(refused({{"variant", "cpu_tiled"}}).code == ErrorCode::usage);
  CHECK(refused({{"variant", "cpu_tilde"}, {"other", "cpu_tiled"}}).code == ErrorCode::not_found);
  CHECK(refused({{"variant", "a@1"}, {"other", "b@2"}}).cause.find("session") != std::string::npos);
}

TEST_CASE("phases and their plans reach the log and the report", "[engine][execution]") {
  Bench bench;
  bench.open({{"planned_minutes", 30}});
  bench.call("note", {{"text", "now the tiles"}, {"phase", "search"}, {"planned_minutes", 45}},
             bench.session);
  const auto notes = bench.events("note");
  REQUIRE_FALSE(notes.empty());
  CHECK(notes.back().payload["phase"] == "search");
  CHECK(notes.back().payload["planned_minutes"] == 45);
  const Json report = bench.call("report", {{"kind", "full"}}, bench.session);
  CHECK(tells(report, "## Execution"));
  CHECK(tells(report, "| search [e"));
  CHECK(tells(report, " 75 | "));  // 30 and 45
  const auto refused =
      bench.engine->call("note", {{"text", "x"}, {"planned_minutes", 5}}, bench.session);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().cause.find("no phase") != std::string::npos);
}

TEST_CASE("a root-cause page names the lines that a fix changed", "[engine][fixes]") {
  Bench bench;
  bench.worker.subjects["cpu_unfused"] = Bench::with_time(200);
  bench.worker.subjects["better"] = Bench::with_time(100);
  bench.open();
  const fs::path source = source_dir() / "kernels/cpu_unfused/kernel.cpp";
  std::string text = RealFileSystem().read(source, 1 << 20).value();
  // The fifth line becomes two.
  std::size_t at = 0;
  for (int line = 1; line < 5; ++line) at = text.find('\n', at) + 1;
  text.insert(at, "// one more line\n");
  const Json done = bench.iterate({{"files", {{"kernel.cpp", text}}}, {"name", "better"}});
  REQUIRE(done["outcome"] == "win");
  const Json page = bench.call("report", {{"kind", "root-cause"}}, bench.session);
  CHECK(tells(page, "`kernel.cpp` line 5 (1 added, 0 removed)"));
  CHECK(tells(page, "- iteration 1, commit `"));
}
