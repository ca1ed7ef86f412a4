// SPDX-License-Identifier: MIT
// Phrases and judgements that several sections share.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json.hpp"
#include "measure/figures.hpp"
#include "measure/roofline.hpp"
#include "problem/problem.hpp"
#include "report/phrases.hpp"
#include "variant/manifest.hpp"

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
      conclusion(outcome::outcome_of(view)) {}

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

bool can_act(const Facts& facts, std::string_view technique) {
  std::vector<problem::Problem> problems;
  for (const SuiteEntry& entry : facts.suite) {
    auto parsed = problem::parse_problem(entry.problem);
    if (parsed.ok() && !entry.held_out) problems.push_back(*std::move(parsed));
  }
  return variant::can_act(technique, text(facts.view.opened.payload, "backend"), problems);
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

namespace {

/// Escaped, but with the spaces at its end.
std::string escaped(std::string_view part) {
  const std::string out = inline_text(part, part.size());
  return part.ends_with(' ') ? out + ' ' : out;
}

/// Text without commands: brackets around an event or an interval stay.
std::string with_brackets(std::string_view part) {
  constexpr std::string_view k_inside = "0123456789., e";
  std::string out;
  while (!part.empty()) {
    const std::size_t open = std::min(part.find('['), part.size());
    out += escaped(part.substr(0, open));
    part.remove_prefix(open);
    if (part.empty()) break;
    const std::size_t close = part.find(']');
    const std::string_view inside =
        close == std::string_view::npos ? part.substr(1) : part.substr(1, close - 1);
    const bool is_ours = close != std::string_view::npos && !inside.empty() &&
                         inside.find_first_not_of(k_inside) == std::string_view::npos;
    const std::size_t taken = is_ours ? close + 1 : 1;
    out += is_ours ? std::string(part.substr(0, taken)) : escaped(part.substr(0, taken));
    part.remove_prefix(taken);
  }
  return out;
}

std::string mean_words(const outcome::Total& total) {
  if (!total.mean) return "not measured";
  Ratio ratio;
  ratio.value = total.mean->value;
  if (measure::is_valid(total.mean->interval)) {
    ratio.low = total.mean->interval.low;
    ratio.high = total.mean->interval.high;
  }
  return speedup(ratio) + cite(total.events);
}

}  // namespace

std::string told(std::string_view words) {
  std::string out;
  while (!words.empty()) {
    const std::size_t open = std::min(words.find('`'), words.size());
    const std::size_t close = words.find('`', open + 1);
    out += with_brackets(words.substr(0, open));
    if (close == std::string_view::npos) {
      out += escaped(words.substr(open));
      break;
    }
    out += code(words.substr(open + 1, close - open - 1), 400);
    words.remove_prefix(close + 1);
  }
  return out;
}

bool advises_change(const Page& page) {
  const outcome::Advice made = page.conclusion.recommendation.advice;
  return made == outcome::Advice::adopt || made == outcome::Advice::dispatch;
}

bool takes_incumbent(const Page& page) {
  const outcome::Group* group = page.conclusion.main_group();
  const std::vector<outcome::Part>& parts = page.conclusion.recommendation.parts;
  return group != nullptr && group->is_suite && parts.size() == 1 &&
         parts.front().variant == page.facts.view.incumbent;
}

std::string chosen_over_start(const Page& page) {
  const outcome::Choice* choice = page.conclusion.chosen();
  // The incumbent's gain is the product of its confirmed steps, as the sections below print it; the
  // start's over itself is no figure.
  const bool is_start = page.conclusion.recommendation.advice == outcome::Advice::keep_start;
  if (choice == nullptr || is_start || takes_incumbent(page)) {
    return gain_cell(page, page.facts.plan);
  }
  return mean_words(choice->over_start);
}

std::string chosen_over_rivals(const Page& page) {
  const outcome::Choice* choice = page.conclusion.chosen();
  return choice == nullptr ? "not measured" : mean_words(choice->over_rival);
}

std::string taken_words(const Page& page) {
  constexpr std::size_t k_most = 4;
  const std::vector<outcome::Part>& parts = page.conclusion.recommendation.parts;
  std::string out;
  for (std::size_t i = 0; i < std::min(parts.size(), k_most); ++i) {
    out += (i == 0 ? "" : ", ") + code(parts[i].variant, 60);
    if (parts.size() > 1) out += fmt::format(" on {}", parts[i].problems.size());
  }
  return parts.size() > k_most ? fmt::format("{} and {} more", out, parts.size() - k_most) : out;
}

std::string contest_name(const Page& page) {
  const outcome::Group* group = page.conclusion.main_group();
  if (group == nullptr || group->is_suite) {
    return text(field(page.facts.view.opened.payload, "suite"), "name");
  }
  return fmt::format("{} compared between iterations",
                     count(static_cast<std::int64_t>(group->problems.size()), "problem"));
}

std::string advice(const Page& page) {
  const bool is_open = page.facts.baseline != nullptr &&
                       outcome_of(*page.facts.baseline) != IterationOutcome::baseline;
  if (is_open && page.conclusion.recommendation.advice == outcome::Advice::none) {
    return "Finish the baseline first (`sdpa-wb resume`).";
  }
  return told(outcome::advice_words(page.conclusion));
}

}  // namespace wb::report
