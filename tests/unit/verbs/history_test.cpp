// SPDX-License-Identifier: MIT
#include "core/json.hpp"
#include "support/places.hpp"
#include "unit/engine/engine_world.hpp"

using namespace wb;
using testing::Bench;

namespace {

const fs::path k_stored = source_dir() / "tests" / "data" / "session_v1.tar.gz";

Json history(Bench& bench, const std::string& query, Json args = Json::object()) {
  args["query"] = query;
  return bench.call("history", args, k_stored);
}

}  // namespace

TEST_CASE("words are found in hypotheses, notes, techniques, outcomes and decisions",
          "[engine][history]") {
  Bench bench;
  struct Case {
    const char* query;
    std::size_t matches;
    const char* field;
  };
  for (const Case& item : std::vector<Case>{{"CACHE first", 2, "hypothesis"},
                                            {"unrolling hand", 1, "note"},
                                            {"paused night", 1, "note"},
                                            {"tiling", 3, "technique"},
                                            {"win", 1, "outcome"},
                                            {"headroom", 1, "reason"},
                                            {"4.1 bound", 1, "finding"},
                                            {"supported", 1, "decision"},
                                            {"no_such_word", 0, ""},
                                            {"win no_such_word", 0, ""}}) {
    INFO(item.query);
    const Json answer = history(bench, item.query);
    CHECK(answer["total"] == item.matches);
    REQUIRE(answer["matches"].size() == item.matches);
    if (item.matches > 0) CHECK(answer["matches"][0]["where"][0]["field"] == item.field);
  }
}

TEST_CASE("the newest comes first, with the ids to look it up", "[engine][history]") {
  Bench bench;
  const Json answer = history(bench, "");
  CHECK(answer["total"] == 5);  // three iterations, a note, a decision
  std::vector<std::string> events;
  for (const Json& match : answer["matches"]) events.push_back(match["event"]);
  CHECK(events == std::vector<std::string>{"e39", "e35", "e34", "e31", "e11"});
  for (const std::string& id : events)
    CHECK(bench.call("show", {{"id", id}}, k_stored)["kind"] == "event");
}

TEST_CASE("the answer is bounded and says what it left out", "[engine][history]") {
  Bench bench;
  const Json answer = history(bench, "", {{"limit", 2}});
  CHECK(answer["matches"].size() == 2);
  CHECK(answer["total"] == 5);
  CHECK(answer["text"].get<std::string>().find("3 older matches") != std::string::npos);
  CHECK_FALSE(bench.engine->call("history", {{"limit", 0}}, k_stored).ok());
}

TEST_CASE("failures are remembered with their words", "[engine][history]") {
  Bench bench;
  bench.open();
  bench.iterate({{"parent", "cpu_unfused"},
                 {"files", {{"kernel.cpp", "does not compile"}}},
                 {"hypothesis", "shorter is faster"}});
  for (const char* query : {"compile", "refused kernel.cpp", "shorter", "invalid"}) {
    INFO(query);
    const Json answer = bench.call("history", {{"query", query}});
    REQUIRE(answer["total"] == 1);
    CHECK(answer["matches"][0]["iteration"] == 1);
    CHECK(answer["matches"][0]["outcome"] == "invalid");
  }
}

TEST_CASE("a long text is cut", "[engine][history]") {
  Bench bench;
  bench.open();
  bench.call("note", {{"text", "needle " + std::string(10'000, 'x')}});
  const Json answer = bench.call("history", {{"query", "needle"}});
  CHECK(answer["total"] == 1);
  CHECK(answer.dump().size() < 2000);
}
