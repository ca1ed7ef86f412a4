// SPDX-License-Identifier: MIT
// `ideas`: the register as a verb, ideas of a session, and proposals that name ideas.
#include <fstream>

#include "core/json.hpp"
#include "support/places.hpp"
#include "unit/engine/engine_world.hpp"

using namespace wb;
using testing::Bench;

namespace {

const Json* idea_in(const Json& answer, const std::string& id) {
  for (const Json& row : answer["ideas"]) {
    if (row["id"] == id) return &row;
  }
  return nullptr;
}

Json stages_of(const char* id) {
  return {{"action", "add"},
          {"id", id},
          {"title", "tiles of 64 rows"},
          {"backend", "cpu"},
          {"kernel", "cpu_tiled"},
          {"configuration", {{"TILE_M", 64}}},
          {"by", "agent"}};
}

struct IdeasSession : Bench {
  IdeasSession() {
    worker.subjects["cpu_unfused"] = with_time(50);
    worker.subjects["cpu_tiled"] = with_time(100);
    open({{"start", "cpu_tiled"}});
  }
};

}  // namespace

TEST_CASE("ideas are listed by kernel, technique and state", "[engine][ideas]") {
  Bench bench;
  const Json all = bench.call("ideas", Json::object());
  const Json* poly = idea_in(all, "poly_exp");
  REQUIRE(poly != nullptr);
  CHECK((*poly)["state"] == "lost");
  CHECK((*poly)["place"] == "shipped");
  CHECK((*poly)["effect"].is_null());
  CHECK(all["text"].get<std::string>().find("poly_exp") != std::string::npos);
  const Json lost = bench.call("ideas", {{"state", "lost"}, {"kernel", "sm90_wgmma_carry"}});
  CHECK(idea_in(lost, "poly_exp") != nullptr);
  CHECK(idea_in(lost, "carry_over") == nullptr);
  const Json loads = bench.call("ideas", {{"technique", "vectorized_loads"}});
  for (const Json& row : loads["ideas"]) CHECK(row["technique"] == "vectorized_loads");
  CHECK(loads["ideas"].size() >= 2);
}

TEST_CASE("effects of ideas are folded from logs that are named", "[engine][ideas]") {
  Bench bench;
  const Json answer =
      bench.call("ideas", Json::object(), source_dir() / "sessions" / "hopper-prefill-ends.tar.gz");
  INFO(answer["text"].get<std::string>());
  const Json* threes = idea_in(answer, "threes");
  REQUIRE(threes != nullptr);
  CHECK((*threes)["state"] == "won");
  const Json& effect = (*threes)["effect"];
  CHECK(effect["tried"] == 1);
  CHECK(effect["speedup"].get<double>() == Approx(1.0134).epsilon(0.001));
  CHECK(effect["low"].get<double>() < effect["speedup"].get<double>());
  CHECK(effect["trials"][0]["iteration"] == 2);
  CHECK(effect["trials"][0]["log_sha256"].get<std::string>().size() == 64);
  CHECK((*idea_in(answer, "early_start"))["state"] == "no_gain");
}

TEST_CASE("an idea is added for the user, once, and imported ones stay others'",
          "[engine][ideas]") {
  Bench bench;
  const Json added = bench.call("ideas", stages_of("wide_tiles"));
  CHECK(added["event"].is_null());
  CHECK(fs::exists(bench.data_root / "ideas.json"));
  const Json listed = bench.call("ideas", Json::object());
  REQUIRE(idea_in(listed, "wide_tiles") != nullptr);
  CHECK((*idea_in(listed, "wide_tiles"))["place"] == "user");
  CHECK((*idea_in(listed, "wide_tiles"))["by"] == "agent");
  const auto refused = [&](const Json& args) {
    const auto answer = bench.engine->call("ideas", args, {});
    REQUIRE_FALSE(answer.ok());
    return answer.error().code;
  };
  CHECK(refused(stages_of("wide_tiles")) == ErrorCode::invalid);
  CHECK(refused(stages_of("poly_exp")) == ErrorCode::invalid);  // the shipped one is not replaced
  CHECK(refused(stages_of("No Word")) == ErrorCode::invalid);
  CHECK(refused({{"action", "add"}}) == ErrorCode::usage);
  CHECK(refused({{"action", "import"}}) == ErrorCode::usage);
  CHECK(refused({{"action", "import"}, {"file", "/no/such/file"}}) == ErrorCode::not_found);
  const fs::path file = bench.folder.path() / "theirs.json";
  std::ofstream(file) << R"({"version": 1, "ideas": [{"id": "their_idea", "title": "t",
    "backends": ["cpu"], "state": "won", "source": "they say so"}]})";
  bench.call("ideas", {{"action", "import"}, {"file", file.string()}});
  const Json after = bench.call("ideas", Json::object());
  REQUIRE(idea_in(after, "their_idea") != nullptr);
  CHECK((*idea_in(after, "their_idea"))["foreign"] == true);
  CHECK((*idea_in(after, "their_idea"))["pack"] == "theirs");
}

TEST_CASE("an idea of a session is an event, and a step that names it is its trial",
          "[engine][ideas]") {
  IdeasSession bench;
  Json args = stages_of("wide_tiles");
  args["in_session"] = true;
  const Json added = bench.call("ideas", args);
  REQUIRE(bench.events("idea_recorded").size() == 1);
  CHECK(added["event"] == bench.events("idea_recorded")[0].seq);
  CHECK_FALSE(fs::exists(bench.data_root / "ideas.json"));
  const auto unknown = bench.engine->call("iterate",
                                          {{"variant", "cpu_tiled"},
                                           {"hypothesis", "h"},
                                           {"predicted_speedup", 1.5},
                                           {"idea", {"wide_tilse"}}},
                                          bench.session);
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().code == ErrorCode::not_found);
  CHECK(unknown.error().message().find("wide_tiles") != std::string::npos);
  // Another kernel changes more than the idea, so that the step says nothing of it alone.
  REQUIRE(bench.iterate({{"variant", "cpu_unfused"}, {"idea", {"wide_tiles"}}})["outcome"] ==
          "win");
  CHECK(bench.events("iteration_opened").back().payload["ideas"] == Json::array({"wide_tiles"}));
  const Json listed = bench.call("ideas", Json::object(), bench.session);
  const Json* row = idea_in(listed, "wide_tiles");
  REQUIRE(row != nullptr);
  CHECK((*row)["place"] == "session");
  CHECK((*row)["state"] == "tried");
  CHECK((*row)["effect"].is_null());
}

TEST_CASE("a change of an idea's parameters alone is its trial, named or not", "[engine][ideas]") {
  IdeasSession bench;
  bench.call("ideas", stages_of("wide_tiles"));
  bench.iterate({{"configuration", {{"TILE_M", 64}}}});
  const Json listed = bench.call("ideas", Json::object(), bench.session);
  const Json* row = idea_in(listed, "wide_tiles");
  REQUIRE(row != nullptr);
  CHECK((*row)["state"] == "no_gain");
  CHECK((*row)["effect"]["tried"] == 1);
  CHECK((*row)["effect"]["trials"][0]["iteration"] == 1);
  // Advice names it as what lost here, and does not propose it.
  const Json roadmap = bench.call("advise", Json::object(), bench.session);
  bool is_named = false;
  for (const Json& left : roadmap["not_advised"]) {
    is_named = is_named || (left["technique"] == "wide_tiles" && left["loser"] == true &&
                            left["event"].is_number());
  }
  CHECK(is_named);
  for (const Json& entry : roadmap["entries"]) CHECK(entry["technique"] != "wide_tiles");
}

TEST_CASE("a proposal carries the ids of its ideas to the iteration that times it",
          "[engine][ideas]") {
  IdeasSession bench;
  Json args = stages_of("wide_tiles");
  bench.call("ideas", args);
  const Json proposed = bench.call(
      "propose",
      {{"parent", "cpu_tiled"}, {"configuration", {{"TILE_M", 64}}}, {"idea", {"wide_tiles"}}},
      bench.session);
  REQUIRE(proposed["pass"] == true);
  const auto recorded = bench.events("idea_recorded");
  REQUIRE(recorded.size() == 1);
  CHECK(recorded[0].payload["variant"] == proposed["variant"]);
  bench.iterate({{"variant", proposed["variant"]}});
  const Json listed = bench.call("ideas", Json::object(), bench.session);
  CHECK((*idea_in(listed, "wide_tiles"))["effect"]["tried"] == 1);
}
