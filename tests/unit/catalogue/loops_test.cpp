// SPDX-License-Identifier: MIT
#include "catalogue/loops.hpp"

#include "core/json.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "variant/manifest.hpp"

using namespace wb;
using namespace wb::catalogue;
using namespace wb::variant;

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
