// SPDX-License-Identifier: MIT
#include "verbs/text.hpp"

#include "core/json.hpp"
#include "support/catch.hpp"
#include "verbs/table.hpp"

using namespace wb;
using namespace wb::verbs;

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

TEST_CASE("a brief for people is no longer than the one for programs", "[verbs][text]") {
  Json brief{{"session", "s"},
             {"title", "quotes \"'"},
             {"status", "open"},
             {"objective", {{"rule", "geomean_speedup"}, {"some", {"a", "b"}}}},
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
  CHECK(text.find("wall_s: 123456.789") != std::string::npos);
  CHECK(text.find("null") == std::string::npos);
  CHECK(text.find("- go on") != std::string::npos);
  CHECK(text.find("left_out: {\"last\":4}") != std::string::npos);
  brief["left_out"] = Json::object();
  CHECK(render_result("brief", brief).find("left_out") == std::string::npos);
}

TEST_CASE("bytes that are not UTF-8 do not keep a result from being printed", "[verbs][text]") {
  const Json result{{"kind", "source"}, {"words", {{"log", "caf\xe9"}}}};
  CHECK(json_text(result) == "{\"kind\":\"source\",\"words\":{\"log\":\"caf\uFFFD\"}}");
  CHECK(parse_json(json_text(result, 2), "the result").ok());
  CHECK(render_result("a verb without a page", result).find("caf\uFFFD") != std::string::npos);
}
