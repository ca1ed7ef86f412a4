// SPDX-License-Identifier: MIT
#include <algorithm>

#include "catalogue/ideas.hpp"
#include "catalogue/techniques.hpp"
#include "core/json.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

using namespace wb;
using namespace wb::catalogue;
using namespace wb::variant;

namespace {

Json plain_idea() {
  return {{"id", "three_stages"},
          {"title", "a third stage"},
          {"backends", {"cuda"}},
          {"source", "a test"}};
}

std::string refusal_of(const std::string& key, Json value) {
  Json entry = plain_idea();
  entry[key] = std::move(value);
  const auto idea = read_idea(entry, "an idea");
  return idea.ok() ? std::string() : idea.error().message();
}

Idea idea_from(Json more) {
  Json entry = plain_idea();
  entry.update(more);
  auto idea = read_idea(entry, "an idea");
  REQUIRE(idea.ok());
  return *idea;
}

problem::Problem problem_of(const char* text) {
  return *problem::parse_problem(text);
}

}  // namespace

TEST_CASE("the shipped register names kernels and techniques that exist, and no figure as its own",
          "[catalogue][ideas]") {
  const SearchPath path{{source_dir()}};
  const auto ideas = load_ideas(RealFileSystem(), path);
  INFO((ideas.ok() ? std::string() : ideas.error().message()));
  REQUIRE(ideas.ok());
  CHECK(ideas->size() > 50);
  const auto kernels = Catalogue(RealFileSystem(), path).list();
  const auto exists = [&kernels](const std::string& name) {
    return std::any_of(kernels.begin(), kernels.end(),
                       [&](const Catalogue::Entry& one) { return one.name == name; });
  };
  for (const Idea& idea : *ideas) {
    INFO(idea.id);
    CHECK_FALSE(idea.helps.empty());
    CHECK_FALSE(idea.family.empty());
    CHECK((idea.has.empty() || exists(idea.has)));
    for (const std::string& kernel : idea.kernels) CHECK(exists(kernel));
    for (const std::string& name : cited_sessions(idea.source)) {
      CHECK(fs::exists(source_dir() / "sessions" / (name + ".md")));
    }
    // What turns it on is a parameter with that value in one of its kernels at least.
    const bool is_possible =
        idea.parameters.empty() ||
        std::any_of(idea.kernels.begin(), idea.kernels.end(), [&](const std::string& kernel) {
          const auto text =
              *RealFileSystem().read(source_dir() / "kernels" / kernel / "kernel.json", 1 << 20);
          const auto manifest = *parse_manifest(text, kernel);
          return std::all_of(idea.parameters.begin(), idea.parameters.end(), [&](const auto& one) {
            const auto values = manifest.tune_params.find(one.first);
            return values != manifest.tune_params.end() &&
                   std::count(values->second.begin(), values->second.end(), one.second) == 1;
          });
        });
    CHECK(is_possible);
    const auto again = read_idea(to_json(idea), "again");
    REQUIRE(again.ok());
    CHECK(to_json(*again) == to_json(idea));
    CHECK_FALSE(to_json(idea).contains("effect"));
  }
}

TEST_CASE("an idea that says nothing, or what nobody knows, is refused", "[catalogue][ideas]") {
  REQUIRE(read_idea(plain_idea(), "an idea").ok());
  CHECK(refusal_of("id", "Three Stages").find("lower-case") != std::string::npos);
  CHECK(refusal_of("title", "").find("title") != std::string::npos);
  CHECK(refusal_of("source", "").find("source") != std::string::npos);
  CHECK(refusal_of("technique", "magic").find("magic") != std::string::npos);
  CHECK(refusal_of("state", "great").find("great") != std::string::npos);
  CHECK(refusal_of("by", "nobody").find("nobody") != std::string::npos);
  CHECK(refusal_of("backends", Json::array()).find("backends") != std::string::npos);
  CHECK(refusal_of("D", {128, 64}).find("at least 1") != std::string::npos);
  CHECK(refusal_of("Sq", "64").find("[least, most]") != std::string::npos);
  CHECK(refusal_of("parameters", {1, 2}).find("whole numbers") != std::string::npos);
  CHECK(refusal_of("parameters", {{"A", 1.5}}).find("whole numbers") != std::string::npos);
  CHECK(refusal_of("since", "last week").find("YYYY-MM-DD") != std::string::npos);
  CHECK(refusal_of("architecture_from", "hopper").find("sm_90") != std::string::npos);
  CHECK(refusal_of("when", "colour == 3").find("colour") != std::string::npos);
  CHECK(refusal_of("effect", 1.3).find("effect") != std::string::npos);  // folded, never stored
  const Json twice{{"version", 1}, {"ideas", {plain_idea(), plain_idea()}}};
  CHECK_FALSE(parse_ideas(twice.dump(), "ideas.json").ok());
  CHECK_FALSE(parse_ideas("{", "ideas.json").ok());
}

TEST_CASE("a scope covers problems by device, dtype, sizes and predicate", "[catalogue][ideas]") {
  const Idea idea = idea_from({{"device", "h200"},
                               {"architecture_from", "sm_90"},
                               {"dtypes", {"f16"}},
                               {"D", {64, 128}},
                               {"Sq", {128, 4096}},
                               {"when", "causal != 0"}});
  const auto inside = problem_of("B=1 Hq=8 Sq=512 D=64 f16 causal=top_left");
  const IdeaScope& scope = idea.scope;
  CHECK(covers(scope, "NVIDIA H200", "sm_90", inside));
  CHECK_FALSE(covers(scope, "NVIDIA H100", "sm_90", inside));
  CHECK_FALSE(covers(scope, "NVIDIA H200", "sm_80", inside));
  CHECK_FALSE(covers(scope, "NVIDIA H200", "", inside));
  for (const char* outside :
       {"B=1 Hq=8 Sq=512 D=64 bf16 causal=top_left", "B=1 Hq=8 Sq=512 D=64 f16",
        "B=1 Hq=8 Sq=512 D=256 f16 causal=top_left", "B=1 Hq=8 Sq=64 D=64 f16 causal=top_left"}) {
    INFO(outside);
    CHECK_FALSE(covers(scope, "NVIDIA H200", "sm_90", problem_of(outside)));
  }
}

TEST_CASE("a source names sessions by their whole names", "[catalogue][ideas]") {
  const std::string source = "1.01 (sessions/hopper-prefill-ends), 2x by sessions/ladder; page";
  CHECK(cited_sessions(source) == std::vector<std::string>{"hopper-prefill-ends", "ladder"});
  CHECK(cites_session(source, "hopper-prefill-ends"));
  CHECK_FALSE(cites_session(source, "hopper-prefill"));
  CHECK(cited_sessions("sessions/").empty());
}

TEST_CASE("the user's ideas are kept beside the shipped ones", "[catalogue][ideas]") {
  const TempDirectory folder = *TempDirectory::create("wb-ideas");
  RealFileSystem files;
  const fs::path root = folder.path() / "data";
  CHECK(load_users_ideas(files, root)->empty());
  REQUIRE(add_users_ideas(files, root, {idea_from({{"parameters", {{"STAGES", 3}}}})}).ok());
  REQUIRE(add_users_ideas(files, root, {idea_from({{"id", "four_stages"}, {"pack", "x"}})}).ok());
  const auto ideas = *load_users_ideas(files, root);
  REQUIRE(ideas.size() == 2);
  CHECK(ideas[0].place == IdeaPlace::user);
  CHECK(ideas[0].parameters.at("STAGES") == 3);
  CHECK_FALSE(ideas[0].is_foreign());
  CHECK(ideas[1].is_foreign());
  const auto again = add_users_ideas(files, root, {idea_from(Json::object())});
  REQUIRE_FALSE(again.ok());
  CHECK(again.error().code == ErrorCode::invalid);
  const auto nowhere = add_users_ideas(files, {}, {idea_from(Json::object())});
  REQUIRE_FALSE(nowhere.ok());
  CHECK(nowhere.error().code == ErrorCode::usage);
  REQUIRE(files.write_atomic(ideas_file(root), "{", Durability::none).ok());
  CHECK_FALSE(load_users_ideas(files, root).ok());
}

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
