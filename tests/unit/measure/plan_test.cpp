// SPDX-License-Identifier: MIT
#include "measure/plan.hpp"
#include "core/json.hpp"

#include <cmath>
#include <functional>

#include "support/catch.hpp"

using namespace wb;
using namespace wb::measure;

namespace {

Turn a_turn() {
  Turn turn;
  turn.subject = "cpu_tiled@1f0c44aa";
  turn.instance = 3;
  turn.placement = 2;
  turn.round = 7;
  turn.position = 5;
  turn.samples_us = {12.25, 0.1, 1e-3, 98765.4321};
  turn.calls_per_sample = 64;
  turn.wall_us = 10'234.5;
  turn.flags = {"not_settled"};
  return turn;
}

}  // namespace

TEST_CASE("ABBA order forward and back", "[measure][unit]") {
  using Order = std::vector<std::size_t>;
  CHECK(abba_order(2, 0) == Order{0, 1, 1, 0});
  CHECK(abba_order(2, 1) == Order{1, 0, 0, 1});
  CHECK(abba_order(3, 4) == Order{0, 1, 2, 2, 1, 0});
  CHECK(abba_order(3, 5) == Order{2, 1, 0, 0, 1, 2});
  CHECK(abba_order(1, 0) == Order{0, 0});
  CHECK(abba_order(0, 0).empty());
}

TEST_CASE("In ABBA order every subject has the same mean place", "[measure][unit]") {
  for (std::size_t subjects = 1; subjects <= 6; ++subjects) {
    for (std::int64_t round = 0; round < 2; ++round) {
      const auto order = abba_order(subjects, round);
      std::vector<std::size_t> sums(subjects, 0);
      for (std::size_t at = 0; at < order.size(); ++at) sums[order[at]] += at;
      for (const std::size_t sum : sums) CHECK(sum == 2 * subjects - 1);
    }
  }
}

TEST_CASE("Plan words are frozen", "[measure][unit]") {
  for (const PlanKind kind : {PlanKind::hot, PlanKind::cold, PlanKind::eager}) {
    CHECK(parse_plan_kind(to_string(kind)) == kind);
  }
  CHECK(to_string(PlanKind::eager) == "eager");
  CHECK_FALSE(parse_plan_kind("warm"));
  CHECK(to_string(Regime::sustained) == "sustained");
  CHECK(parse_regime("burst") == Regime::burst);
  CHECK_FALSE(parse_regime(""));
}

TEST_CASE("Plan, effort and turn survive JSON text", "[measure][unit]") {
  Plan plan;
  plan.kind = PlanKind::cold;
  plan.regime = Regime::sustained;
  plan.settle_us = 123.456;
  plan.timed_us = 0.1;
  plan.min_samples = 4;
  plan.max_samples = 4;
  const auto text_of = [](const Json& json) { return *parse_json(json.dump(), "test"); };
  CHECK(*plan_from_json(text_of(to_json(plan))) == plan);
  const Effort effort{5, 3, 10};
  CHECK(*effort_from_json(text_of(to_json(effort))) == effort);
  CHECK(*turn_from_json(text_of(to_json(a_turn()))) == a_turn());
}

TEST_CASE("Absent numbers of a plan keep their defaults", "[measure][unit]") {
  const auto plan = plan_from_json(Json{{"kind", "hot"}});
  REQUIRE(plan.ok());
  CHECK(*plan == Plan{});
  CHECK(*effort_from_json(Json::object()) == Effort{});
}

TEST_CASE("Plans refuse what they do not mean", "[measure][unit]") {
  const auto refused = [](const char* key, const Json& value) {
    Json json = to_json(Plan{});
    json[key] = value;
    const auto plan = plan_from_json(json);
    CAPTURE(key, value.dump());
    REQUIRE_FALSE(plan.ok());
    CHECK(plan.error().message().find(key) != std::string::npos);
  };
  refused("kind", "warm");
  refused("kind", 3);
  refused("regime", "calm");
  refused("settle_us", -1);
  refused("settle_us", "5");
  refused("timed_us", 0);
  refused("timed_us", 1e12);
  refused("min_samples", 0);
  refused("max_samples", 1);
  refused("warmup", 1);
  CHECK_FALSE(plan_from_json(Json::array()).ok());
  CHECK_FALSE(plan_from_json(Json::object()).ok());
  CHECK_FALSE(effort_from_json(Json{{"instances", 0}}).ok());
  CHECK_FALSE(effort_from_json(Json{{"rounds", 2.5}}).ok());
}

TEST_CASE("Turns refuse what is no turn", "[measure][unit]") {
  const auto refused = [](const char* key, const std::function<void(Json&)>& change) {
    Json json = to_json(a_turn());
    change(json);
    const auto turn = turn_from_json(json);
    CAPTURE(key, json.dump());
    REQUIRE_FALSE(turn.ok());
    CHECK(turn.error().message().find(key) != std::string::npos);
  };
  for (const char* key : {"subject", "instance", "placement", "round", "position", "samples_us",
                          "calls_per_sample", "wall_us"}) {
    refused(key, [key](Json& json) { json.erase(key); });
  }
  refused("samples_us", [](Json& json) { json["samples_us"] = Json::array({1, "2"}); });
  refused("samples_us", [](Json& json) { json["samples_us"] = Json::array({1, nullptr}); });
  refused("samples_us", [](Json& json) { json["samples_us"] = {{"0", 1}}; });
  refused("samples_us", [](Json& json) { json["samples_us"] = std::vector<double>(100'001, 1.0); });
  refused("calls_per_sample", [](Json& json) { json["calls_per_sample"] = 0; });
  refused("wall_us", [](Json& json) { json["wall_us"] = -0.5; });
  refused("flags", [](Json& json) { json["flags"] = "foreign_load"; });
  refused("extra", [](Json& json) { json["extra"] = 1; });
}

TEST_CASE("has_flag looks for the whole word", "[measure][unit]") {
  CHECK(has_flag(a_turn(), k_flag_not_settled));
  CHECK_FALSE(has_flag(a_turn(), "settled"));
}
