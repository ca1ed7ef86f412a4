// SPDX-License-Identifier: MIT
#include "catalogue/techniques.hpp"

#include <algorithm>

#include "core/json.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

using namespace wb;
using namespace wb::catalogue;
using namespace wb::variant;

namespace {

Json whole() {
  return Json::parse(*RealFileSystem().read(source_dir() / "kernels" / "techniques.json", 1 << 20));
}

std::string refusal(const Json& file) {
  const auto parsed = parse_techniques(file.dump(), "techniques.json");
  REQUIRE_FALSE(parsed.ok());
  return parsed.error().message();
}

/// The catalogue with one member of its first technique replaced.
Json with(const std::string& key, Json value) {
  Json file = whole();
  file["techniques"][0][key] = std::move(value);
  return file;
}

bool says(const std::string& message, const std::string& word) {
  UNSCOPED_INFO(message);
  return message.find(word) != std::string::npos;
}

}  // namespace

TEST_CASE("the catalogue has every technique, and none needs what comes to nothing",
          "[catalogue][techniques]") {
  const auto all = parse_techniques(whole().dump(), "techniques.json");
  INFO((all ? std::string("ok") : all.error().message()));
  REQUIRE(all.ok());
  CHECK(all->size() == known_techniques().size());
  const auto find = [&](const std::string& name) {
    return *std::find_if(all->begin(), all->end(),
                         [&](const Technique& one) { return one.name == name; });
  };
  for (const Technique& technique : *all) {
    INFO(technique.name);
    CHECK(technique.pros.size() > 3);
    CHECK(technique.cons.size() > 3);
    // What it needs exists wherever it does, and nothing needs itself, however far around.
    std::vector<std::string> seen, todo = technique.needs;
    while (!todo.empty()) {
      const std::string name = todo.back();
      todo.pop_back();
      CHECK(name != technique.name);
      if (std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
      seen.push_back(name);
      const Technique needed = find(name);
      for (const std::string& backend : technique.backends) {
        CHECK(std::count(needed.backends.begin(), needed.backends.end(), backend) == 1);
      }
      todo.insert(todo.end(), needed.needs.begin(), needed.needs.end());
    }
  }
}

TEST_CASE("a catalogue that breaks a rule is refused with the reason",
          "[catalogue][techniques][hostile]") {
  CHECK(says(refusal(with("name", "magic")), "magic"));
  CHECK(says(refusal(with("impact", Json{2, 1})), "low <= high"));
  CHECK(says(refusal(with("impact", Json{0, 1})), "0 < low"));
  CHECK(says(refusal(with("impact", "fast")), "[low, high]"));
  CHECK(says(refusal(with("impact", Json{1})), "[low, high]"));
  CHECK(says(refusal(with("impact_source", "")), "where it comes from"));
  CHECK(says(refusal(with("hours", Json{1, 1e9})), "hours"));
  CHECK(says(refusal(with("complexity", "immense")), "immense"));
  CHECK(says(refusal(with("backends", Json::array())), "backends"));
  CHECK(says(refusal(with("helps", Json{"luck"})), "luck"));
  CHECK(says(refusal(with("needs", Json{"magic"})), "magic"));
  CHECK(says(refusal(with("architecture_from", "hopper")), "sm_90"));
  CHECK(says(refusal(with("when", "Sq >")), "when"));
  CHECK(says(refusal(with("when", "TILE > 3")), "not a problem letter"));
  CHECK(says(refusal(with("dtypes", Json{"f64"})), "f64"));
  CHECK(says(refusal(with("surprise", 1)), "surprise"));
  Json file = whole();
  file["techniques"].erase(file["techniques"].begin());
  CHECK(says(refusal(file), "async_copy is missing"));
  file = whole();
  file["techniques"].push_back(file["techniques"][0]);
  CHECK(says(refusal(file), "twice"));
  file = whole();
  file["techniques"] = "none";
  CHECK(says(refusal(file), "no list"));
  file = whole();
  file["version"] = 2;
  CHECK(says(refusal(file), "newer"));
  CHECK_FALSE(parse_techniques("{", "techniques.json").ok());
  TempDirectory empty = *TempDirectory::create("wb-techniques-");
  const auto none = load_techniques(RealFileSystem(), SearchPath{{empty.path()}});
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == ErrorCode::not_found);
}

TEST_CASE("architectures compare by their number", "[catalogue][techniques]") {
  CHECK(is_at_least("sm_90a", "sm_90"));
  CHECK(is_at_least("sm_120", "sm_90"));
  CHECK(is_at_least("sm_80", "sm_80"));
  CHECK_FALSE(is_at_least("sm_89", "sm_90"));
  CHECK_FALSE(is_at_least("", "sm_80"));
  CHECK_FALSE(is_at_least("x86-64", "sm_80"));
  CHECK_FALSE(is_at_least("sm_90abc", "sm_80"));
  CHECK_FALSE(is_at_least("sm_", "sm_80"));
}
