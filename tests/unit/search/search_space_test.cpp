// SPDX-License-Identifier: MIT
#include "search/search_space.hpp"

#include <chrono>
#include <set>

#include "support/catch.hpp"
#include "tuning_world.hpp"
#include "variant/restriction.hpp"

using namespace wb;
using namespace wb::problem;
using namespace wb::search;
using namespace wb::variant;
using wb::testing::range;

namespace {

Manifest manifest_of(std::map<std::string, std::vector<std::int64_t>> parameters,
                     std::vector<std::string> restrictions = {}) {
  Manifest manifest;
  manifest.name = "cpu_x";
  manifest.tune_params = std::move(parameters);
  manifest.restrictions = std::move(restrictions);
  return manifest;
}

Problem problem_of(std::string_view text) {
  return *parse_problem(text);
}

Suite suite_of_texts(std::initializer_list<std::string_view> texts) {
  Suite suite;
  suite.name = "few";
  for (const auto text : texts) suite.problems.push_back({.problem = problem_of(text)});
  return suite;
}

const Suite& one() {
  static const Suite suite = suite_of_texts({"B=1 Hq=2 Sq=64 D=32 f32"});
  return suite;
}

SearchSpace space_of(const Manifest& manifest, const Suite& suite = one()) {
  auto space = SearchSpace::make(manifest, suite);
  INFO((space ? std::string() : space.error().message()));
  REQUIRE(space.ok());
  return *std::move(space);
}

std::string refused(const Manifest& manifest, const Suite& suite = one()) {
  const auto space = SearchSpace::make(manifest, suite);
  REQUIRE_FALSE(space.ok());
  return space.error().message();
}

/// All valid configurations by trying every point: what the diagram must agree with.
std::vector<Configuration> brute_force(const Manifest& manifest, const Suite& suite) {
  std::vector<Configuration> points{{}};
  for (const auto& [name, listed] : manifest.tune_params) {
    auto values = listed;
    std::sort(values.begin(), values.end());
    std::vector<Configuration> longer;
    for (const Configuration& point : points) {
      for (const std::int64_t value : values) {
        longer.push_back(point);
        longer.back()[name] = value;
      }
    }
    points = std::move(longer);
  }
  std::erase_if(points, [&](const Configuration& point) {
    for (const SuiteProblem& member : suite.problems) {
      const auto violated = violated_restriction(manifest, point, &member.problem);
      if (violated.ok() && !violated->has_value()) return false;
    }
    return true;
  });
  return points;
}

void check_against_brute_force(const Manifest& manifest, const Suite& suite) {
  const SearchSpace space = space_of(manifest, suite);
  const auto expected = brute_force(manifest, suite);
  REQUIRE(space.size() == expected.size());
  for (SearchSpace::Index i = 0; i < space.size(); ++i) {
    REQUIRE(space.at(i) == expected[i]);
    REQUIRE(space.find(expected[i]) == i);
  }
}

}  // namespace

TEST_CASE("a space is what trying every point leaves", "[search][search_space]") {
  const auto lists = std::map<std::string, std::vector<std::int64_t>>{
      {"A", {1, 2, 4, 8}}, {"B", {16, 3, 5}}, {"C", {0, 1}}, {"D2", range(1, 7)}, {"E", {2, 9}}};
  const std::vector<std::vector<std::string>> rules = {
      {},
      {"A * B <= 40"},
      {"A * B <= 40 && D2 > 2 && E == 9"},
      {"A > 4 || C == 1", "D2 % A == 0"},
      {"!(C == 1 && E == 2)", "A + B + C + D2 + E < 20"},
      {"C == 0 || A % C == 0"},
      {"C != 0 && D2 % C == 0 && A > 1"},
      {"(A > 1 && B > 3) && E * A <= 36 && C * 3 < D2"},
  };
  for (const auto& restrictions : rules) {
    INFO((restrictions.empty() ? "none" : restrictions.front()));
    check_against_brute_force(manifest_of(lists, restrictions), one());
  }
}

TEST_CASE("a configuration stays when one problem takes it", "[search][search_space]") {
  const Manifest manifest =
      manifest_of({{"M", {8, 16, 32, 64}}, {"N", {1, 2, 4}}},
                  {"M * D <= 2048", "N <= Hq && dtype_bytes * M <= 128", "N < 3 || causal == 0"});
  const Suite suite = suite_of_texts({"B=1 Hq=4 Sq=64 D=32 f32 causal=top_left",
                                      "B=1 Hq=1 Sq=64 D=64 f16", "B=1 Hq=4 Sq=99 D=256 f16"});
  check_against_brute_force(manifest, suite);

  SECTION("held-out problems and those outside the manifest do not count") {
    Suite held = suite;
    held.problems[0].held_out = true;
    Suite less = suite;
    less.problems.erase(less.problems.begin());
    CHECK(space_of(manifest, held).size() == space_of(manifest, less).size());
    Manifest narrow = manifest;
    narrow.support.dtypes = {Dtype::f16};
    CHECK(space_of(narrow, suite).size() == space_of(manifest, less).size());
    narrow.support.dtypes = {Dtype::bf16};
    CHECK(refused(narrow, suite).find("takes no problem of few") != std::string::npos);
  }
}

TEST_CASE("indices that are not there are refused", "[search][search_space]") {
  const SearchSpace space = space_of(manifest_of({{"A", {1, 2}}, {"B", {3, 4}}}, {"A + B < 6"}));
  CHECK(space.size() == 3);
  CHECK(space.unrestricted_size() == 4);
  CHECK_THROWS_AS(space.at(3), std::out_of_range);
  CHECK_THROWS_AS(space.neighbors(3, Neighborhood::adjacent), std::out_of_range);
  CHECK_FALSE(space.find({{"A", 2}, {"B", 4}}));
  CHECK_FALSE(space.find({{"A", 7}, {"B", 4}}));
  CHECK_FALSE(space.find({{"A", 1}}));
  CHECK_FALSE(space.find({{"A", 1}, {"C", 3}}));
}

TEST_CASE("neighbors differ in one parameter and are valid", "[search][search_space]") {
  const SearchSpace space =
      space_of(manifest_of({{"A", range(1, 5)}, {"B", {2, 4, 8}}}, {"A != 3 || B == 8"}));
  const auto at = [&](std::int64_t a, std::int64_t b) {
    return space.find({{"A", a}, {"B", b}}).value();
  };
  using Indices = std::vector<SearchSpace::Index>;
  // A=3 is not valid with B=4: the next one is the neighbor.
  CHECK(space.neighbors(at(2, 4), Neighborhood::adjacent) ==
        Indices{at(1, 4), at(4, 4), at(2, 2), at(2, 8)});
  CHECK(space.neighbors(at(2, 4), Neighborhood::one_parameter) ==
        Indices{at(1, 4), at(4, 4), at(5, 4), at(2, 2), at(2, 8)});
  // Being a neighbor is mutual.
  for (SearchSpace::Index i = 0; i < space.size(); ++i) {
    for (const auto kind : {Neighborhood::adjacent, Neighborhood::one_parameter}) {
      for (const SearchSpace::Index j : space.neighbors(i, kind)) {
        const auto back = space.neighbors(j, kind);
        CHECK(std::count(back.begin(), back.end(), i) == 1);
        CHECK(i != j);
      }
    }
  }
}

TEST_CASE("bad spaces are refused by name", "[search][search_space]") {
  CHECK(refused(manifest_of({})).find("no tunable parameters") != std::string::npos);
  CHECK(refused(manifest_of({{"A", {}}})).find("A has no values") != std::string::npos);
  CHECK(refused(manifest_of({{"A", {4, 1, 4}}})).find("A lists 4 twice") != std::string::npos);
  CHECK(refused(manifest_of({{"A", {1}}}, {"A < X"})).find("asks for X") != std::string::npos);
  CHECK(refused(manifest_of({{"A", {1}}}, {"A <"})).find("restriction") != std::string::npos);
  CHECK(refused(manifest_of({{"A", {0, 1}}}, {"4 % A == 0"}))
            .find("\"4 % A == 0\" gives no answer at A=0: division by zero") != std::string::npos);
  // Also when the part that fails is bound before the rest.
  CHECK(refused(manifest_of({{"A", {0, 1}}, {"B", {2, 3}}}, {"4 % A == 0 && B > 2"}))
            .find("gives no answer") != std::string::npos);
  CHECK(refused(manifest_of({{"A", {1}}}), Suite{}).find("held out") != std::string::npos);
}

TEST_CASE("the restriction that removed the last points is named", "[search][search_space]") {
  const auto lists =
      std::map<std::string, std::vector<std::int64_t>>{{"A", range(1, 10)}, {"B", range(1, 10)}};
  const auto alone = refused(manifest_of(lists, {"A <= 10", "A * B > 100", "B > 3"}));
  CHECK(alone.find("\"A * B > 100\" holds for none of the 100 points (of 100)") !=
        std::string::npos);
  const auto together = refused(manifest_of(lists, {"A > 8", "B > A", "A + B < 12"}));
  CHECK(together.find("\"A + B < 12\" holds for none of the 1 points (of 100)") !=
        std::string::npos);
  CHECK(refused(manifest_of(lists, {"1 == 2"})).find("none of the 100 points on") !=
        std::string::npos);
  CHECK(refused(manifest_of(lists, {"A * D > 1000"})).find("D=32") != std::string::npos);
}

TEST_CASE("ten million points and more are counted, not listed", "[search][search_space]") {
  std::map<std::string, std::vector<std::int64_t>> lists;
  for (const char* name : {"A", "B", "C", "D2", "E", "F", "G"}) lists[name] = range(1, 10);
  SECTION("no restriction") {
    const SearchSpace space = space_of(manifest_of(lists));
    CHECK(space.size() == 10'000'000);
    CHECK(space.node_count() < 20);
    CHECK(space.find(space.at(9'876'543)) == 9'876'543u);
  }
  SECTION("chains") {
    const SearchSpace space = space_of(
        manifest_of(lists, {"A <= B && B <= C", "C * D2 <= 50", "E % F == 0", "G + A < 12"}));
    CHECK(space.size() > 10'000);
    CHECK(space.node_count() < 500);
    for (SearchSpace::Index i = 0; i < space.size(); i += space.size() / 997) {
      const Configuration at = space.at(i);
      REQUIRE(at.at("A") <= at.at("B"));
      REQUIRE(at.at("B") <= at.at("C"));
      REQUIRE(at.at("C") * at.at("D2") <= 50);
      REQUIRE(at.at("E") % at.at("F") == 0);
      REQUIRE(at.at("G") + at.at("A") < 12);
      REQUIRE(space.find(at) == i);
      REQUIRE(space.neighbors(i, Neighborhood::one_parameter).size() <= 63);
    }
  }
  SECTION("one restriction over all seven parameters") {
    const SearchSpace space = space_of(manifest_of(lists, {"A + B + C + D2 + E + F + G <= 38"}));
    // The sum of seven values is symmetric around 38.5, so half of the points stay.
    CHECK(space.size() == 5'000'000);
    CHECK(space.node_count() < 1'000);
    CHECK(space.find(space.at(4'999'999)) == 4'999'999u);
  }
  SECTION("a trillion") {
    for (const char* name : {"H", "I", "J", "K", "L"}) lists[name] = range(1, 10);
    const SearchSpace space = space_of(manifest_of(lists, {"A < L"}));
    CHECK(space.size() == 450'000'000'000);
    CHECK(space.find(space.at(123'456'789'012)) == 123'456'789'012u);
  }
}

TEST_CASE("a space that cannot be solved in time or counted says so", "[search][search_space]") {
  std::map<std::string, std::vector<std::int64_t>> lists;
  for (int i = 0; i < 20; ++i) lists["P" + std::to_string(i)] = range(1, 10);
  CHECK(refused(manifest_of(lists)).find("2^62") != std::string::npos);
}
