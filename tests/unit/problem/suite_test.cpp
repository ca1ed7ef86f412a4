// SPDX-License-Identifier: MIT
#include "problem/suite.hpp"

#include "support/catch.hpp"
#include "support/file_systems.hpp"
#include "support/places.hpp"

using namespace wb;
using namespace wb::problem;

namespace {

constexpr const char* k_path = "/suites.json";

Result<std::map<std::string, Suite>> load(std::string text) {
  testing::MemoryFileSystem files;
  files.content(k_path) = std::move(text);
  return load_suites(files, k_path);
}

std::string refusal(std::string text) {
  const auto loaded = load(std::move(text));
  return loaded.ok() ? "accepted" : loaded.error().message();
}

/// A file with one suite "s" that holds these problems.
std::string file_with(const std::string& problems) {
  return R"({"version":2,"suites":{"s":{"about":"x","problems":[)" + problems + "]}}}";
}

const std::string k_good =
    R"({"name":"a","B":1,"Hq":2,"Hkv":1,"Sq":4,"Skv":4,"D":8,"causal":"none","dtype":"f16"})";

std::string with(const std::string& from, const std::string& to) {
  std::string text = k_good;
  text.replace(text.find(from), from.size(), to);
  return file_with(text);
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the shipped suites are all read", "[problem][suite]") {
  const RealFileSystem files;
  const auto suites = load_suites(files, source_dir() / "kernels/suites.json");
  if (!suites.ok()) FAIL(suites.error().message());
  std::size_t problems = 0;
  for (const auto& [name, suite] : *suites) {
    CHECK(suite.name == name);
    CHECK_FALSE(suite.about.empty());
    problems += suite.problems.size();
    for (const SuiteProblem& entry : suite.problems) {
      INFO(entry.problem.name);
      CHECK(validate(entry.problem).ok());
      CHECK(parse_problem(to_text(entry.problem)).ok());
    }
  }
  CHECK(suites->size() == 11);
  CHECK(problems == 163);
  CHECK(suites->at("n6").problems.size() == 11);
  bool bool_mask = false, additive_mask = false, bshd = false;
  for (const SuiteProblem& entry : suites->at("unusual").problems) {
    bool_mask |= entry.problem.mask == MaskKind::boolean && entry.problem.keep_frac == 0.7;
    additive_mask |= entry.problem.mask == MaskKind::additive;
    bshd |= entry.problem.layout == Layout::bshd;
  }
  CHECK(bool_mask);
  CHECK(additive_mask);
  CHECK(bshd);
}

TEST_CASE("weights and held-out marks are read", "[problem][suite]") {
  const auto suites = load(with("\"B\":1", "\"B\":1,\"weight\":2.5,\"held_out\":true"));
  REQUIRE(suites.ok());
  const SuiteProblem& entry = suites->at("s").problems.at(0);
  CHECK(entry.weight == 2.5);
  CHECK(entry.held_out);
  CHECK(entry.problem.name == "a");
}

TEST_CASE("bad suites are refused and name suite and problem", "[problem][suite][bad_input]") {
  REQUIRE(load(file_with(k_good)).ok());
  const std::string where = "suite \"s\", problem 1 (\"a\")";
  CHECK(contains(refusal(with("\"B\":1", "\"B\":0")), where));
  CHECK(contains(refusal(with("\"Hkv\":1", "\"Hkv\":3")), where));
  CHECK(contains(refusal(with("\"Hkv\":1", "\"Hkv\":3")), "not a multiple"));
  CHECK(contains(refusal(with("\"D\":8", "\"D\":8,\"Dw\":8")), "Dw"));
  CHECK(contains(refusal(with("\"D\":8", "\"D\":\"8\"")), "\"D\""));
  CHECK(contains(refusal(with("\"D\":8", "\"D\":1e99999")), "suites.json"));
  CHECK(contains(refusal(with("\"B\":1", "\"B\":1,\"weight\":0")), "weight"));
  CHECK(contains(refusal(with("\"B\":1", "\"B\":1,\"weight\":\"x\"")), "weight"));
  CHECK(contains(refusal(with("\"B\":1", "\"B\":1,\"held_out\":1")), "held_out"));
  CHECK(contains(refusal(with("\"name\":\"a\"", "\"name\":\"\"")), "name"));
  CHECK(contains(refusal(with("\"name\":\"a\",", "")), "name"));
  CHECK(contains(refusal(file_with(k_good + "," + k_good)), "earlier problem"));
  CHECK(contains(refusal(file_with("3")), "problem 1"));
  CHECK(contains(refusal(file_with("")), "problems"));
}

TEST_CASE("bad suite files are refused", "[problem][suite][bad_input]") {
  CHECK(contains(refusal("{"), "suites.json"));
  CHECK(contains(refusal("[]"), "object"));
  CHECK(contains(refusal(R"({"version":2})"), "suites"));
  CHECK(contains(refusal(R"({"version":2,"suites":[]})"), "suites"));
  CHECK(contains(refusal(R"({"version":2,"suites":{}})"), "suites"));
  CHECK(contains(refusal(R"({"suites":{}})"), "version"));
  CHECK(contains(refusal(R"({"version":2,"extra":1,"suites":{}})"), "extra"));
  CHECK(contains(refusal(R"({"version":2,"suites":{"s":{"colour":1,"problems":[]}}})"), "colour"));
  CHECK(contains(refusal(R"({"version":2,"suites":{"s":{"problems":{}}}})"), "problems"));
  CHECK(contains(refusal(R"({"version":2,"suites":{"s":{},"s":{}}})"), "twice"));
  const auto newer = load(R"({"version":4,"suites":{},"later":1})");
  REQUIRE_FALSE(newer.ok());
  CHECK(newer.error().code == ErrorCode::too_new);
  testing::MemoryFileSystem empty;
  const auto absent = load_suites(empty, k_path);
  REQUIRE_FALSE(absent.ok());
  CHECK(absent.error().code == ErrorCode::not_found);
}

TEST_CASE("one problem is a suite too", "[problem][suite]") {
  const auto p = parse_problem("B=1 Hq=1 Sq=4 D=8 f16").value();
  const Suite suite = suite_of(p);
  CHECK(suite.name == "problem");
  REQUIRE(suite.problems.size() == 1);
  CHECK(suite.problems[0].problem == p);
  CHECK_FALSE(suite.problems[0].held_out);
}
