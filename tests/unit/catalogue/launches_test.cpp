// SPDX-License-Identifier: MIT
#include "catalogue/launches.hpp"

#include <algorithm>

#include "core/json.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "variant/restriction.hpp"

using namespace wb;
using namespace wb::catalogue;
using namespace wb::variant;

namespace {

constexpr std::int64_t k_units = 132;

std::vector<LaunchRule> shipped_rules() {
  auto rules = load_launches(RealFileSystem(), {{source_dir()}});
  REQUIRE(rules.ok());
  return *std::move(rules);
}

std::optional<LaunchBounds> shipped_bounds(const std::string& kernel, Configuration configuration,
                                           const std::string& problem) {
  const auto rules = shipped_rules();
  const auto rule = std::find_if(rules.begin(), rules.end(),
                                 [&](const LaunchRule& one) { return one.kernel == kernel; });
  REQUIRE(rule != rules.end());
  return bounds_of(*rule, configuration, problem::parse_problem(problem).value(), k_units);
}

std::string refusal_of_rule(const Json& rule) {
  const Json file{{"version", 1}, {"about", "a test"}, {"launches", Json::array({rule})}};
  const auto parsed = parse_launches(file.dump(), "launches.json");
  REQUIRE_FALSE(parsed.ok());
  return parsed.error().message();
}

}  // namespace

TEST_CASE("every shipped rule is of a kernel, and has values on a problem that it takes",
          "[catalogue][launches]") {
  const SearchPath path{{source_dir()}};
  const RealFileSystem files;
  for (const LaunchRule& rule : shipped_rules()) {
    INFO(rule.kernel);
    const auto variant = Catalogue(files, path).find(rule.kernel);
    REQUIRE(variant.ok());
    const Manifest& manifest = variant->manifest;
    const auto configuration = complete_configuration(manifest, {});
    REQUIRE(configuration.ok());
    const auto problem = problem::parse_problem("B=2 Hq=4 Sq=64 Skv=2048 D=64 f16").value();
    const auto bounds = bounds_of(rule, *configuration, problem, k_units);
    REQUIRE(bounds);
    CHECK(bounds->blocks_least >= 1);
    CHECK(bounds->blocks_least <= bounds->blocks_most);
    CHECK(bounds->rows_least <= bounds->rows_most);
    CHECK(bounds->rows_most <= 64);
    CHECK(bounds->working_frac > 0);
    CHECK(bounds->working_frac <= 1);
  }
}

TEST_CASE("blocks are those of all tiles of rows and parts of keys", "[catalogue][launches]") {
  const Configuration tiled{{"QUERIES", 64}, {"SPLIT_KEYS", 256}, {"WARPS", 4}, {"GRID", 1}};
  const auto split = shipped_bounds("sm80_tiled_flash", tiled, "B=2 Hq=4 Sq=100 Skv=1000 D=64 f16");
  REQUIRE(split);
  CHECK(split->blocks_least == 2 * 4 * 2 * 4);  // two tiles of rows, four parts of keys
  CHECK(split->blocks_most == split->blocks_least);
  CHECK(split->parts_most == 4);
  CHECK(split->threads_least == 128);
  CHECK(split->covers_heads);
  // A grid of one head only.
  Configuration one_head = tiled;
  one_head["GRID"] = 0;
  const auto serial =
      shipped_bounds("sm80_tiled_flash", one_head, "B=2 Hq=4 Sq=100 Skv=1000 D=64 f16");
  REQUIRE(serial);
  CHECK_FALSE(serial->covers_heads);
  CHECK(serial->blocks_most == 2 * 4);
  // Query heads of one key head share tiles; a block has no more rows than there are.
  const auto packed = shipped_bounds("sm90_splitkv_decode", {{"BLOCK_WARPS", 4}},
                                     "B=1 Hq=32 Hkv=8 Sq=1 Skv=4096 D=128 bf16");
  REQUIRE(packed);
  CHECK(packed->rows_most == 4);
  CHECK(packed->blocks_least == 8);
  CHECK(packed->blocks_most == 8 * 64);
}

TEST_CASE("a rule without a value says nothing", "[catalogue][launches]") {
  CHECK_FALSE(shipped_bounds("sm80_tiled_flash", {{"QUERIES", 64}}, "B=1 Hq=1 Sq=64 D=64 f16"));
  CHECK_FALSE(shipped_bounds("sm80_tiled_flash",
                             {{"QUERIES", 0}, {"SPLIT_KEYS", 0}, {"WARPS", 4}, {"GRID", 1}},
                             "B=1 Hq=1 Sq=64 D=64 f16"));
}

TEST_CASE("a wrong file of launch rules is refused with its place", "[catalogue][launches]") {
  const Json good{{"kernel", "k"}, {"rows", {"64", "128"}}};
  const auto with = [&](const char* key, const Json& value) {
    Json rule = good;
    rule[key] = value;
    return rule;
  };
  CHECK(refusal_of_rule({{"kernel", "k"}}).find("rows") != std::string::npos);
  CHECK(refusal_of_rule(with("rows", Json::array({"64"}))).find("the least and the most") !=
        std::string::npos);
  CHECK(refusal_of_rule(with("threads", {"64 +", "128"})).find("threads") != std::string::npos);
  CHECK(refusal_of_rule(with("resident", 101)).find("resident") != std::string::npos);
  CHECK(refusal_of_rule(with("warps", 4)).find("warps") != std::string::npos);
  const Json twice{{"version", 1}, {"about", "a test"}, {"launches", {good, good}}};
  CHECK_FALSE(parse_launches(twice.dump(), "launches.json").ok());
  CHECK_FALSE(parse_launches("[", "launches.json").ok());
  const auto empty = TempDirectory::create("wb-launches");
  REQUIRE(empty.ok());
  const auto none = load_launches(RealFileSystem(), {{empty->path()}});
  REQUIRE(none.ok());
  CHECK(none->empty());
}
