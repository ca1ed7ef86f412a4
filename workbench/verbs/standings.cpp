// SPDX-License-Identifier: MIT
#include "verbs/standings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json.hpp"
#include "engine/recorded.hpp"
#include "engine/settings.hpp"
#include "engine/worker.hpp"
#include "measure/comparison.hpp"

namespace wb::verbs {

using engine::Circumstances;
using engine::circumstances_of;
using engine::incumbent_iteration;
using engine::member_of;
using engine::number_of;
using engine::Services;
using engine::SessionSettings;
using engine::settings_from_json;
using engine::subject_variant_id;
using engine::subject_versions;
using engine::text_of;
using measure::Comparison;
using measure::ComparisonOutcome;

Comparison comparison_of(const Json& payload) {
  const Json& interval = member_of(payload, "interval");
  Comparison comparison;
  comparison.speedup = number_of(payload, "speedup").value_or(std::nan(""));
  comparison.interval = {number_of(interval, "low").value_or(std::nan("")),
                         number_of(interval, "high").value_or(std::nan("")),
                         number_of(interval, "confidence").value_or(0.99)};
  comparison.noise_floor_frac = number_of(payload, "noise_floor_frac").value_or(0.0);
  return comparison;
}

Comparison change_between(const Comparison& before, const Comparison& after) {
  Comparison change;
  change.speedup = after.speedup / before.speedup;
  change.interval = {std::nan(""), std::nan(""), after.interval.confidence};
  change.noise_floor_frac = std::hypot(before.noise_floor_frac, after.noise_floor_frac);
  if (measure::is_valid(before.interval) && measure::is_valid(after.interval) &&
      change.speedup > 0) {
    const auto part = [](double a, double b) { return std::log(a / b); };
    const double down = std::hypot(part(after.speedup, after.interval.low),
                                   part(before.interval.high, before.speedup));
    const double up = std::hypot(part(after.interval.high, after.speedup),
                                 part(before.speedup, before.interval.low));
    change.interval.low = change.speedup * std::exp(-down);
    change.interval.high = change.speedup * std::exp(up);
  }
  change.outcome =
      measure::classify(change.interval, change.noise_floor_frac, change.noise_floor_frac);
  return change;
}

namespace {

void read_standings(RecordedSide& side) {
  const session::IterationView* holder = incumbent_iteration(side.view);
  if (holder == nullptr) return;
  for (const session::Fact& fact : holder->comparisons) {
    const Json& made = fact.payload;
    if (text_of(made, "role") != "rival" || text_of(made, "plan") != side.plan) continue;
    const Standing standing{comparison_of(made), fact.seq};
    side.rivals[text_of(made, "against")].insert_or_assign(text_of(made, "problem"), standing);
  }
}

std::string_view word_of(const Comparison& change) {
  if (!measure::is_valid(change.interval)) return "not_comparable";
  switch (change.outcome) {
    case ComparisonOutcome::faster:
      return "better";
    case ComparisonOutcome::slower:
      return "worse";
    case ComparisonOutcome::same:
      return "same";
    case ComparisonOutcome::ambiguous:
      return "ambiguous";
  }
  return "ambiguous";
}

Json ratio_json(const Standing& standing) {
  const bool known = measure::is_shown(standing.ratio.interval);
  return {{"speedup", known ? Json(standing.ratio.speedup) : Json(nullptr)},
          {"interval", known ? to_json(standing.ratio.interval) : Json(nullptr)},
          {"event", fmt::format("e{}", standing.seq)}};
}

Json row_json(const std::string& name, const Standing& before, const Standing& after) {
  const Comparison change = change_between(before.ratio, after.ratio);
  const bool known = measure::is_shown(change.interval);
  return {{"problem", name},
          {"outcome", word_of(change)},
          {"change", known ? Json(change.speedup) : Json(nullptr)},
          {"interval", known ? to_json(change.interval) : Json(nullptr)},
          {"before", ratio_json(before)},
          {"after", ratio_json(after)}};
}

}  // namespace

Result<RecordedSide> read_side(const Services& services, const std::string& id,
                               const std::string& plan) {
  WB_TRY_ASSIGN(session::Session session, open_recorded(services, id));
  WB_TRY_ASSIGN(session::SessionView view, session.view(session::FoldDepth::full));
  WB_TRY_ASSIGN(SessionSettings settings, settings_from_json(view.opened.payload));
  ProblemNames names(settings.suite);
  const std::string word = plan.empty() ? std::string(to_string(settings.objective.plan)) : plan;
  RecordedSide side{
      std::move(session), std::move(view), std::move(settings), std::move(names), word, {}};
  read_standings(side);
  return side;
}

namespace {

/// Whether the session stored the rival's sources and they name no technique of their own: they
/// only call a library, whose versions say what ran.
bool is_wrapper(const RecordedSide& side, const std::string& rival) {
  const auto stored =
      engine::load_stored(side.session, rival, subject_variant_id(side.view, rival));
  return stored.ok() && stored->manifest.backend == variant::Backend::python &&
         stored->manifest.techniques.empty();
}

bool differ(const std::string& a, const std::string& b) {
  return !a.empty() && !b.empty() && a != b;
}

}  // namespace

RivalChange rival_change(const RecordedSide& before, const RecordedSide& after,
                         const std::string& rival) {
  const std::string was = subject_versions(before.view, rival);
  const std::string is = subject_versions(after.view, rival);
  if (differ(was, is)) return {false, fmt::format("{} was {}, now {}", rival, was, is)};
  if (!differ(subject_variant_id(before.view, rival), subject_variant_id(after.view, rival))) {
    return {};
  }
  if (was.empty() || is.empty()) {
    return {false, rival + " was built from other sources, and its versions are not recorded"};
  }
  if (!is_wrapper(before, rival) || !is_wrapper(after, rival)) {
    return {false, rival + " was built from other sources"};
  }
  return {true, fmt::format("{} is called by other sources, but is the same: {}", rival, is)};
}

Json compare_sides(const RecordedSide& before, const RecordedSide& after,
                   const std::string& rival) {
  const auto& was = before.rivals.at(rival);
  const auto& is = after.rivals.at(rival);
  Json rows = Json::array();
  std::vector<Comparison> parts;
  std::vector<double> weights;
  for (const problem::SuiteProblem& member : after.settings.suite.problems) {
    const std::string problem = to_text(member.problem);
    if (!was.contains(problem) || !is.contains(problem)) continue;
    const std::string name =
        before.names.is_held_out(problem) ? before.names.of(problem) : after.names.of(problem);
    rows.push_back(row_json(name, was.at(problem), is.at(problem)));
    parts.push_back(change_between(was.at(problem).ratio, is.at(problem).ratio));
    weights.push_back(member.weight);
  }
  Json total = nullptr;
  const Circumstances old_facts = circumstances_of(before.view),
                      facts = circumstances_of(after.view);
  const bool same_suite = old_facts.at("suite") == facts.at("suite") &&
                          old_facts.at("objective") == facts.at("objective");
  if (same_suite && was.contains("") && is.contains("")) {
    total = row_json("", was.at(""), is.at(""));
  } else if (!parts.empty()) {
    const measure::Aggregate aggregate = measure::geometric_mean(parts, weights);
    Comparison change;
    change.speedup = aggregate.value;
    change.interval = aggregate.interval;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      change.noise_floor_frac = std::max(change.noise_floor_frac, parts[p].noise_floor_frac);
    }
    change.outcome =
        measure::classify(change.interval, change.noise_floor_frac, change.noise_floor_frac);
    const bool known = measure::is_shown(change.interval);
    total = {{"problem", ""},
             {"outcome", word_of(change)},
             {"change", known ? Json(change.speedup) : Json(nullptr)},
             {"interval", known ? to_json(change.interval) : Json(nullptr)},
             {"before", nullptr},
             {"after", nullptr}};
  }
  return {{"rival", rival}, {"suite", std::move(total)}, {"problems", std::move(rows)}};
}

}  // namespace wb::verbs
