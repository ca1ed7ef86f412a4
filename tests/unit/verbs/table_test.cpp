// SPDX-License-Identifier: MIT
#include "verbs/table.hpp"
#include "core/json.hpp"

#include <set>

#include "support/catch.hpp"

using namespace wb;
using namespace wb::engine;
using namespace wb::verbs;

namespace {
Result<Json> check(std::string_view verb, const Json& args) {
  return check_arguments(find_verb(verb)->spec, args);
}
const Json k_iterate{{"variant", "cpu_tiled"}, {"hypothesis", "why"}, {"predicted_speedup", 1.5}};
}  // namespace

TEST_CASE("the table names every verb once and documents each argument", "[verbs][table]") {
  std::set<std::string_view> names;
  for (const Verb* one : verb_table()) {
    const VerbSpec& verb = one->spec;
    INFO(verb.name);
    CHECK(names.insert(verb.name).second);
    CHECK_FALSE(verb.doc.empty());
    CHECK_FALSE(verb.result.empty());
    std::set<std::string_view> arguments;
    for (const ArgumentSpec& spec : verb.arguments) {
      INFO(spec.name);
      CHECK(arguments.insert(spec.name).second);
      CHECK_FALSE(spec.doc.empty());
      CHECK((spec.kind == ArgumentKind::enumeration) == !spec.choices.empty());
    }
  }
  for (const char* name :
       {"open", "run", "resume", "iterate", "check", "measure", "compare", "note", "status",
        "report", "show", "close", "doctor", "suites", "kernels"}) {
    CHECK(find_verb(name) != nullptr);
  }
  CHECK(find_verb("no_such_verb") == nullptr);
  CHECK(verb_table_json().size() == verb_table().size());
}

TEST_CASE("good arguments pass and absent ones stay absent", "[verbs][table]") {
  const auto checked = check("iterate", k_iterate);
  REQUIRE(checked.ok());
  CHECK(*checked == k_iterate);
  // Tools with strict schemas send null for what they leave out.
  Json with_null = k_iterate;
  with_null["parent"] = nullptr;
  CHECK(*check("iterate", with_null) == k_iterate);
}

TEST_CASE("an empty Lua table serves as map and as list", "[verbs][table]") {
  Json args = k_iterate;
  args["configuration"] = Json::array();
  CHECK((*check("iterate", args))["configuration"] == Json::object());
  Json open{{"start", "a"}, {"rivals", Json::object()}};
  CHECK((*check("open", open))["rivals"] == Json::array());
}

TEST_CASE("a whole float is an integer", "[verbs][table]") {
  const auto checked = check("open", {{"start", "a"}, {"evaluations", 3.0}});
  REQUIRE(checked.ok());
  CHECK((*checked)["evaluations"].is_number_integer());
  CHECK_FALSE(check("open", {{"start", "a"}, {"evaluations", 3.5}}).ok());
}

TEST_CASE("bad arguments are refused with the argument's name", "[verbs][table]") {
  struct Bad {
    const char* key;
    Json value;
    const char* fragment;
  };
  const std::vector<Bad> cases{
      {"predicted_speedup", "fast", "must be a number"},
      {"predicted_speedup", 0.0, "between"},
      {"predicted_speedup", 1e9, "between"},
      {"hypothesis", 7, "must be a string"},
      {"hypothesis", std::string("a\0b", 3), "NUL"},
      {"variant", "a\nb", "line break"},
      {"variant", std::string(5000, 'x'), "bytes long"},
      {"confirm", "mayb", "one of"},
      {"configuration", Json{{"TILE_M", 1.5}}, "not an integer"},
      {"configuration", Json::array({1}), "must be a map"},
      {"files", Json{{"kernel.cpp", 3}}, "not text"},
  };
  for (const Bad& bad : cases) {
    Json args = k_iterate;
    args[bad.key] = bad.value;
    const auto checked = check("iterate", args);
    REQUIRE_FALSE(checked.ok());
    const std::string message = checked.error().message();
    INFO(message);
    CHECK(checked.error().code == ErrorCode::usage);
    CHECK(message.find(bad.key) != std::string::npos);
    CHECK(message.find(bad.fragment) != std::string::npos);
  }
}

TEST_CASE("unknown and missing arguments say what would be right", "[verbs][table]") {
  Json args = k_iterate;
  args["hypothesys"] = "x";
  CHECK(check("iterate", args).error().message().find("hypothesis") != std::string::npos);
  CHECK(check("iterate", {{"variant", "a"}}).error().message().find("missing") !=
        std::string::npos);
  CHECK_FALSE(check("iterate", Json::array({1})).ok());
  CHECK_FALSE(check("iterate", "text").ok());
}
