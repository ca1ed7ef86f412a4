// SPDX-License-Identifier: MIT
// Of the report of two pages: why the winner wins, and what limits it now.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/json.hpp"
#include "measure/prediction.hpp"
#include "report/causes.hpp"
#include "report/summary.hpp"

namespace wb::report::two_pages {

using session::Fact;
using session::IterationView;

std::string idea_of(const Facts& facts, const IterationView& iteration, std::size_t most) {
  const std::string theory = text(field(iteration.opened.payload, "hypothesis"), "theory");
  std::string idea = theory.empty() ? "no idea was stated" : brief(facts.words(theory), most);
  if (idea.ends_with('.')) idea.pop_back();
  return idea;
}

namespace {

constexpr std::size_t k_idea_bytes = 170, k_proof_bytes = 220, k_named = 3;

/// The last iteration that measured this variant; nullptr if none did.
const IterationView* origin_of(const Facts& facts, const std::string& label) {
  const IterationView* found = nullptr;
  for (const IterationView* iteration : facts.tries) {
    const IterationOutcome outcome = outcome_of(*iteration);
    const bool is_measured =
        outcome == IterationOutcome::win || outcome == IterationOutcome::no_gain;
    if (is_measured && candidate_label(*iteration) == label) found = iteration;
  }
  return found;
}

/// The win with the largest confirmed figure, and that figure.
struct LargestStep {
  const IterationView* iteration = nullptr;
  Compared figure;
};

LargestStep largest_step(const Page& page) {
  LargestStep found;
  for (std::size_t i = 0; i < page.facts.wins.size(); ++i) {
    const Compared* figure = objective_figure(page.facts, page.steps[i], page.facts.plan);
    if (figure == nullptr || !figure->ratio.value) continue;
    const bool is_larger =
        found.iteration == nullptr || *figure->ratio.value > *found.figure.ratio.value;
    if (is_larger) found = {page.facts.wins[i], *figure};
  }
  return found;
}

std::string step_words(const Page& page) {
  const LargestStep step = largest_step(page);
  if (step.iteration == nullptr) return {};
  const auto prediction = session::decided_prediction(*step.iteration);
  const bool is_confirmed = prediction && prediction->mechanism == measure::Mechanism::confirmed;
  return fmt::format("{} was iteration {}, {}{}: {}. {}",
                     page.facts.wins.size() == 1 ? "The one step that won" : "The largest step",
                     step.iteration->number, speedup(step.figure.ratio.value),
                     cite(step.figure.seq), idea_of(page.facts, *step.iteration, k_idea_bytes),
                     is_confirmed ? "The measurement confirmed that it helps."
                                  : "Whether it helped for that reason was not decided.");
}

/// What the variant is beside the incumbent of its time on the problems that it is taken for.
std::string part_words(const Page& page, const outcome::Part& part) {
  const IterationView* origin = origin_of(page.facts, part.variant);
  const outcome::Group* group = page.conclusion.main_group();
  if (origin == nullptr || group == nullptr) return {};
  const std::string& base = page.conclusion.recommendation.parts.front().variant;
  const ComparisonIndex index(*origin);
  const Compared *low = nullptr, *high = nullptr;
  for (const std::size_t at : part.problems) {
    const Compared* found = index.find("", group->problems[at].problem, page.facts.plan);
    if (found == nullptr || !found->ratio.value || found->against != base) continue;
    if (low == nullptr || *found->ratio.value < *low->ratio.value) low = found;
    if (high == nullptr || *found->ratio.value > *high->ratio.value) high = found;
  }
  std::string out = fmt::format("{} came in iteration {}: {}.", code(part.variant, 60),
                                origin->number, idea_of(page.facts, *origin, k_idea_bytes));
  if (low == nullptr) return out;
  const std::string range =
      low == high ? speedup(low->ratio.value) + cite(low->seq)
                  : fmt::format("{}{} to {}{}", speedup(low->ratio.value), cite(low->seq),
                                speedup(high->ratio.value), cite(high->seq));
  return out + fmt::format(" On its {} it is {} against {}.",
                           count(static_cast<std::int64_t>(part.problems.size()), "problem"), range,
                           code(low->against, 60));
}

std::string titles_of(const std::vector<const Json*>& causes) {
  std::string out;
  for (std::size_t i = 0; i < std::min(causes.size(), k_named); ++i) {
    out += (i == 0 ? "" : ", ") + inline_text(text(*causes[i], "title"), 60);
  }
  return causes.size() > k_named ? fmt::format("{} and {} more", out, causes.size() - k_named)
                                 : out;
}

/// "too few blocks for the device. Proof: …", strong causes before weak ones.
std::string first_cause(const Facts& facts, std::vector<const Json*> causes) {
  std::stable_sort(causes.begin(), causes.end(), [](const Json* a, const Json* b) {
    return (text(*a, "strength") == "strong") > (text(*b, "strength") == "strong");
  });
  const Json& first = *causes.front();
  std::string out = inline_text(text(first, "title"), 80);
  if (text(first, "strength") == "weak") out += ", on weak evidence";
  for (const Json& one : list_of(first, "evidence")) {
    if (text(one, "says") == "refuted") continue;
    Json told = one;
    if (told.is_object()) told.erase("by");  // the rule's words say nothing to this page's reader
    return out + ". Proof: " + evidence_sentence(&facts, told, k_proof_bytes) + ".";
  }
  return out + ".";
}

/// Causes of the start that nothing supports any more.
std::vector<const Json*> removed_causes(const Json& decided) {
  std::vector<const Json*> removed;
  const auto now = causes_of(decided, "supported");
  for (const Json* cause : causes_of(field(decided, "start"), "supported")) {
    const bool is_still = std::any_of(now.begin(), now.end(), [&](const Json* one) {
      return text(*one, "cause") == text(*cause, "cause");
    });
    if (!is_still) removed.push_back(cause);
  }
  return removed;
}

/// What the log's decided causes say, if they are about what is recommended.
void add_decided(const Page& page, const Json& decided, std::vector<std::string>& out) {
  const std::string subject = text(decided, "subject");
  if (!subject.empty() && !is_recommended(page, subject)) {
    out.push_back(fmt::format("Causes were decided for {} only, which is not recommended.",
                              code(subject, 60)));
    return;
  }
  const auto removed = removed_causes(decided);
  if (!removed.empty()) {
    out.push_back("The start was held up by: " + first_cause(page.facts, removed) +
                  " That no longer holds.");
  }
  const auto supported = causes_of(decided, "supported"), refuted = causes_of(decided, "refuted"),
             open = causes_of(decided, "undecided");
  if (!supported.empty()) {
    out.push_back("What limits it now: " + first_cause(page.facts, supported));
  }
  if (!refuted.empty()) out.push_back("It is not: " + titles_of(refuted) + ".");
  if (!open.empty()) {
    out.push_back(
        fmt::format("{} open, as no measurement decides {}: {}.",
                    open.size() == 1 ? "One cause is" : fmt::format("{} causes are", open.size()),
                    open.size() == 1 ? "it" : "them", titles_of(open)));
  }
}

/// Of a log without decided causes: what today's analyses say of how start and winner walk.
void add_found(const Page& page, std::vector<std::string>& out) {
  std::set<std::string> told;
  const std::vector<Fact> findings = findings_now(page.facts.view);
  const auto add = [&](const std::string& subject, const char* lead) {
    for (const char* analysis : {"key_walk", "grid_scaling", "parallelism"}) {
      for (const Fact& finding : findings) {
        const bool is_it = text(finding.payload, "analysis") == analysis &&
                           text(field(finding.payload, "figures"), "subject") == subject;
        if (!is_it || !told.insert(subject).second) continue;
        out.push_back(lead +
                      brief(page.facts.words(text(finding.payload, "statement")), k_proof_bytes) +
                      cite(finding.seq) + ".");
      }
    }
  };
  add(page.facts.start, "Of the start: ");
  if (!page.conclusion.recommendation.parts.empty()) {
    add(page.conclusion.recommendation.parts.front().variant, "Of the winner: ");
  }
  out.emplace_back("This log holds no decided causes; `sdpa-wb diagnose` decides them from it.");
}

}  // namespace

std::vector<std::string> reasons(const Page& page) {
  std::vector<std::string> out;
  const outcome::Recommendation& made = page.conclusion.recommendation;
  const bool is_measured = page.conclusion.main_group() != nullptr;
  if (!is_measured) return {"Nothing was compared, so there is no cause to name."};
  if (advises_change(page)) {
    if (std::string words = step_words(page); !words.empty()) out.push_back(std::move(words));
    for (std::size_t i = 1; i < std::min<std::size_t>(made.parts.size(), 2); ++i) {
      std::string words = part_words(page, made.parts[i]);
      if (!words.empty()) out.push_back(std::move(words));
    }
    const std::string& first =
        made.parts.empty() ? page.conclusion.incumbent : made.parts.front().variant;
    if (out.empty() && origin_of(page.facts, first) == nullptr) {
      out.push_back(
          fmt::format("Why {} is ahead is not known: it was compared here, not developed here.",
                      code(first, 60)));
    }
  }
  const auto& causes = page.facts.view.causes;
  if (causes && causes->payload.is_object()) {
    add_decided(page, causes->payload, out);
  } else {
    add_found(page, out);
  }
  if (out.empty()) out.emplace_back("No cause was decided.");
  return out;
}

}  // namespace wb::report::two_pages
