// SPDX-License-Identifier: MIT
// Tables show both regimes where a comparison was made in both.
#include "core/json.hpp"
#include "log_builder.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::report;
using namespace wb::test;

namespace {

Json figures(double speedup, const std::string& outcome) {
  return {{"speedup", speedup},
          {"interval", interval(speedup - 0.02, speedup + 0.02)},
          {"outcome", outcome},
          {"reason", ""}};
}

/// The example session; what was compared with the incumbent under the plan hot has these regimes.
std::string page_of(const Json& regimes, bool has_figure = true) {
  const LogBuilder whole = whole_session();
  LogBuilder log;
  for (auto [type, payload] : whole.events()) {
    if (type == "comparison_made" && payload["role"] == "incumbent" && payload["plan"] == "hot" &&
        !payload["problem"].is_null()) {
      payload["regimes"] = regimes;
      if (!has_figure) payload["speedup"] = payload["interval"] = nullptr;
    }
    log.add(type, payload);
  }
  return render_session(log.view());
}

bool holds(const std::string& page, const std::string& words) {
  INFO(page);
  return page.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("a figure of both regimes says both", "[report][regimes]") {
  const std::string page =
      page_of({{"burst", figures(1.5, "faster")}, {"sustained", figures(0.75, "slower")}});
  CHECK(holds(page, "(burst 1.50x [1.48, 1.52], faster; sustained 0.75x [0.73, 0.77], slower)"));
  CHECK(holds(page, "`burst` and `sustained` are both measured"));
}

TEST_CASE("a regime without a figure, and logs without regimes", "[report][regimes]") {
  const Json regimes = {
      {"burst", figures(1.5, "faster")},
      {"sustained", {{"speedup", nullptr}, {"interval", nullptr}, {"outcome", "ambiguous"}}}};
  CHECK(holds(page_of(regimes), "faster; sustained ambiguous)"));
  CHECK(holds(page_of(regimes, false), "no figure (burst 1.50x"));
  for (const Json& odd : {Json(nullptr), Json(3), Json({{"burst", 7}}), Json::array()}) {
    CHECK_FALSE(holds(page_of(odd), "`burst` and `sustained`"));
  }
}
