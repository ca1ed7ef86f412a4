// SPDX-License-Identifier: MIT
#include "analyze/analysis.hpp"

#include <cmath>
#include <set>

#include "core/json.hpp"
#include "made_evidence.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::analyze;
using namespace wb::device;
using namespace wb::measure;
using namespace wb::problem;

TEST_CASE("Every analysis has a name of its own and says what it is about", "[analyze][unit]") {
  std::set<std::string_view> names;
  for (const Analysis& analysis : analyses()) {
    CHECK(names.insert(analysis.name).second);
    CHECK_FALSE(analysis.about.empty());
    CHECK(analysis.run != nullptr);
  }
  CHECK(names == std::set<std::string_view>{
                     "call_cost", "clocks", "grid_check", "grid_scaling", "intensity", "key_walk",
                     "launch", "parallelism", "profile", "reference_check", "regime",
                     "register_limit", "roofline_share", "scaling", "working_set"});
}

TEST_CASE("analyze runs them all, in order, and repeats itself", "[analyze][unit]") {
  Evidence evidence;
  evidence.device = made::device();
  for (const int s : {128, 256, 512}) {
    evidence.observations.push_back(
        made::observation("B=4 Hq=8 Sq=" + std::to_string(s) + " D=64 f32", 0.01 * s * s));
  }
  const auto findings = analyze::analyze(evidence);
  std::vector<std::string> order;
  for (const Finding& finding : findings) {
    if (order.empty() || order.back() != finding.analysis) order.push_back(finding.analysis);
  }
  CHECK(order == std::vector<std::string>{"regime", "roofline_share", "scaling", "intensity",
                                          "working_set"});
  // What says the same of every candidate is left out of an iteration.
  for (const Finding& finding : analyze::analyze(evidence, AnalysisScope::of_candidate)) {
    CHECK(finding.analysis != "intensity");
    CHECK(finding.analysis != "working_set");
  }
  const auto again = analyze::analyze(evidence);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    CHECK(to_json(again[i]) == to_json(findings[i]));
    CHECK(finding_from_json(to_json(findings[i])).ok());
    CHECK_FALSE(findings[i].statement.empty());
  }
}

TEST_CASE("Analyses find nothing in nothing", "[analyze][unit]") {
  CHECK(analyze::analyze(Evidence{}).empty());
  Evidence untimed;
  untimed.device = made::device();
  untimed.observations.push_back(made::observation("B=1 Hq=1 Sq=64 D=64 f32", std::nan("")));
  untimed.observations.push_back(made::observation("B=1 Hq=1 Sq=128 D=64 f32", 0));
  CHECK(analyze::analyze(untimed).empty());
}
