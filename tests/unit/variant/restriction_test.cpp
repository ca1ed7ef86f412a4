// SPDX-License-Identifier: MIT
#include "variant/restriction.hpp"

#include "kernel_folder.hpp"

using namespace wb;
using namespace wb::problem;
using namespace wb::variant;

namespace {

bool holds(const std::string& text, const std::map<std::string, std::int64_t>& values = {}) {
  INFO(text);
  const auto restriction = Restriction::parse(text);
  INFO((restriction.ok() ? std::string() : restriction.error().message()));
  REQUIRE(restriction.ok());
  const auto result = restriction->holds(values);
  REQUIRE(result.ok());
  return *result;
}

std::string fault(const std::string& text, const std::map<std::string, std::int64_t>& values = {}) {
  const auto restriction = Restriction::parse(text);
  REQUIRE(restriction.ok());
  const auto result = restriction->holds(values);
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().code == ErrorCode::invalid);
  return result.error().cause;
}

Manifest tiled_manifest() {
  auto manifest = parse_manifest(
      test::manifest_text("k", R"("tune_params": {"TILE_M": [16, 32, 64], "TILE_N": [32, 64]},
        "defaults": {"TILE_M": 16, "TILE_N": 32},
        "restrictions": ["TILE_M * TILE_N <= 2048", "TILE_M * D <= 4096 || Sq == 1"])"),
      "k/kernel.json");
  REQUIRE(manifest.ok());
  return *std::move(manifest);
}

}  // namespace

TEST_CASE("expressions follow the precedence of C", "[variant][restriction]") {
  CHECK(holds("1 + 2 * 3 == 7"));
  CHECK(holds("(1 + 2) * 3 == 9"));
  CHECK(holds("10 - 4 - 3 == 3"));
  CHECK(holds("64 / 4 / 2 == 8"));
  CHECK(holds("7 % 4 * 2 == 6"));
  CHECK(holds("-3 * -2 == 6"));
  CHECK(holds("- 7 / 2 == -3"));
  CHECK(holds("1 || 0 && 0"));
  CHECK_FALSE(holds("(1 || 0) && 0"));
  CHECK(holds("!0 && !!5"));
  CHECK(holds("1 + 1 < 3 && 3 <= 3 && 4 > 3 && 3 >= 3 && 1 != 2"));
  CHECK(holds("5"));
  CHECK_FALSE(holds("0"));
  CHECK(
      holds("TILE_M * D <= 8192 && TILE_N % 8 == 0", {{"TILE_M", 64}, {"D", 128}, {"TILE_N", 8}}));
}

TEST_CASE("&& and || stop early", "[variant][restriction]") {
  CHECK_FALSE(holds("0 && 1 / 0"));
  CHECK(holds("1 || 1 / 0"));
  CHECK(fault("1 && 1 / 0") == "division by zero");
}

TEST_CASE("evaluation faults are values", "[variant][restriction][hostile]") {
  CHECK(fault("A < 1").find("A") != std::string::npos);
  CHECK(fault("1 % 0") == "division by zero");
  CHECK(fault("9223372036854775807 + 1").find("overflow") != std::string::npos);
  CHECK(fault("9223372036854775807 * 2").find("overflow") != std::string::npos);
  CHECK(fault("-9223372036854775807 - 2").find("overflow") != std::string::npos);
  CHECK(fault("A / -1", {{"A", INT64_MIN}}).find("overflow") != std::string::npos);
  CHECK(fault("-A", {{"A", INT64_MIN}}).find("overflow") != std::string::npos);
  CHECK_FALSE(holds("A % -1", {{"A", INT64_MIN}}));
}

TEST_CASE("text that is no expression is refused", "[variant][restriction][hostile]") {
  for (const std::string& text :
       {std::string(), std::string("   "), std::string("1 +"), std::string("(1"), std::string("1)"),
        std::string("1 2"), std::string("a = 1"), std::string("1 < 2 < 3"), std::string("a & b"),
        std::string("12x"), std::string("a.b"), std::string("f(1)"), std::string("\"x\""),
        std::string("9223372036854775808"), std::string("a\0b", 3), std::string(2000, '1'),
        std::string(500, '(') + "1" + std::string(500, ')'), std::string(900, '!') + "1"}) {
    INFO(text.substr(0, 40));
    const auto restriction = Restriction::parse(text);
    REQUIRE_FALSE(restriction.ok());
    CHECK(restriction.error().code == ErrorCode::parse);
  }
  std::string chain = "1";
  for (int i = 0; i < 400; ++i) chain += "+1";
  CHECK_FALSE(Restriction::parse(chain).ok());
}

TEST_CASE("names are listed once and sorted", "[variant][restriction]") {
  const auto restriction = Restriction::parse("TILE_N * D < TILE_M + D && !Sq");
  REQUIRE(restriction.ok());
  CHECK(restriction->names() == std::vector<std::string>{"D", "Sq", "TILE_M", "TILE_N"});
}

TEST_CASE("configurations are completed and checked", "[variant][restriction]") {
  const Manifest manifest = tiled_manifest();
  const auto complete = complete_configuration(manifest, {{"TILE_M", 64}});
  REQUIRE(complete.ok());
  CHECK(to_text(*complete) == "TILE_M=64 TILE_N=32");

  const auto unknown = complete_configuration(manifest, {{"TILE_K", 1}});
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().code == ErrorCode::not_found);
  CHECK(unknown.error().next.find("did you mean TILE_") != std::string::npos);

  const auto unlisted = complete_configuration(manifest, {{"TILE_M", 17}});
  REQUIRE_FALSE(unlisted.ok());
  CHECK(unlisted.error().code == ErrorCode::invalid);
  CHECK(unlisted.error().next.find("16, 32, 64") != std::string::npos);
}

TEST_CASE("the first broken restriction is named", "[variant][restriction]") {
  const Manifest manifest = tiled_manifest();
  const auto violated = [&](const Configuration& configuration, const std::string& text) {
    const auto problem = parse_problem(text);
    REQUIRE(problem.ok());
    const auto result = violated_restriction(manifest, configuration, &*problem);
    REQUIRE(result.ok());
    return result->value_or("");
  };
  CHECK(violated({}, "B=1 Hq=1 Sq=64 D=64 f16").empty());
  CHECK(violated({{"TILE_M", 64}, {"TILE_N", 64}}, "B=1 Hq=1 Sq=64 D=64 f16") ==
        "TILE_M * TILE_N <= 2048");
  CHECK(violated({{"TILE_M", 64}}, "B=1 Hq=1 Sq=64 D=128 f16") == "TILE_M * D <= 4096 || Sq == 1");
  CHECK(violated({{"TILE_M", 64}}, "B=1 Hq=1 Sq=1 Skv=64 D=128 f16").empty());

  SECTION("without a problem only the parameters are judged") {
    const auto broken = violated_restriction(manifest, {{"TILE_M", 64}, {"TILE_N", 64}}, nullptr);
    REQUIRE(broken.ok());
    CHECK(broken->value_or("") == "TILE_M * TILE_N <= 2048");
    const auto fine = violated_restriction(manifest, {{"TILE_M", 64}}, nullptr);
    REQUIRE(fine.ok());
    CHECK_FALSE(fine->has_value());
  }
}

TEST_CASE("problem values cover size, dtype, causal and mask", "[variant][restriction]") {
  const auto problem = parse_problem(
      "B=2 Hq=8 Hkv=4 Sq=3 Skv=5 D=64 Dv=32 bf16 causal=bottom_right "
      "mask=additive");
  REQUIRE(problem.ok());
  const auto values = problem_values(*problem);
  CHECK(values.at("Hkv") == 4);
  CHECK(values.at("Dv") == 32);
  CHECK(values.at("dtype_bytes") == 2);
  CHECK(values.at("causal") == 2);
  CHECK(values.at("mask") == 2);
  CHECK(is_problem_name("Skv"));
  CHECK_FALSE(is_problem_name("TILE_M"));
}
