// SPDX-License-Identifier: MIT
// What reports say about first calls on fresh inputs and about unusable noise floors.
#include "core/json.hpp"
#include "log_builder.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::report;
using namespace wb::test;

namespace {

/// The example session with a member more in one type of event.
std::string page_with_member(const std::string& wanted, const Json& more) {
  const LogBuilder whole = whole_session();
  LogBuilder log;
  for (auto [type, payload] : whole.events()) {
    const bool is_incumbents = type != "comparison_made" || payload["role"] == "incumbent";
    if (type == wanted && payload.value("plan", "") == "hot" && is_incumbents) {
      payload.update(more);
    }
    log.add(type, payload);
  }
  return render_session(log.view());
}

bool says_so(const std::string& page, const std::string& words) {
  return page.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("a gain that is not there on fresh inputs says so", "[report][fresh]") {
  Json fresh{{"state", "absent"}, {"speedup", 1.02}, {"interval", interval(0.99, 1.05)}};
  CHECK(says_so(page_with_member("comparison_made", {{"fresh", fresh}}),
                " (on fresh inputs 1.02x [0.99, 1.05])"));
  fresh["state"] = "unclear";
  CHECK(says_so(page_with_member("comparison_made", {{"fresh", fresh}}),
                "do not show it: 1.02x [0.99, 1.05])"));
  fresh = {{"state", "unmeasured"}, {"speedup", nullptr}, {"interval", nullptr}};
  CHECK(says_so(page_with_member("comparison_made", {{"fresh", fresh}}),
                "no first calls on fresh inputs"));
  fresh = {{"state", "stands"}, {"speedup", 1.5}, {"interval", interval(1.4, 1.6)}};
  CHECK_FALSE(says_so(page_with_member("comparison_made", {{"fresh", fresh}}), "fresh inputs 1.5"));
  for (const Json& odd : {Json(nullptr), Json(3), Json::array()}) {
    CHECK_FALSE(
        says_so(page_with_member("comparison_made", {{"fresh", odd}}), "on fresh inputs 1"));
  }
}

TEST_CASE("a floor that cannot serve is told, with the gain that it hides", "[report][fresh]") {
  const std::string page = page_with_member(
      "noise_floor_measured",
      {{"unfit", "other work used the machine"}, {"used", true}, {"cannot_show_frac", 0.31}});
  CHECK(says_so(page, "a gain below 31 % could not be shown"));
  CHECK(says_so(page, "(cannot serve)"));
  CHECK(says_so(page, "`sdpa-wb remeasure floor`"));
  CHECK_FALSE(says_so(page_with_member("noise_floor_measured", {{"used", true}}), "cannot serve"));
}

TEST_CASE("the last floor that was used stands", "[report][fresh]") {
  const LogBuilder whole = whole_session();
  LogBuilder log;
  Json floor;
  for (const auto& [type, payload] : whole.events()) {
    log.add(type, payload);
    if (type == "noise_floor_measured" && payload["plan"] == "hot") floor = payload;
  }
  REQUIRE(floor.is_object());
  floor["floor_frac"] = 0.0412;
  floor["used"] = false;
  log.add("noise_floor_measured", floor);
  CHECK_FALSE(says_so(render_session(log.view()), "4.12 %"));
  floor["used"] = true;
  log.add("noise_floor_measured", floor);
  CHECK(says_so(render_session(log.view()), "4.1"));
}
