// SPDX-License-Identifier: MIT
#include "catalogue/dispatch.hpp"
#include "catalogue/loops.hpp"
#include "core/json.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "variant/manifest.hpp"
#include "variant/restriction.hpp"
#include "variant/variant.hpp"

using namespace wb;
using namespace wb::catalogue;
using namespace wb::problem;
using namespace wb::variant;

namespace {

const std::string k_id(64, 'a');

std::string rule(const std::string& members) {
  return "{" + members + R"(, "artifact_id": ")" + k_id + R"(", "session": "2026-01-01-x"})";
}
std::string table(const std::string& rules) {
  return R"({"version": 1, "rules": [)" + rules + "]}";
}
const std::string k_fallback = R"({"variant": "cpu_tiled"})";

std::string refusal(const std::string& text) {
  const auto parsed = parse_dispatch(text, "dispatch.json");
  REQUIRE_FALSE(parsed.ok());
  return parsed.error().message();
}

}  // namespace

TEST_CASE("the first rule that takes device, dtype and problem wins", "[catalogue][dispatch]") {
  const auto parsed = parse_dispatch(
      table(rule(R"("device": "h200", "when": "Sq == 1 && Skv >= 4096", "variant": "sm90_decode",
                    "configuration": {"SPLITS": 8})") +
            "," + rule(R"("device": "H200", "dtypes": ["bf16"], "variant": "sm90_prefill")") + "," +
            k_fallback),
      "dispatch.json");
  INFO((parsed.ok() ? std::string() : parsed.error().message()));
  REQUIRE(parsed.ok());
  const auto chosen = [&](const std::string& device, const std::string& text) {
    const auto problem = parse_problem(text);
    REQUIRE(problem.ok());
    const auto result = choose(*parsed, device, *problem);
    REQUIRE(result.ok());
    return *result;
  };
  const auto decode = chosen("NVIDIA H200", "B=1 Hq=8 Sq=1 Skv=8192 D=128 f16");
  CHECK(decode.variant == "sm90_decode");
  CHECK(decode.configuration.at("SPLITS") == 8);
  CHECK(chosen("NVIDIA H200", "B=1 Hq=8 Sq=128 D=128 bf16").variant == "sm90_prefill");
  CHECK(chosen("NVIDIA H200", "B=1 Hq=8 Sq=128 D=128 f16").variant == "cpu_tiled");
  CHECK(chosen("AMD EPYC", "B=1 Hq=8 Sq=1 Skv=8192 D=128 f16").variant == "cpu_tiled");
}

TEST_CASE("tables that could not be trusted are refused", "[catalogue][dispatch][hostile]") {
  CHECK(refusal(table("")).find("rules") != std::string::npos);
  CHECK(refusal(table(rule(R"("when": "Sq == 1", "variant": "k")"))).find("last rule") !=
        std::string::npos);
  CHECK(refusal(table(rule(R"("device": "x", "variant": "k")"))).find("last rule") !=
        std::string::npos);
  CHECK(refusal(table(k_fallback + "," + k_fallback)).find("never reached") != std::string::npos);
  CHECK(
      refusal(table(R"({"when": "Sq == 1", "variant": "k"},)" + k_fallback)).find("artifact_id") !=
      std::string::npos);
  CHECK(refusal(table(rule(R"("when": "Sq ==", "variant": "k")") + "," + k_fallback))
            .find("rule 1") != std::string::npos);
  CHECK(refusal(table(rule(R"("when": "TILE_M == 1", "variant": "k")") + "," + k_fallback))
            .find("TILE_M") != std::string::npos);
  CHECK(refusal(table(R"({"variant": "../k"})")).find("kernel name") != std::string::npos);
  CHECK(refusal(table(R"({"variant": "k", "configuration": {"A": "1"}})")).find("not an integer") !=
        std::string::npos);
  CHECK(refusal(table(R"({"variant": "k", "artifact_id": "abc"})")).find("64 hex") !=
        std::string::npos);
  CHECK(refusal(table(R"({"variant": "k", "dtypes": ["f64"]})")).find("f64") != std::string::npos);
  CHECK(refusal(table(R"({"variant": "k", "extra": 1})")).find("extra") != std::string::npos);
  CHECK(refusal(R"({"version": 2, "rules": [{"variant": "k"}]})").find("version") !=
        std::string::npos);
  CHECK(refusal(R"({"version": 1, "rules": 3})").find("rules") != std::string::npos);
  refusal("[]");
  refusal("{");
}

TEST_CASE("a predicate that cannot be evaluated is an error", "[catalogue][dispatch]") {
  const auto parsed = parse_dispatch(
      table(rule(R"("when": "Skv / (Sq - 1) > 2", "variant": "k")") + "," + k_fallback), "d");
  REQUIRE(parsed.ok());
  const auto problem = parse_problem("B=1 Hq=1 Sq=1 Skv=8 D=8 f32");
  REQUIRE(problem.ok());
  const auto chosen = choose(*parsed, "x", *problem);
  REQUIRE_FALSE(chosen.ok());
  CHECK(chosen.error().message().find("division by zero") != std::string::npos);
}

TEST_CASE("the table that ships is valid and its kernels exist", "[catalogue][dispatch]") {
  RealFileSystem file_system;
  const fs::path root = source_dir();
  const auto text = file_system.read(root / "kernels/dispatch.json", 1u << 20);
  REQUIRE(text.ok());
  const auto parsed = parse_dispatch(*text, "kernels/dispatch.json");
  INFO((parsed.ok() ? std::string() : parsed.error().message()));
  REQUIRE(parsed.ok());
  const Catalogue catalogue(file_system, {{root}});
  for (const DispatchRule& rule : parsed->rules) {
    INFO(rule.variant);
    const auto variant = catalogue.find(rule.variant);
    REQUIRE(variant.ok());
    CHECK(complete_configuration(variant->manifest, rule.configuration).ok());
  }
  CHECK(parsed->rules.back().variant == "cpu_tiled");
}

namespace {

Json whole_file() {
  return Json::parse(*RealFileSystem().read(source_dir() / "kernels" / "loops.json", 1 << 20));
}

std::string refusal_of(const Json& file) {
  const auto parsed = parse_loops(file.dump(), "loops.json");
  REQUIRE_FALSE(parsed.ok());
  return parsed.error().message();
}

std::string family_of(const std::string& kernel, const Configuration& configuration = {}) {
  const SearchPath path{{source_dir()}};
  const RealFileSystem files;
  const auto families = load_loops(files, path);
  REQUIRE(families.ok());
  const auto variant = Catalogue(files, path).find(kernel);
  REQUIRE(variant.ok());
  const LoopFamily* family = loop_of(*families, techniques_in(variant->manifest, configuration));
  return family == nullptr ? "" : family->id;
}

}  // namespace

TEST_CASE("kernels are of the loop that they have, by their configuration", "[catalogue][loops]") {
  CHECK(family_of("cpu_unfused") == "scores_in_memory");
  CHECK(family_of("sm80_query_per_block") == "query_per_block");
  CHECK(family_of("cpu_online") == "query_per_block");
  CHECK(family_of("sm80_sequential_kv") == "queries_outer");
  CHECK(family_of("sm90_wgmma_pingpong") == "queries_outer");
  CHECK(family_of("sm90_splitkv_decode") == "keys_split");
  CHECK(family_of("cpu_splitkv") == "keys_split");
  CHECK(family_of("sm80_tiled_flash") == "queries_outer");
  CHECK(family_of("sm80_tiled_flash", {{"SPLIT_KEYS", 256}}) == "keys_split");
  // What nobody here looked into is not guessed from its name.
  CHECK(family_of("torch_flash").empty());
}

TEST_CASE("a catalogue of loops that is wrong is refused with its place", "[catalogue][loops]") {
  const auto with = [](const char* key, const Json& value) {
    Json file = whole_file();
    file["loops"][1][key] = value;
    return file;
  };
  CHECK(refusal_of(with("has", {"no_such_word"})).find("no_such_word") != std::string::npos);
  CHECK(refusal_of(with("pros", Json::array())).find("pros") != std::string::npos);
  CHECK(refusal_of(with("grid", "")).find("loop 2") != std::string::npos);
  CHECK(refusal_of(with("gird", "x")).find("gird") != std::string::npos);
  CHECK(refusal_of(with("id", "keys_split")).find("there twice") != std::string::npos);
  CHECK(refusal_of({{"version", 1}}).find("no list") != std::string::npos);
  Json newer = whole_file();
  newer["version"] = 2;
  CHECK(parse_loops(newer.dump(), "loops.json").error().code == ErrorCode::too_new);
}
