// SPDX-License-Identifier: MIT
#include "outcome/measured.hpp"
#include "measure/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/json.hpp"

namespace wb::outcome {

using measure::ComparisonOutcome;
using session::Fact;
using session::IterationView;
using session::SessionView;

const Json& member(const Json& json, std::string_view key) {
  static const Json none;
  if (!json.is_object()) return none;
  const auto found = json.find(key);
  return found == json.end() ? none : *found;
}

std::string text(const Json& json, std::string_view key) {
  const Json& value = member(json, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::optional<double> number(const Json& json, std::string_view key) {
  const Json& value = member(json, key);
  if (!value.is_number() || !std::isfinite(value.get<double>())) return std::nullopt;
  return value.get<double>();
}

std::string_view base_name(std::string_view label) {
  return label.substr(0, label.find('@'));
}

namespace {

/// The cost of a way through a rival: more than any way through variants.
constexpr double k_rival_cost = 1000;

ComparisonOutcome mirrored(ComparisonOutcome outcome) {
  if (outcome == ComparisonOutcome::faster) return ComparisonOutcome::slower;
  if (outcome == ComparisonOutcome::slower) return ComparisonOutcome::faster;
  return outcome;
}

Edge mirrored(Edge edge) {
  edge.log = -edge.log;
  edge.low = -std::exchange(edge.high, -edge.low);
  edge.outcome = mirrored(edge.outcome);
  return edge;
}

/// 0: it does not count.
int rank_of(const std::string& phase) {
  if (phase == "confirmation" || phase == "standalone") return 2;
  return phase == "baseline" ? 1 : 0;
}

std::optional<Edge> edge_of(const Fact& fact) {
  Edge edge;
  edge.rank = rank_of(text(fact.payload, "phase"));
  if (edge.rank == 0) return std::nullopt;
  edge.seq = fact.seq;
  edge.floor_frac = number(fact.payload, "noise_floor_frac").value_or(0);
  edge.outcome = measure::parse_comparison_outcome(text(fact.payload, "outcome"))
                     .value_or(ComparisonOutcome::ambiguous);
  const Json& interval = member(fact.payload, "interval");
  const double speedup = number(fact.payload, "speedup").value_or(0);
  const double low = number(interval, "low").value_or(0);
  const double high = number(interval, "high").value_or(0);
  edge.has_figure = speedup > 0 && low > 0 && high >= low;
  if (!edge.has_figure) {
    edge.outcome = ComparisonOutcome::ambiguous;
    return edge;
  }
  edge.log = std::log(speedup);
  edge.low = std::log(low);
  edge.high = std::log(high);
  edge.confidence = number(interval, "confidence").value_or(edge.confidence);
  // Older logs use `same` for more cases than current ones.
  const double margin = measure::k_most_same_margin_frac;
  if (edge.outcome == ComparisonOutcome::same && (low < 1 - margin || high > 1 + margin)) {
    edge.outcome = ComparisonOutcome::ambiguous;
  }
  return edge;
}

bool counts(const IterationView& iteration) {
  if (!iteration.closed) return false;
  const std::string outcome = text(iteration.closed->payload, "outcome");
  return outcome == "baseline" || outcome == "win" || outcome == "no_gain";
}

bool is_baseline(const IterationView& iteration) {
  return iteration.closed && text(iteration.closed->payload, "outcome") == "baseline";
}

/// The label of the iteration's own variant.
std::string candidate_of(const IterationView& iteration) {
  if (iteration.incumbent_changed) return text(iteration.incumbent_changed->payload, "to");
  if (!iteration.comparisons.empty()) {
    const std::string compared = text(iteration.comparisons.back().payload, "candidate");
    if (!compared.empty()) return compared;
  }
  return text(iteration.opened.payload, "variant");
}

}  // namespace

// Row
// --------------------------------------------------------------------------------------------

void Row::add(const std::string& first, const std::string& second, const Edge& edge) {
  if (first == second || first.empty() || second.empty()) return;
  const bool in_order = first < second;
  Edge& known = m_edges[in_order ? std::pair(first, second) : std::pair(second, first)];
  if (edge.rank < known.rank) return;
  known = in_order ? edge : mirrored(edge);
}

void Row::note_time(const std::string& subject, std::optional<double> time_us) {
  if (time_us > 0.0) m_times_us[subject] = *time_us;
}

const Edge* Row::direct(const std::string& first, const std::string& second) const {
  const auto found = m_edges.find(std::minmax(first, second));
  return found == m_edges.end() ? nullptr : &found->second;
}

std::set<std::string> Row::subjects() const {
  std::set<std::string> names;
  for (const auto& [pair, edge] : m_edges) {
    names.insert(pair.first);
    names.insert(pair.second);
  }
  return names;
}

std::optional<double> Row::time_us(const std::string& subject) const {
  const auto found = m_times_us.find(subject);
  return found == m_times_us.end() ? std::nullopt : std::optional(found->second);
}

void Row::remove(const std::string& subject) {
  std::erase_if(m_edges, [&](const auto& item) {
    return item.first.first == subject || item.first.second == subject;
  });
}

std::optional<Figure> Row::figure(const std::string& first, const std::string& second,
                                  const std::set<std::string>& rivals) const {
  if (first == second) return Figure{1, {1, 1, 0.99}, ComparisonOutcome::same, {}};
  struct Reached {
    double cost = std::numeric_limits<double>::infinity();
    bool is_done = false;
    std::vector<Edge> way;  ///< each from the subject before
  };
  std::map<std::string, Reached> all;
  all[first].cost = 0;
  while (true) {
    const auto next = std::min_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
      if (a.second.is_done != b.second.is_done) return b.second.is_done;
      return a.second.cost < b.second.cost;
    });
    if (next->second.is_done) return std::nullopt;
    if (next->first == second) break;
    next->second.is_done = true;
    const std::string here = next->first;
    const Reached reached = next->second;
    const double through = here != first && rivals.contains(here) ? k_rival_cost : 0;
    for (const auto& [pair, stored] : m_edges) {
      const bool in_order = pair.first == here;
      if ((!in_order && pair.second != here) || !stored.has_figure) continue;
      Reached& other = all[in_order ? pair.second : pair.first];
      // Of equally long ways the one with the narrower intervals is taken.
      const double cost =
          reached.cost + through + 1 + 1e-3 * std::min(stored.high - stored.low, 1.0);
      if (other.is_done || cost >= other.cost) continue;
      other.cost = cost;
      other.way = reached.way;
      other.way.push_back(in_order ? stored : mirrored(stored));
    }
  }
  const std::vector<Edge>& way = all[second].way;
  double log = 0, low = 0, high = 0, floor_frac = 0;
  Figure figure;
  figure.interval.confidence = way.front().confidence;
  for (const Edge& edge : way) {
    log += edge.log;
    low += edge.low;
    high += edge.high;
    floor_frac = std::max(floor_frac, edge.floor_frac);
    figure.interval.confidence = std::min(figure.interval.confidence, edge.confidence);
    figure.events.push_back(edge.seq);
  }
  figure.speedup = std::exp(log);
  figure.interval.low = std::exp(low);
  figure.interval.high = std::exp(high);
  figure.outcome = way.size() == 1 ? way.front().outcome
                                   : measure::classify(figure.interval, floor_frac, floor_frac);
  return figure;
}

// Measured
// --------------------------------------------------------------------------------------------

Measured::Measured(const SessionView& view) {
  const Json& objective = member(view.opened.payload, "objective");
  rule = text(objective, "rule");
  plan = text(objective, "plan");
  if (plan.empty()) plan = "hot";
  regime = plan == "hot" ? text(objective, "regime") : "";
  if (plan == "hot" && regime.empty()) regime = "burst";
  objective_problem = text(objective, "problem");
  incumbent = view.incumbent;
  for (const IterationView& iteration : view.iterations) {
    if (is_baseline(iteration)) start = candidate_of(iteration);
    if (iteration.is_closed() && iteration.number > 0) ++iterations;
  }
  find_rivals(view);
  read_verdicts(view.outside);
  for (const IterationView& iteration : view.iterations) read_verdicts(iteration);
  // In the order of the log, so that of equal phases the later event counts.
  std::map<std::int64_t, std::pair<const Fact*, bool>> facts;
  for (const IterationView& iteration : view.iterations) {
    if (!counts(iteration)) continue;
    for (const Fact& fact : iteration.comparisons) facts[fact.seq] = {&fact, false};
  }
  for (const Fact& fact : view.outside.comparisons) facts[fact.seq] = {&fact, true};
  for (const auto& [seq, item] : facts) read_comparison(*item.first, item.second);
  name_only_problem(member(member(view.opened.payload, "suite"), "problems"));
  for (auto& [key, row] : rows) {
    for (const std::string& name : row.subjects()) {
      if (!stands(name, key.problem)) row.remove(name);
    }
  }
}

void Measured::name_only_problem(const Json& suite) {
  if (!suite.is_array() || suite.size() != 1) return;
  const std::string only = text(suite.front(), "problem");
  std::map<RowKey, Row> named;
  for (const auto& [key, row] : rows) {
    if (key.problem.empty()) named.emplace(RowKey{only, key.plan, key.regime}, row);
  }
  rows.merge(named);
}

void Measured::find_rivals(const SessionView& view) {
  const Json& named = member(view.opened.payload, "rivals");
  if (named.is_array()) {
    for (const Json& item : named) {
      if (item.is_string()) rivals.emplace(base_name(item.get<std::string>()));
    }
  }
  std::set<std::string> own{std::string(base_name(start))};
  for (const IterationView& iteration : view.iterations) {
    for (const Fact& fact : iteration.comparisons) {
      if (text(fact.payload, "role") == "rival") {
        rivals.emplace(base_name(text(fact.payload, "against")));
      }
    }
    own.emplace(base_name(text(iteration.opened.payload, "variant")));
  }
  // `compare` calls every opponent a rival.
  for (const Fact& fact : view.outside.comparisons) {
    const std::string candidate(base_name(text(fact.payload, "candidate")));
    if (!rivals.contains(candidate)) own.insert(candidate);
  }
  for (const Fact& fact : view.outside.comparisons) {
    const std::string against(base_name(text(fact.payload, "against")));
    if (!own.contains(against)) rivals.insert(against);
  }
  for (const std::string& name : own) rivals.erase(name);
}

std::string Measured::subject(const std::string& label) const {
  std::string name(base_name(label));
  return rivals.contains(name) ? name : label;
}

void Measured::read_verdicts(const IterationView& part) {
  for (const Fact& fact : part.built) {
    const std::string label = text(fact.payload, "subject");
    if (text(fact.payload, "outcome") != "built" || rivals.contains(subject(label))) continue;
    std::int64_t& event = built[label];
    event = std::max(event, fact.seq);
  }
  for (const session::VerdictFact& fact : part.verdicts) {
    const std::string outcome = text(fact.payload, "outcome");
    // The machine's fault, and a problem that it does not take, say nothing against it.
    if (outcome == "environment" || outcome == "constraints") continue;
    const Json& pass = member(fact.payload, "pass");
    const bool passed = pass.is_boolean() && pass.get<bool>();
    Verdicts& known = verdicts[subject(text(fact.payload, "subject"))];
    if (passed && text(fact.payload, "proof") == "screening") continue;
    (passed ? known.passed : known.failed).insert(text(fact.payload, "problem"));
  }
}

bool Measured::stands(const std::string& subject, const std::string& problem) const {
  const auto found = verdicts.find(subject);
  if (found == verdicts.end()) return false;
  const auto& [passed, failed] = found->second;
  // A whole verdict on a variant covers more than the problems; an incumbent is not judged again on
  // held-out ones.
  if (problem.empty() || !is_rival(subject)) return failed.empty() && !passed.empty();
  return passed.contains(problem) && !failed.contains(problem);
}

void Measured::read_comparison(const Fact& fact, bool is_outside) {
  const auto edge = edge_of(fact);
  if (!edge) return;
  RowKey key{text(fact.payload, "problem"), text(fact.payload, "plan"), ""};
  if (key.plan == "hot") key.regime = is_outside ? text(fact.payload, "regime") : regime;
  const std::string candidate = subject(text(fact.payload, "candidate"));
  const std::string against = subject(text(fact.payload, "against"));
  Row& row = rows[key];
  row.add(candidate, against, *edge);
  row.note_time(candidate, number(fact.payload, "candidate_us"));
  row.note_time(against, number(fact.payload, "against_us"));
}

}  // namespace wb::outcome
