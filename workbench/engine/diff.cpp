// SPDX-License-Identifier: MIT
// `diff`: what changed between two sessions. Bare times are never compared: each session's
// incumbent stands as a ratio to a rival that both measured beside it, and the ratios are compared.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/environment_changes.hpp"
#include "engine/memory_verbs.hpp"
#include "engine/recorded.hpp"

namespace wb::engine {

using measure::Comparison;
using measure::ComparisonOutcome;

namespace {

/// The incumbent of one session against one rival, on one problem ("": over the suite).
struct Standing {
  Comparison ratio;
  std::int64_t seq = 0;
};

struct Side {
  session::Session session;
  session::SessionView view;
  SessionSettings settings;
  ProblemNames names;
  std::string plan;
  std::map<std::string, std::map<std::string, Standing>> rivals;  ///< name -> problem -> standing
};

/// What the iteration that made the incumbent measured against rivals, on the side's plan.
void read_standings(Side& side) {
  const session::IterationView* holder = holder_of(side.view);
  if (holder == nullptr) return;
  for (const session::Fact& fact : holder->comparisons) {
    const Json& made = fact.payload;
    if (text_of(made, "role") != "rival" || text_of(made, "plan") != side.plan) continue;
    const Standing standing{comparison_of(made), fact.seq};
    side.rivals[text_of(made, "against")].insert_or_assign(text_of(made, "problem"), standing);
  }
}

Result<Side> read_side(const Services& services, const std::string& id, const std::string& plan) {
  WB_TRY_ASSIGN(session::Session session, open_recorded(services, id));
  WB_TRY_ASSIGN(session::SessionView view, session.view(session::FoldDepth::full));
  WB_TRY_ASSIGN(SessionSettings settings, settings_from_json(view.opened.payload));
  ProblemNames names(settings.suite);
  const std::string word = plan.empty() ? std::string(to_string(settings.objective.plan)) : plan;
  Side side{std::move(session), std::move(view), std::move(settings), std::move(names), word, {}};
  read_standings(side);
  return side;
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
  const bool known = measure::is_told(standing.ratio.interval);
  return {{"speedup", known ? Json(standing.ratio.speedup) : Json(nullptr)},
          {"interval", known ? to_json(standing.ratio.interval) : Json(nullptr)},
          {"event", fmt::format("e{}", standing.seq)}};
}

Json row_json(const std::string& name, const Standing& before, const Standing& after) {
  const Comparison change = change_between(before.ratio, after.ratio);
  const bool known = measure::is_told(change.interval);
  return {{"problem", name},
          {"outcome", word_of(change)},
          {"change", known ? Json(change.speedup) : Json(nullptr)},
          {"interval", known ? to_json(change.interval) : Json(nullptr)},
          {"before", ratio_json(before)},
          {"after", ratio_json(after)}};
}

/// Why this rival is no common yardstick, or nothing.
std::string obstacle(const Side& before, const Side& after, const std::string& rival) {
  const auto differ = [](const std::string& a, const std::string& b) {
    return !a.empty() && !b.empty() && a != b;
  };
  const std::string was = subject_versions(before.view, rival);
  const std::string is = subject_versions(after.view, rival);
  if (differ(was, is)) return fmt::format("{} was {}, now {}", rival, was, is);
  if (differ(subject_variant_id(before.view, rival), subject_variant_id(after.view, rival))) {
    return rival + " was built from other sources";
  }
  return {};
}

/// The shared problems' rows; then the whole suite, when it is the same suite on both sides.
Json compare_sides(const Side& before, const Side& after, const std::string& rival) {
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
    const bool known = measure::is_told(change.interval);
    total = {{"problem", ""},
             {"outcome", word_of(change)},
             {"change", known ? Json(change.speedup) : Json(nullptr)},
             {"interval", known ? to_json(change.interval) : Json(nullptr)},
             {"before", nullptr},
             {"after", nullptr}};
  }
  return {{"rival", rival}, {"suite", std::move(total)}, {"problems", std::move(rows)}};
}

std::string figure(const Json& row, const char* key) {
  if (!row[key].is_number()) return "-";
  return fmt::format("{:.3f}x [{:.3f}, {:.3f}]", row[key].get<double>(),
                     row["interval"]["low"].get<double>(), row["interval"]["high"].get<double>());
}

std::string text_of_rival(const Json& item) {
  std::string text = fmt::format("\nratio to {}:\n", item["rival"].get<std::string>());
  const auto line = [&](const Json& row, const std::string& name) {
    text += fmt::format("  {:<14} {}", row["outcome"].get<std::string>(), name);
    if (row["change"].is_number()) text += ": " + figure(row, "change");
    if (row["before"].is_object() && row["before"]["speedup"].is_number() &&
        row["after"]["speedup"].is_number()) {
      text +=
          fmt::format(" (before {:.3f}x, after {:.3f}x)", row["before"]["speedup"].get<double>(),
                      row["after"]["speedup"].get<double>());
    }
    text += "\n";
  };
  if (item["suite"].is_object()) line(item["suite"], "the suite");
  for (const Json& row : item["problems"]) line(row, row["problem"].get<std::string>());
  return text;
}

/// What all rivals together say: worse outweighs better, a figure outweighs none.
struct Summary {
  std::string outcome = "not_comparable";
  std::int64_t regressions = 0;

  void add(const Json& item) {
    static constexpr std::array k_rank{"not_comparable", "same", "ambiguous", "better", "worse"};
    const auto rank = [](const std::string& word) {
      return std::find(k_rank.begin(), k_rank.end(), word) - k_rank.begin();
    };
    if (item["suite"].is_object()) {
      const auto word = item["suite"]["outcome"].get<std::string>();
      if (rank(word) > rank(outcome)) outcome = word;
    }
    std::int64_t worse = 0;
    for (const Json& row : item["problems"]) worse += row["outcome"] == "worse" ? 1 : 0;
    regressions = std::max(regressions, worse);
  }
};

std::string no_yardstick(const Side& before, const Side& after,
                         const std::vector<std::string>& reasons) {
  const auto names = [](const Side& side) {
    std::vector<std::string> list;
    for (const auto& [name, standings] : side.rivals) list.push_back(name);
    return list.empty() ? std::string("none") : fmt::format("{}", fmt::join(list, ", "));
  };
  if (!reasons.empty()) {
    return fmt::format("the rivals they share changed: {}", fmt::join(reasons, "; "));
  }
  return fmt::format(
      "no rival stands beside both incumbents on the {} plan (before: {}; after: {}); bare times "
      "of "
      "two sessions say nothing. Open sessions with the same --rivals, or `sdpa-wb compare` the "
      "two "
      "variants in one run",
      before.plan == after.plan ? before.plan : before.plan + " or " + after.plan, names(before),
      names(after));
}

}  // namespace

Result<Json> verb_diff(const Services& services, const Json& args) {
  const std::string plan = args.value("plan", "");
  WB_TRY_ASSIGN(const Side after, read_side(services, args["after"].get<std::string>(), plan));
  WB_TRY_ASSIGN(const Side before,
                read_side(services, args["before"].get<std::string>(), after.plan));
  const auto changes = changes_between(circumstances_of(before.view), circumstances_of(after.view));
  Json rivals = Json::array();
  std::vector<std::string> reasons;
  Summary summary;
  for (const auto& [rival, standings] : after.rivals) {
    if (!before.rivals.contains(rival)) continue;
    if (const std::string reason = obstacle(before, after, rival); !reason.empty()) {
      reasons.push_back(reason);
      continue;
    }
    rivals.push_back(compare_sides(before, after, rival));
    summary.add(rivals.back());
  }
  std::string message;
  if (rivals.empty()) {
    message = no_yardstick(before, after, reasons);
  } else if (!reasons.empty()) {
    message = fmt::format("left out: {}", fmt::join(reasons, "; "));
  } else if (summary.outcome == "not_comparable") {
    message = "what is recorded beside the shared rival has no interval over the suite";
  }
  std::string text = fmt::format(
      "{} -> {}: {}{}\n", before.view.incumbent, after.view.incumbent, summary.outcome,
      summary.regressions == 0 ? ""
                               : fmt::format(", {} problem{} worse", summary.regressions,
                                             summary.regressions == 1 ? "" : "s"));
  if (!message.empty()) text += message + "\n";
  text += changes.empty() ? "same circumstances\n" : "changed:\n" + to_lines(changes);
  for (const Json& item : rivals) text += text_of_rival(item);
  return Json{{"outcome", summary.outcome},
              {"regressions", summary.regressions},
              {"plan", after.plan},
              {"before", {{"session", args["before"]}, {"incumbent", before.view.incumbent}}},
              {"after", {{"session", args["after"]}, {"incumbent", after.view.incumbent}}},
              {"changes", to_json(changes)},
              {"rivals", std::move(rivals)},
              {"message", message},
              {"text", text}};
}

}  // namespace wb::engine
