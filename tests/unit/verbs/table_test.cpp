// SPDX-License-Identifier: MIT
// The table of verbs, and their answers as text and as exit codes.
#include "verbs/table.hpp"

#include <set>

#include "core/json.hpp"
#include "support/catch.hpp"
#include "verbs/answer_forms.hpp"

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

// Answers as text, and their exit codes.

namespace {

std::string render_result(std::string_view verb, const Json& answer) {
  const Verb* found = find_verb(verb);
  return text_of_answer(found == nullptr ? Verb{} : *found, answer);
}

}  // namespace

TEST_CASE("the last line of run and open is the session's folder", "[verbs][text]") {
  CHECK(render_result("run", {{"session", "sessions/s-0001"}, {"summary", "3 iterations"}}) ==
        "3 iterations\nsessions/s-0001\n");
  const std::string open = render_result("open", {{"session", "s"}, {"baseline", Json::array()}});
  CHECK(open.substr(open.size() - 2) == "s\n");
}

TEST_CASE("a failed check says so first and shows every row", "[verbs][text]") {
  const std::string text = render_result("check", {{"variant", "x@1"},
                                                   {"pass", false},
                                                   {"problems",
                                                    {{{"problem", "p"},
                                                      {"outcome", "correctness"},
                                                      {"message", "row 3"},
                                                      {"worst_share", nullptr}}}}});
  CHECK(text.find("x@1: FAIL") == 0);
  CHECK(text.find("row 3") != std::string::npos);
}

TEST_CASE("text results are printed as they are", "[verbs][text]") {
  CHECK(render_result("report", {{"text", "# Title"}}) == "# Title\n");
}

TEST_CASE("an iteration without a figure prints none", "[verbs][text]") {
  const std::string text = render_result("iterate", {{"iteration", 2},
                                                     {"outcome", "invalid"},
                                                     {"invalidity", "compile"},
                                                     {"message", "no"},
                                                     {"speedup", nullptr},
                                                     {"interval", nullptr},
                                                     {"decision", "undecided"},
                                                     {"variant", "v"},
                                                     {"incumbent", "i"},
                                                     {"problems", Json::array()},
                                                     {"stop_reason", nullptr}});
  CHECK(text.find("speedup") == std::string::npos);
  CHECK(text.find("invalid") != std::string::npos);
}

TEST_CASE("an iteration says both answers of its hypothesis", "[verbs][text]") {
  const std::string text = render_result("iterate", {{"iteration", 1},
                                                     {"outcome", "win"},
                                                     {"message", "yes"},
                                                     {"speedup", 1.386},
                                                     {"interval", nullptr},
                                                     {"decision", "refuted"},
                                                     {"mechanism", "confirmed"},
                                                     {"size", "within"},
                                                     {"incumbent", "i"},
                                                     {"problems", Json::array()},
                                                     {"stop_reason", nullptr}});
  CHECK(text.find("hypothesis refuted (mechanism confirmed, size within)") != std::string::npos);
}

TEST_CASE("a brief for people says all in words, and is no longer than the JSON", "[verbs][text]") {
  Json brief{{"session", "s"},
             {"title", "quotes \"'"},
             {"status", "open"},
             {"objective", {{"rule", "geomean_speedup"}, {"some", {"a", "b"}}}},
             {"goals",
              {{{"goal", "each >= 2 over start"},
                {"state", "missed"},
                {"value", 1.5},
                {"short_by", 0.5}}}},
             {"incumbent", nullptr},
             {"budget", {{"wall_s", 123456.789}, {"evaluations_left", nullptr}}},
             {"in_flight", nullptr},
             {"last", {{{"iteration", 3}, {"speedup", 1.25}, {"tried", "wider tiles"}}}},
             {"refuted", Json::array()},
             {"techniques", Json::array()},
             {"rivals", Json::array()},
             {"next", {"go on"}},
             {"notes", {{{"note", "n"}, {"event", 7}}}},
             {"untried", {"split_kv"}},
             {"left_out", {{"last", 4}}}};
  const std::string text = render_result("brief", brief);
  CHECK(text.size() <= brief.dump().size());
  CHECK(text.find("Used: 123456.789 s\n") != std::string::npos);
  CHECK(text.find("null") == std::string::npos);
  CHECK(text.find("Goal each >= 2 over start: missed, 1.5x, short by 0.5\n") != std::string::npos);
  CHECK(text.find("- go on") != std::string::npos);
  CHECK(text.find("No room for: last 4") != std::string::npos);
  brief["left_out"] = Json::object();
  CHECK(render_result("brief", brief).find("No room") == std::string::npos);
}

TEST_CASE("bytes that are not UTF-8 do not keep a result from being printed", "[verbs][text]") {
  const Json result{{"kind", "source"}, {"words", {{"log", "caf\xe9"}}}};
  CHECK(json_text(result) == "{\"kind\":\"source\",\"words\":{\"log\":\"caf\uFFFD\"}}");
  CHECK(parse_json(json_text(result, 2), "the result").ok());
  CHECK(render_result("a verb without a page", result).find("caf\uFFFD") != std::string::npos);
}

namespace {

ExitCode exit_code_of(std::string_view verb, const Json& answer) {
  return verbs::exit_code_of(*find_verb(verb), answer);
}

}  // namespace

TEST_CASE("each error code has its documented exit code", "[verbs][exit_code]") {
  const std::pair<ErrorCode, int> expected[] = {
      {ErrorCode::usage, 2},      {ErrorCode::not_found, 2},  {ErrorCode::parse, 65},
      {ErrorCode::invalid, 65},   {ErrorCode::io, 74},        {ErrorCode::no_space, 74},
      {ErrorCode::locked, 75},    {ErrorCode::read_only, 73}, {ErrorCode::too_new, 65},
      {ErrorCode::damaged, 65},   {ErrorCode::compile, 3},    {ErrorCode::wrong_result, 4},
      {ErrorCode::limit, 5},      {ErrorCode::security, 6},   {ErrorCode::environment, 76},
      {ErrorCode::canceled, 130}, {ErrorCode::internal, 70}};
  for (const auto& [code, exit_code] : expected) {
    INFO(to_string(code));
    CHECK(static_cast<int>(verbs::exit_code_of(code)) == exit_code);
  }
}

TEST_CASE("failed results are not success", "[verbs][exit_code]") {
  const auto iterate = [](const char* outcome, const Json& invalidity) {
    return static_cast<int>(
        exit_code_of("iterate", {{"outcome", outcome}, {"invalidity", invalidity}}));
  };
  CHECK(iterate("win", nullptr) == 0);
  CHECK(iterate("no_gain", nullptr) == 0);
  CHECK(iterate("stopped", nullptr) == 5);
  CHECK(iterate("invalid", "compile") == 3);
  CHECK(iterate("invalid", "correctness") == 4);
  CHECK(iterate("invalid", "timeout") == 5);
  CHECK(iterate("invalid", "runtime") == 1);
  CHECK(iterate("invalid", "constraints") == 1);
  CHECK(iterate("invalid", "environment") == 76);
  const auto check = [](bool pass, const char* outcome) {
    return static_cast<int>(exit_code_of(
        "check", {{"pass", pass}, {"problems", {{{"outcome", "pass"}}, {{"outcome", outcome}}}}}));
  };
  CHECK(check(true, "not_supported") == 0);
  CHECK(check(false, "correctness") == 4);
  CHECK(check(false, "not_supported") == 1);
  CHECK(static_cast<int>(exit_code_of("doctor", {{"healthy", false}})) == 1);
}

TEST_CASE("a script sees that a rule failed here, and a declined one is an answer",
          "[verbs][exit_code]") {
  const auto adopt = [](const char* outcome) {
    return static_cast<int>(exit_code_of(
        "dispatch_adopt", {{"rules", {{{"outcome", "adopted"}}, {{"outcome", outcome}}}}}));
  };
  CHECK(adopt("adopted") == 0);
  CHECK(adopt("served") == 0);
  CHECK(adopt("none") == 0);
  CHECK(adopt("declined") == 0);
  CHECK(adopt("failed") == 1);
}

TEST_CASE("a script sees regressions and what is not reproduced", "[verbs][exit_code]") {
  const auto diff = [](const char* outcome, int regressions) {
    return static_cast<int>(
        exit_code_of("diff", {{"outcome", outcome}, {"regressions", regressions}}));
  };
  CHECK(diff("better", 0) == 0);
  CHECK(diff("same", 0) == 0);
  CHECK(diff("ambiguous", 0) == 0);
  CHECK(diff("worse", 0) == 1);
  CHECK(diff("better", 1) == 1);  // a suite that gains may hide a problem that lost
  CHECK(diff("not_comparable", 0) == 65);
  const auto reproduce = [](const char* outcome) {
    return static_cast<int>(exit_code_of("reproduce", {{"outcome", outcome}}));
  };
  CHECK(reproduce("reproduced") == 0);
  CHECK(reproduce("not_reproduced") == 1);
  CHECK(reproduce("environment_differs") == 76);
}
