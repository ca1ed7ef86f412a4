// SPDX-License-Identifier: MIT
// Phrases and judgements that several sections share.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json.hpp"
#include "measure/roofline.hpp"
#include "measure/statistics.hpp"
#include "report/phrases.hpp"

namespace wb::report {

using session::IterationView;

namespace {

std::vector<ComparisonIndex> indices_of(const std::vector<const IterationView*>& iterations) {
  std::vector<ComparisonIndex> result;
  result.reserve(iterations.size());
  for (const IterationView* iteration : iterations) result.emplace_back(*iteration);
  return result;
}

double rounded(double value) {
  const double scale = std::pow(10.0, k_step_decimals);
  return std::round(value * scale) / scale;
}

/// One confirmed step; for the objective's plan the incumbent_changed event gives it.
std::optional<Gain> step(const Page& page, std::size_t i, const std::string& plan) {
  const Compared* figure = objective_figure(page.facts, page.steps[i], plan);
  if (figure != nullptr && figure->phase == "confirmation" && figure->ratio.value) {
    return Gain{figure->ratio, {figure->seq}, figure->outcome};
  }
  const auto& changed = page.facts.wins[i]->incumbent_changed;
  if (plan != page.facts.plan || !changed) return std::nullopt;
  const Ratio recorded = ratio(changed->payload);
  return recorded.value ? std::optional(Gain{recorded, {changed->seq}, "faster"}) : std::nullopt;
}

/// The confirmed or baseline comparisons with one opponent under one plan, one per problem.
std::vector<const Compared*> per_problem(const Page& page, const std::string& against,
                                         const std::string& plan) {
  std::vector<const Compared*> result;
  for (const SuiteEntry& entry : page.facts.suite) {
    const Compared* compared = page.held.find(against, entry.problem, plan);
    if (compared == nullptr || !compared->ratio.value || compared->phase == "selection") continue;
    const RivalFacts* rival = against.empty() ? nullptr : page.facts.find_rival(against);
    if (!against.empty() && (rival == nullptr || !rival->stands(entry.problem))) continue;
    result.push_back(compared);
  }
  return result;
}

/// The cell if the log has no figure over the suite: how many problems are faster, and the worst of
/// them.
std::string worst_cell(const Page& page, const std::vector<const Compared*>& problems) {
  if (problems.empty()) return "not measured";
  if (page.facts.suite.size() == 1) return comparison_cell(*problems.front());
  const auto worst = std::min_element(
      problems.begin(), problems.end(),
      [](const Compared* a, const Compared* b) { return *a->ratio.value < *b->ratio.value; });
  const auto faster = std::count_if(problems.begin(), problems.end(), [](const Compared* compared) {
    return compared->outcome == "faster";
  });
  return fmt::format("faster on {} of {}, worst {}", faster, problems.size(),
                     comparison_cell(**worst));
}

}  // namespace

Page::Page(const session::SessionView& view)
    : facts(view),
      costs(facts),
      steps(indices_of(facts.wins)),
      held(facts.holder != nullptr ? ComparisonIndex(*facts.holder)
                                   : ComparisonIndex(IterationView{})),
      sdpa(standing(facts, held)) {}

namespace {

/// Why fresh inputs do not confirm a gain; empty if they do.
std::string fresh_words(const Compared& compared) {
  const std::string& state = compared.fresh_state;
  if (state.empty() || state == "stands") return {};
  if (state == "unmeasured") return " (no first calls on fresh inputs)";
  const std::string figure = speedup(compared.fresh);
  if (state == "unclear") return " (first calls on fresh inputs do not show it: " + figure + ")";
  return " (on fresh inputs " + figure + ")";
}

}  // namespace

std::string outcome_words(const Compared& compared) {
  const std::string figure = speedup(compared.ratio);
  std::string out;
  if (compared.outcome == "faster" || compared.outcome == "slower") {
    // The comma matters: "0.88x slower" would mean another ratio.
    out = figure + ", " + compared.outcome;
  } else if (compared.outcome.empty()) {
    out = figure;
  } else {
    // The word comes first, because a ratio above 1 within noise must not be read as a gain.
    out = inline_text(compared.outcome, 40);
    // Older logs use `same` for more cases than current ones.
    const bool is_wide =
        (compared.ratio.low && *compared.ratio.low < 1 - measure::k_most_same_margin_frac) ||
        (compared.ratio.high && *compared.ratio.high > 1 + measure::k_most_same_margin_frac);
    if (compared.outcome == "same" && is_wide) out = "ambiguous (recorded as same)";
    if (compared.ratio.value) out += ", " + figure;
  }
  return out + fresh_words(compared);
}

std::string regime_words(const Compared& compared) {
  std::string out;
  for (const RegimeFigure& figure : compared.regimes) {
    Compared one;
    one.ratio = figure.ratio;
    one.outcome = figure.outcome;
    out += (out.empty() ? " (" : "; ") + figure.regime + " " + outcome_words(one);
  }
  return out.empty() ? out : out + ")";
}

std::string comparison_words(const Compared& compared) {
  std::string out = outcome_words(compared);
  if (compared.phase == "selection") {
    out += compared.outcome == "faster" ? " (selection only, not confirmed)" : " (selection)";
  }
  return out;
}

std::string comparison_cell(const Compared& compared) {
  return comparison_words(compared) + cite(compared.seq);
}

std::optional<Gain> gain(const Page& page, const std::string& plan) {
  if (page.steps.empty()) return std::nullopt;
  if (page.steps.size() == 1) return step(page, 0, plan);
  Gain product;
  product.ratio.value = product.ratio.low = product.ratio.high = 1;
  for (std::size_t i = 0; i < page.steps.size(); ++i) {
    const auto part = step(page, i, plan);
    if (!part) return std::nullopt;
    product.ratio.value = *product.ratio.value * rounded(*part->ratio.value);
    product.events.insert(product.events.end(), part->events.begin(), part->events.end());
    if (!product.ratio.low || !part->ratio.low || !part->ratio.high) {
      product.ratio.low = product.ratio.high = std::nullopt;
      continue;
    }
    product.ratio.low = *product.ratio.low * rounded(*part->ratio.low);
    product.ratio.high = *product.ratio.high * rounded(*part->ratio.high);
  }
  return product;
}

std::string gain_cell(const Page& page, const std::string& plan) {
  if (page.facts.wins.empty()) return page.facts.tries.empty() ? "no iteration yet" : "unchanged";
  const auto found = gain(page, plan);
  if (!found) {
    const auto problems = per_problem(page, "", plan);
    const std::string words = worst_cell(page, problems);
    return page.steps.size() > 1 && !problems.empty() ? "last step: " + words : words;
  }
  if (page.steps.size() > 1) {
    return fmt::format("{} (product of {} steps){}", speedup(found->ratio), page.steps.size(),
                       cite(found->events));
  }
  Compared compared;
  compared.ratio = found->ratio;
  compared.outcome = found->outcome;
  compared.seq = found->events.front();
  return comparison_cell(compared);
}

std::string rival_cell(const Page& page, const RivalFacts& rival, const std::string& plan) {
  const Compared* whole = page.held.find(rival.name, "", plan);
  if (whole != nullptr && rival.stands("")) return comparison_cell(*whole);
  return worst_cell(page, per_problem(page, rival.name, plan));
}

std::string rival_name(const RivalFacts& rival) {
  return code(rival.name, 60) + " (" + inline_text(rival.version, 60) + ")";
}

std::string incumbent_name(const Page& page, bool with_configuration) {
  std::string label = page.facts.view.incumbent;
  std::string configuration;
  if (!page.facts.wins.empty()) {
    const Json& changed = page.facts.wins.back()->incumbent_changed->payload;
    if (label.empty()) label = text(changed, "to");
    configuration = configuration_text(field(changed, "configuration"));
  }
  if (label.empty()) label = page.facts.start;
  if (label.empty()) return "the start";
  std::string out = code(label, 60);
  if (with_configuration && !configuration.empty()) out += " (" + code(configuration, 80) + ")";
  return out;
}

std::string problem_names(const Facts& facts, const std::vector<const Compared*>& problems) {
  constexpr std::size_t k_most = 3;
  std::string out;
  for (std::size_t i = 0; i < std::min(problems.size(), k_most); ++i) {
    out += (i == 0 ? "" : ", ") + inline_text(facts.title(problems[i]->problem), 60);
  }
  return problems.size() > k_most ? fmt::format("{} and {} more", out, problems.size() - k_most)
                                  : out;
}

std::string interval_name(const ComparisonIndex& index) {
  double confidence = 0;
  for (const Compared& compared : index.all()) {
    if (confidence > 0 && compared.ratio.confidence > 0 &&
        compared.ratio.confidence != confidence) {
      return "interval";
    }
    if (compared.ratio.confidence > 0) confidence = compared.ratio.confidence;
  }
  return confidence > 0 ? fmt::format("{:g} % interval", confidence * 100) : "interval";
}

std::optional<double> headroom_of(const Json& figures) {
  const auto share = number(figures, "share_frac");
  if (!share || !(*share > 0)) return std::nullopt;
  const auto ratio = number(figures, "headroom_ratio");
  const double room = ratio && *ratio > 0 ? *ratio : 1 / *share;
  // A rate above the peak by more than its error shows that the peak was no bound (an f32 kernel
  // that splits its products over faster units), so the remaining distance is unknown.
  if (room < 1 - measure::k_roofline_tolerance_frac) return std::nullopt;
  return room;
}

std::vector<Headroom> headroom(const Page& page) {
  std::vector<Headroom> result;
  if (page.facts.holder == nullptr) return result;
  for (const session::Fact& finding : page.facts.holder->findings) {
    if (!text(finding.payload, "analysis").starts_with("roofline")) continue;
    const Json& figures = field(finding.payload, "figures");
    const std::string plan = text(figures, "plan");
    const auto room = headroom_of(figures);
    if ((!plan.empty() && plan != page.facts.plan) || !room) continue;
    result.push_back({&finding, text(finding.payload, "problem"), *room});
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const Headroom& a, const Headroom& b) { return a.factor > b.factor; });
  return result;
}

std::string advice(const Page& page) {
  const Facts& facts = page.facts;
  if (facts.baseline == nullptr) return "none yet: the baseline has not been measured.";
  if (facts.tries.empty()) {
    return outcome_of(*facts.baseline) == IterationOutcome::baseline
               ? "run iterations: only the baseline is measured."
               : "finish the baseline first (`sdpa-wb resume`).";
  }
  if (facts.wins.empty()) {
    const std::size_t n = facts.tries.size();
    return fmt::format("keep the start {}: {} confirmed faster{}.", code(facts.start, 60),
                       n == 1 ? std::string("the one iteration was not")
                              : fmt::format("none of {} iterations was", n),
                       facts.view.status == session::SessionStatus::closed ? "" : " so far");
  }
  std::string out = fmt::format("use {} in place of the start", incumbent_name(page, false));
  if (page.sdpa.rivals.empty()) {
    return out + fmt::format("; how it stands against PyTorch's SDPA is not known ({}).",
                             page.sdpa.measured() > 0
                                 ? "a rival that may be the fastest has no figure"
                                 : "no rival stands");
  }
  const Standing& stands = page.sdpa;
  const std::string rival =
      stands.rivals.size() == 1 ? code(stands.rivals.front(), 60) : std::string("the rivals");
  if (stands.lost.empty() && !stands.won.empty()) {
    out += fmt::format(", and of {} on {}", rival, problem_names(page.facts, stands.won));
  } else if (!stands.lost.empty() && stands.lost.size() == stands.measured()) {
    out += fmt::format(", but not in place of {}, faster on every problem measured", rival);
  } else if (!stands.lost.empty()) {
    out += fmt::format("; keep {} for {}", rival, problem_names(page.facts, stands.lost));
  }
  return out + ".";
}

}  // namespace wb::report
