// SPDX-License-Identifier: MIT
// The symptoms of the root-cause page: what a healthy kernel would have shown, beside the
// observation.
#include <fmt/format.h>

#include "core/json.hpp"
#include "report/causes.hpp"

namespace wb::report {
namespace {

std::string number_cell(const Json& figures, const char* key) {
  const auto value = number(figures, key);
  return value ? fmt::format("{:.3g}", *value) : "not known";
}

}  // namespace

std::string symptoms_section(const Facts& facts, const std::vector<session::Fact>& findings) {
  Table table({"symptom", "expected", "actual", "indicates"});
  for (const session::Fact& finding : findings) {
    const Json& figures = field(finding.payload, "figures");
    const std::string analysis = text(finding.payload, "analysis");
    const std::string subject = text(figures, "subject"), who = code(subject, 60);
    const std::string seen = cite(finding.seq);
    if (analysis == "grid_scaling") {
      table.row({who + ": time over heads", "heads^0.4 or less while SMs are free",
                 "heads^" + number_cell(figures, "exponent_over_heads") + seen,
                 inline_text(text(figures, "verdict"), 40) + " batch and heads"});
    } else if (analysis == "key_walk") {
      table.row({who + ": time over keys", "keys^0.4 or less while SMs are free",
                 "keys^" + number_cell(figures, "exponent_over_keys") + seen,
                 inline_text(text(figures, "verdict"), 40) + " walk over the keys"});
    } else if (analysis == "scaling" && number(figures, "beside_exponent")) {
      table.row({who + ": time over work, " + inline_text(text(figures, "axis"), 20),
                 "as " + code(text(figures, "beside"), 60) + ": work^" +
                     number_cell(figures, "beside_exponent"),
                 "work^" + number_cell(figures, "exponent") + seen,
                 inline_text(text(figures, "class"), 40) +
                     (is_true(figures, "class_is_certain") ? "" : ", not certain")});
    } else if (analysis == "launch" && number(figures, "units_frac") &&
               facts.find_rival(subject) == nullptr) {
      const auto blocks = integer(figures, "blocks"), units = integer(figures, "units");
      table.row(
          {who + ": blocks on " + inline_text(facts.title(text(finding.payload, "problem")), 60),
           fmt::format("{} at least", units.value_or(0)),
           fmt::format("{}", blocks.value_or(0)) + seen,
           *number(figures, "units_frac") < 1 ? "idle units" : "work for every unit"});
    } else if (analysis == "reference_check") {
      table.row({who + ": time over work", "longer for more work",
                 fmt::format("{}x the time for {}x the work", number_cell(figures, "time_ratio"),
                             number_cell(figures, "work_ratio")) +
                     seen,
                 inline_text(text(figures, "state"), 40)});
    }
  }
  return "## Symptoms\n\n" + (table.empty()
                                  ? "No analysis found a pattern that has an expectation.\n\n"
                                  : table.str() + "\n");
}

}  // namespace wb::report
