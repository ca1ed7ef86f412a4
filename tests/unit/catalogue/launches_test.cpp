// SPDX-License-Identifier: MIT
// kernels/launches.json: bounds of launches by the rules that are shipped, worked out by hand from
// the kernels' host code for an H200 of 132 SMs, and on which units a kernel makes f32 products.
#include "catalogue/launches.hpp"

#include <algorithm>

#include "core/json.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "variant/restriction.hpp"

using namespace wb;
using namespace wb::catalogue;
using namespace wb::problem;
using namespace wb::variant;

namespace {

constexpr std::int64_t k_sms = 132;

const std::vector<LaunchRule>& shipped() {
  static const std::vector<LaunchRule> rules =
      *load_launches(RealFileSystem(), {{fs::path(source_dir())}});
  return rules;
}

LaunchBounds bounds(const char* kernel, const char* problem, const Configuration& configuration) {
  const LaunchRule* rule = find_rule(shipped(), kernel);
  REQUIRE(rule != nullptr);
  const auto found = bounds_of(*rule, configuration, *parse_problem(problem), k_sms);
  INFO(kernel << " on " << problem);
  REQUIRE(found.has_value());
  return *found;
}

const Configuration k_large_hdim{{"BLOCK_ROWS", 0}, {"CLUSTER_RANKS", 0}, {"EARLY_START", 1}};
const Configuration k_few_rows{
    {"CLUSTER_RANKS", 0}, {"MERGED_CLUSTERS", 0}, {"TILE_INDEX", -1}, {"KEEP_MB", 28}};

std::string rule_with(const std::string& member) {
  return R"({"version": 1, "about": "a", "launches": [{"kernel": "mine", "rows": ["1", "1"], )" +
         member + "}]}";
}

Manifest manifest_of(std::vector<Dtype> dtypes, std::vector<std::string> techniques) {
  Manifest manifest;
  manifest.name = "mine";
  manifest.backend = Backend::cuda;
  manifest.support.dtypes = std::move(dtypes);
  manifest.techniques = std::move(techniques);
  return manifest;
}

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
  return bounds_of(*rule, configuration, problem::parse_problem(problem).value(), k_sms);
}

std::string refusal_of_rule(const Json& rule) {
  const Json file{{"version", 1}, {"about", "a test"}, {"launches", Json::array({rule})}};
  const auto parsed = parse_launches(file.dump(), "launches.json");
  REQUIRE_FALSE(parsed.ok());
  return parsed.error().message();
}

}  // namespace

TEST_CASE("clusters of a large head dim take the fewest rows that all find places",
          "[catalogue][launches]") {
  // 8 blocks a cluster and 15 places: 32 rows make 8 clusters, 16 rows 16.
  const auto small = bounds("sm90_cluster_large_hdim", "B=1 Hq=4 Sq=64 D=512 f32", k_large_hdim);
  CHECK(small.rows_least == 32);
  CHECK(small.rows_most == 32);
  CHECK(small.blocks_least == 64);
  CHECK(small.blocks_most == 64);
  // 16 blocks a cluster and 7 places; whether 64 rows fit depends on the shape.
  const auto wide = bounds("sm90_cluster_large_hdim", "B=1 Hq=4 Sq=64 D=2048 f32", k_large_hdim);
  CHECK(wide.rows_least == 32);
  CHECK(wide.rows_most == 64);
  CHECK(wide.blocks_least == 64);
  CHECK(wide.blocks_most == 128);
  const auto widest = bounds("sm90_cluster_large_hdim", "B=1 Hq=1 Sq=16 D=8192 f32", k_large_hdim);
  CHECK(widest.rows_most == 8);
  CHECK(widest.blocks_most == 32);
  // A configuration that sets them is taken by its word.
  const auto set = bounds("sm90_cluster_large_hdim", "B=1 Hq=4 Sq=64 D=512 f32",
                          {{"BLOCK_ROWS", 16}, {"CLUSTER_RANKS", 16}, {"EARLY_START", 1}});
  CHECK(set.rows_least == 16);
  CHECK(set.rows_most == 16);
  CHECK(set.blocks_most == 4 * 4 * 16);
}

TEST_CASE("few rows split the keys over the SMs that are left, in one wave",
          "[catalogue][launches]") {
  // 8 heads of 512 packed rows: 64 tiles, and two parts of each find SMs.
  const auto half =
      bounds("sm90_wgmma_flash", "B=1 Hq=32 Hkv=8 Sq=128 Skv=8192 D=128 bf16", k_few_rows);
  CHECK(half.rows_most == 64);
  CHECK(half.blocks_least == 128);
  CHECK(half.blocks_most == 128);
  const auto full =
      bounds("sm90_wgmma_flash", "B=1 Hq=64 Hkv=8 Sq=128 Skv=8192 D=128 bf16", k_few_rows);
  CHECK(full.blocks_least == 128);
  CHECK(full.blocks_most == 128);
  CHECK(full.parts_most == 1);
  const auto many = bounds("sm90_wgmma_flash", "B=8 Hq=32 Sq=1024 Skv=1024 D=64 f16", k_few_rows);
  CHECK(many.rows_least == 64);
  CHECK(many.rows_most == 128);
  CHECK(many.parts_most == 1);
  CHECK(many.blocks_least == 2048);
  // A tile or a split that somebody sets may be any.
  Configuration forced = k_few_rows;
  forced["CLUSTER_RANKS"] = 8;
  CHECK(
      bounds("sm90_wgmma_flash", "B=1 Hq=64 Hkv=8 Sq=128 Skv=8192 D=128 bf16", forced).parts_most >
      8);
}

TEST_CASE("the kernel of split f32 has a block of 128 rows for each tile",
          "[catalogue][launches]") {
  const auto split = bounds("sm90_f16x3_flash", "B=4 Hq=16 Sq=1024 D=64 f32",
                            {{"PERSISTENT", 1}, {"PING_PONG", 1}, {"EARLY_START", 1}});
  CHECK(split.blocks_least == 512);
  CHECK(split.blocks_most == 512);
  CHECK(split.threads_most == 384);
}

TEST_CASE("a rule or a manifest tells the units of f32 products", "[catalogue][launches]") {
  const auto of_rule = [](const char* kernel) {
    return split_products(manifest_of({}, {}), {}, find_rule(shipped(), kernel));
  };
  CHECK(of_rule("sm90_f16x3_flash") == device::SplitProducts{"f16", 3});
  CHECK(of_rule("sm90_cluster_large_hdim") == device::SplitProducts{"tf32", 3});
  CHECK_FALSE(of_rule("sm80_tiled_flash").has_value());
  CHECK(find_rule(shipped(), "no_such_kernel") == nullptr);
  // Tensor cores of a kernel that takes f32 only: three products of tf32, else its verdict fails.
  CHECK(split_products(manifest_of({Dtype::f32}, {"tensor_core_mma"}), {}, nullptr) ==
        device::SplitProducts{"tf32", 3});
  // One that takes f16, too, may use them there alone.
  CHECK_FALSE(
      split_products(manifest_of({Dtype::f32, Dtype::f16}, {"tensor_core_mma"}), {}, nullptr)
          .has_value());
  CHECK_FALSE(split_products(manifest_of({Dtype::f32}, {"query_tiling"}), {}, nullptr).has_value());
  Manifest cpu = manifest_of({Dtype::f32}, {"tensor_core_mma"});
  cpu.backend = Backend::cpu;
  CHECK_FALSE(split_products(cpu, {}, nullptr).has_value());
}

TEST_CASE("products that no units make are refused by name", "[catalogue][launches][hostile]") {
  CHECK(parse_launches(rule_with(R"("products": ["bf16", 6])"), "mine.json").ok());
  for (const char* bad :
       {R"("products": ["f64", 3])", R"("products": ["f16", 0])", R"("products": ["f16"])",
        R"("products": 3)", R"("products": ["f16", 2.5])"}) {
    const auto refused = parse_launches(rule_with(bad), "mine.json");
    INFO(bad);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().message().find("products") != std::string::npos);
  }
}

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
    const auto bounds = bounds_of(rule, *configuration, problem, k_sms);
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
