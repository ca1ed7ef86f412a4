// SPDX-License-Identifier: MIT
// Section of a handover: evidence, interpretation and implication of each cause that is supported
// or was fixed, and the causes that were ruled out, so that nobody works on them.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "report/causes.hpp"

namespace wb::report {
namespace {

constexpr std::size_t k_most_insights = 6;

std::string evidence_of(const Facts& facts, const Json& cause) {
  const Json& list = field(cause, "evidence");
  if (!list.is_array() || list.empty()) return "none is kept";
  return evidence_sentence(&facts, list.front(), 400);
}

std::string remedies_of(const Json& cause) {
  std::string out;
  for (const std::string& word : strings(cause, "remedies")) {
    out += (out.empty() ? "" : ", ") + code(word, 40);
  }
  if (out.empty()) return "The catalogue has no technique left for it.";
  const std::string gain = gain_words(cause);
  return "What helps: " + out + (gain == "-" ? "" : "; " + gain + " over the suite") + ".";
}

std::string block(std::size_t n, const Facts& facts, const Json& cause, const std::string& heading,
                  const std::string& implication) {
  return fmt::format("### {}. {}\n\n- Evidence: {}\n- Interpretation: {}\n- Implication: {}\n\n", n,
                     heading, evidence_of(facts, cause), inline_text(text(cause, "theory"), 400),
                     implication);
}

bool is_still_supported(const std::vector<const Json*>& now, const Json& cause) {
  return std::any_of(now.begin(), now.end(),
                     [&](const Json* one) { return text(*one, "cause") == text(cause, "cause"); });
}

}  // namespace

std::string insights_section(const Page& page) {
  std::string out = "## Insights\n\n";
  if (!page.facts.view.causes) {
    return out + "None: no causes were decided in this log (`sdpa-wb diagnose` decides them).\n\n";
  }
  const Json& decided = page.facts.view.causes->payload;
  const auto supported = causes_of(decided, "supported");
  std::size_t n = 0;
  const auto add = [&](const Json& cause, const std::string& heading,
                       const std::string& implication) {
    if (++n <= k_most_insights) out += block(n, page.facts, cause, heading, implication);
  };
  for (const Json* cause : supported) {
    add(*cause, "It is held up by: " + inline_text(text(*cause, "title"), 100),
        inline_text(text(*cause, "prediction"), 400) + " " + remedies_of(*cause));
  }
  for (const Json* cause : causes_of(field(decided, "start"), "supported")) {
    if (is_still_supported(supported, *cause)) continue;
    add(*cause, "No longer held up by: " + inline_text(text(*cause, "title"), 100),
        "it was so at the start, and nothing supports it of the incumbent: what was done against "
        "it stays.");
  }
  if (n > k_most_insights) {
    out += fmt::format("{} more are in the report's Causes.\n\n", n - k_most_insights);
  }
  std::string others;
  for (const Json* cause : causes_of(decided, "refuted")) {
    others += fmt::format("- {}: {}\n", inline_text(text(*cause, "title"), 100),
                          evidence_of(page.facts, *cause));
  }
  if (!others.empty()) {
    out += "It is not (so work against these would gain nothing here):\n\n" + others + "\n";
  }
  return n == 0 && others.empty() ? out + "None: nothing in this log decides a cause.\n\n" : out;
}

}  // namespace wb::report
