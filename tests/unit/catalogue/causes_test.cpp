// SPDX-License-Identifier: MIT
#include "catalogue/causes.hpp"

#include <algorithm>
#include <limits>

#include "core/json.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

using namespace wb;
using namespace wb::catalogue;

namespace {

Json whole() {
  return Json::parse(*RealFileSystem().read(source_dir() / "kernels" / "causes.json", 1 << 20));
}

std::string refusal(const Json& file) {
  const auto parsed = parse_causes(file.dump(), "causes.json");
  REQUIRE_FALSE(parsed.ok());
  return parsed.error().message();
}

/// The catalogue with one member of its first cause replaced.
Json with(const std::string& key, Json value) {
  Json file = whole();
  file["causes"][0][key] = std::move(value);
  return file;
}

/// The same of its first rule.
Json with_rule(const std::string& key, Json value) {
  Json file = whole();
  file["causes"][0]["supported"][0][key] = std::move(value);
  return file;
}

bool says(const std::string& message, const std::string& word) {
  UNSCOPED_INFO(message);
  return message.find(word) != std::string::npos;
}

FigurePredicate predicate(PredicateOp op, Json value) {
  return {"figure", op, std::move(value)};
}

}  // namespace

TEST_CASE("the registry names the causes, each with a test, a way to decide it and a prediction",
          "[catalogue][causes]") {
  const auto all = parse_causes(whole().dump(), "causes.json");
  INFO((all ? std::string("ok") : all.error().message()));
  REQUIRE(all.ok());
  for (const char* id : {"under_utilisation", "sequential_kv", "grid_misses_heads",
                         "memory_bandwidth", "uncoalesced_access", "bank_conflicts",
                         "register_pressure", "thread_idleness", "tile_too_large", "launch_bound",
                         "tensor_cores_unused", "unwarmed_reference", "redundant_kv_loads"}) {
    INFO(id);
    CHECK(std::any_of(all->begin(), all->end(), [&](const Cause& one) { return one.id == id; }));
  }
  for (const Cause& cause : *all) {
    INFO(cause.id);
    CHECK(cause.theory.size() > 20);
    CHECK(cause.test.size() > 20);
    CHECK(cause.prediction.size() > 20);
    CHECK_FALSE(cause.supported.empty());
    CHECK_FALSE(cause.refuted.empty());
    CHECK_FALSE(cause.needs.empty());
  }
}

TEST_CASE("a registry that breaks a rule is refused with the reason",
          "[catalogue][causes][hostile]") {
  CHECK(says(refusal(with("id", "")), "id"));
  CHECK(says(refusal(with("id", "Too Few")), "a-z"));
  CHECK(says(refusal(with("id", "split_kv")), "the name of a technique"));
  CHECK(says(refusal(with("id", "sequential_kv")), "twice"));
  CHECK(says(refusal(with("theory", "")), "theory"));
  CHECK(says(refusal(with("backends", Json::array())), "backends"));
  CHECK(says(refusal(with("backends", {"tpu"})), "tpu"));
  CHECK(says(refusal(with("scope", "world")), "world"));
  CHECK(says(refusal(with("techniques", {"magic"})), "magic"));
  CHECK(says(refusal(with("dtypes", {"f8"})), "f8"));
  CHECK(says(refusal(with("when", "TILE_M > 1")), "problem letter"));
  CHECK(says(refusal(with("supported", Json::array())), "nothing decides"));
  CHECK(says(refusal(with("supported", {1})), "objects"));
  CHECK(says(refusal(with("supported", "yes")), "objects"));
  CHECK(says(refusal(with("needs", Json::array())), "undecided"));
  CHECK(says(refusal(with("needs", {{{"verb", "profile"}}})), "brings"));
  CHECK(says(refusal(with("needs", {{{"verb", "profile"}, {"brings", "x"}, {"probe", "luck"}}})),
             "luck"));
  CHECK(says(refusal(with("extra", 1)), "extra"));
  CHECK(says(refusal(with_rule("analysis", "")), "analysis"));
  CHECK(says(refusal(with_rule("strength", "huge")), "huge"));
  CHECK(says(refusal(with_rule("about", "me")), "me"));
  CHECK(says(refusal(with_rule("plans", {"warm"})), "warm"));
  CHECK(says(refusal(with_rule("when", Json::array())), "predicate"));
  const auto one = [](Json value) { return Json::array({std::move(value)}); };
  CHECK(says(refusal(with_rule("when", one({{"figure", "x"}, {"op", "~"}, {"value", 1}}))), "~"));
  CHECK(says(refusal(with_rule("when", one({{"figure", "x"}, {"op", "<"}, {"value", "a"}}))),
             "number"));
  CHECK(says(refusal(with_rule("when", one({{"figure", "x"}, {"op", "=="}}))), "value"));
  CHECK(says(refusal(with_rule("when", one({{"figure", ""}, {"op", "=="}, {"value", 1}}))),
             "figure"));
  CHECK(says(refusal(Json{{"version", 1}}), "causes"));
  CHECK(says(refusal(Json{{"version", 1}, {"causes", {1}}}), "object"));
  CHECK(says(refusal(Json{{"version", 2}, {"causes", {}}, {"new", 1}}), "version 2"));
  CHECK_FALSE(parse_causes("{", "causes.json").ok());
  CHECK_FALSE(parse_causes("", "causes.json").ok());
}

TEST_CASE("a missing registry is named", "[catalogue][causes]") {
  const auto missing = load_causes(RealFileSystem(), {{fs::path("/nonexistent")}});
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().code == ErrorCode::not_found);
  CHECK(load_causes(RealFileSystem(), {{source_dir()}}).ok());
}

TEST_CASE("a predicate holds for figures that are there, and for nothing else",
          "[catalogue][causes]") {
  const Json half{{"figure", 0.5}};
  CHECK(holds(predicate(PredicateOp::less, 0.6), half));
  CHECK_FALSE(holds(predicate(PredicateOp::less, 0.5), half));
  CHECK(words_of(predicate(PredicateOp::less, 0.6), half) == "figure 0.5 < 0.6");
  CHECK(words_of(predicate(PredicateOp::equal, 1), half) == "figure 0.5");
  CHECK(words_of(predicate(PredicateOp::equal, 1), Json()).empty());
  CHECK(holds(predicate(PredicateOp::at_most, 0.5), half));
  CHECK(holds(predicate(PredicateOp::at_least, 0.5), half));
  CHECK_FALSE(holds(predicate(PredicateOp::more, 0.5), half));
  CHECK(holds(predicate(PredicateOp::equal, 0.5), half));
  CHECK(holds(predicate(PredicateOp::not_equal, 1), half));
  CHECK(holds(predicate(PredicateOp::equal, "serial"), {{"figure", "serial"}}));
  CHECK(holds(predicate(PredicateOp::not_equal, "serial"), {{"figure", "open"}}));
  CHECK(holds(predicate(PredicateOp::equal, true), {{"figure", true}}));
  for (const PredicateOp op : {PredicateOp::equal, PredicateOp::not_equal, PredicateOp::less,
                               PredicateOp::at_most, PredicateOp::more, PredicateOp::at_least}) {
    CHECK_FALSE(holds(predicate(op, 1), Json::object()));
    CHECK_FALSE(holds(predicate(op, 1), Json()));
    CHECK_FALSE(holds(predicate(op, 1), {{"figure", nullptr}}));
    CHECK_FALSE(holds(predicate(op, 1), {{"figure", "1"}}));
    CHECK_FALSE(holds(predicate(op, 1), {{"figure", true}}));
    CHECK_FALSE(holds(predicate(op, 1), {{"figure", std::numeric_limits<double>::quiet_NaN()}}));
    CHECK_FALSE(holds(predicate(op, 1), {{"figure", std::numeric_limits<double>::infinity()}}));
  }
  CHECK_FALSE(holds(predicate(PredicateOp::not_equal, "serial"), {{"figure", 1}}));
  CHECK_FALSE(holds(predicate(PredicateOp::not_equal, true), {{"figure", "true"}}));
}
