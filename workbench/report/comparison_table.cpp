// SPDX-License-Identifier: MIT
// Tables of comparisons: one subject beside one opponent, one row per problem, one column per plan.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/iteration_parts.hpp"
#include "report/phrases.hpp"

namespace wb::report {
namespace {

constexpr std::size_t k_max_rows = 120;
constexpr std::size_t k_max_named = 12;

/// Why a comparison must not be read as a figure.
std::string not_standing(const Facts& facts, const Compared& compared) {
  if (!compared.against_rival) return {};
  const RivalFacts* found = facts.find_rival(compared.against);
  if (found == nullptr || found->stands(compared.problem)) return {};
  const RivalFacts& rival = *found;
  if (compared.problem.empty() && rival.failed.empty() && !rival.refused.empty()) {
    return "left out: the rival does not take every problem" + cite(rival.refusal_seq);
  }
  if (compared.problem.empty() && (!rival.failed.empty() || !rival.whole_suite)) {
    return "left out: the rival did not pass on every problem" + cite(rival.failure_seq);
  }
  if (rival.refused.contains(compared.problem)) {
    return "left out: the rival does not take this problem" + cite(rival.refusal_seq);
  }
  if (rival.failed.contains(compared.problem) || !rival.built) {
    return "left out: the rival failed" + cite(rival.failure_seq);
  }
  return "left out: the rival has no passing verdict here";
}

std::string problem_cell(const Facts& facts, const std::string& problem) {
  if (problem.empty()) return "**objective**";
  const std::string title = inline_text(facts.title(problem), 60);
  return facts.is_held_out(problem) && !facts.hide_held_out ? title + " (held out)" : title;
}

/// What all tables of one index share, stated once below them.
struct Manner {
  std::string phase, repeats;  ///< phase and repeats of most figures
};

std::string repeats_of(const Compared& compared) {
  return compared.instances && compared.rounds
             ? fmt::format("{} x {}", *compared.instances, *compared.rounds)
             : std::string();
}

/// The comparisons to show: for each pair, that of the best phase.
std::vector<const Compared*> standing_rows(const ComparisonIndex& index) {
  std::vector<const Compared*> rows;
  for (const Compared& compared : index.all()) {
    const std::string against = compared.against_rival ? compared.against : "";
    if (index.find(against, compared.problem, compared.plan) == &compared) {
      rows.push_back(&compared);
    }
  }
  return rows;
}

Manner manner_of(const std::vector<const Compared*>& rows) {
  Manner manner{rows.front()->phase, ""};
  std::map<std::string, std::size_t> counts;
  for (const Compared* row : rows) {
    if (row->phase != manner.phase) manner.phase.clear();
    const std::string repeats = repeats_of(*row);
    if (!row->ratio.value || repeats.empty()) continue;
    const std::size_t seen = ++counts[repeats];
    if (manner.repeats.empty() || seen > counts[manner.repeats]) manner.repeats = repeats;
  }
  return manner;
}

/// The problems in the order of the suite, then others in order of measurement, the objective last.
std::vector<std::string> problems_of(const Facts& facts, const std::vector<const Compared*>& rows) {
  std::vector<std::string> present, result;
  bool has_objective = false;
  std::set<std::string> seen;
  for (const Compared* row : rows) {
    if (row->problem.empty())
      has_objective = true;
    else if (seen.insert(row->problem).second)
      present.push_back(row->problem);
  }
  for (const SuiteEntry& entry : facts.suite) {
    if (seen.erase(entry.problem) > 0) result.push_back(entry.problem);
  }
  for (const std::string& problem : present) {
    if (seen.contains(problem)) result.push_back(problem);
  }
  if (has_objective) result.emplace_back();
  return result;
}

std::string cell(const Facts& facts, const Compared* compared, const Manner& manner) {
  if (compared == nullptr) return "not compared";
  const std::string refused = not_standing(facts, *compared);
  if (!refused.empty()) return refused + cite(compared->seq);
  if (!compared->ratio.value) return "no figure" + regime_words(*compared) + cite(compared->seq);
  // A phase that all figures share is stated once, below.
  std::string out = manner.phase.empty() ? comparison_words(*compared) : outcome_words(*compared);
  out += regime_words(*compared);
  const std::string repeats = repeats_of(*compared);
  if (!repeats.empty() && repeats != manner.repeats) out += " (" + repeats + ")";
  for (const std::string& flag : compared->flags) {
    if (flag == "resolution_limited") out += " (" + code(flag) + ")";
  }
  return out + cite(compared->seq);
}

/// The table against one opponent; `key` as ComparisonIndex::find takes it.
std::string opponent_table(const Facts& facts, const ComparisonIndex& index, const std::string& key,
                           const std::vector<const Compared*>& rows, const Manner& manner,
                           std::string_view candidate) {
  std::vector<std::string> plans;
  for (const std::string& plan : facts.plans) {
    if (std::any_of(rows.begin(), rows.end(), [&](const auto* row) { return row->plan == plan; })) {
      plans.push_back(plan);
    }
  }
  if (plans.empty()) return {};
  std::vector<std::string> header{"problem", fmt::format("{} us>", candidate),
                                  key.empty() ? "before us>" : "rival us>"};
  for (const std::string& plan : plans) header.push_back(inline_text(facts.plan_label(plan), 40));
  Table table(header);
  const std::vector<std::string> problems = problems_of(facts, rows);
  for (std::size_t i = 0; i < std::min(problems.size(), k_max_rows); ++i) {
    const Compared* timed = index.find(key, problems[i], plans.front());
    // The objective is a ratio over problems; it has no time of its own.
    const bool has_times =
        timed != nullptr && !problems[i].empty() && not_standing(facts, *timed).empty();
    std::vector<std::string> cells{problem_cell(facts, problems[i]),
                                   has_times ? microseconds(timed->candidate_us) : "",
                                   has_times ? microseconds(timed->against_us) : ""};
    for (const std::string& plan : plans) {
      cells.push_back(cell(facts, index.find(key, problems[i], plan), manner));
    }
    table.row(std::move(cells));
  }
  std::string out = table.str() + "\n";
  if (problems.size() > k_max_rows) {
    out += fmt::format("{} more problems are in the log.\n\n", problems.size() - k_max_rows);
  }
  return out;
}

/// Why cells have no figure; each reason once.
std::string missing_figures(const Facts& facts, const std::vector<const Compared*>& rows) {
  std::map<std::string, std::vector<const Compared*>> by_reason;
  for (const Compared* row : rows) {
    if (!row->ratio.value && not_standing(facts, *row).empty()) {
      by_reason[row->reason.empty() ? "no reason was recorded" : row->reason].push_back(row);
    }
  }
  std::string out;
  for (const auto& [reason, members] : by_reason) {
    out += "- no figure (" + brief(facts.words(reason), 200) + "):";
    for (std::size_t i = 0; i < std::min(members.size(), k_max_named); ++i) {
      const Compared& row = *members[i];
      const bool again =
          i > 0 && members[i - 1]->problem == row.problem && members[i - 1]->plan == row.plan;
      if (!again) {
        out += fmt::format(
            "{} {} {}", i == 0 ? "" : ",",
            row.problem.empty() ? "the objective" : inline_text(facts.title(row.problem), 60),
            inline_text(row.plan, 40));
      }
      out += cite(row.seq);
    }
    if (members.size() > k_max_named) {
      out += fmt::format(" and {} more", members.size() - k_max_named);
    }
    out += "\n";
  }
  return out.empty() ? out : out + "\n";
}

std::string manner_words(const Manner& manner) {
  std::string out;
  if (!manner.phase.empty()) out += fmt::format("Phase: {}. ", inline_text(manner.phase, 40));
  if (!manner.repeats.empty()) {
    out += fmt::format(
        "Behind each figure: {} fresh processes x rounds, where no other count is given. ",
        manner.repeats);
  }
  return out;
}

std::string legend(const Facts& facts, const ComparisonIndex& index, std::string_view candidate,
                   bool has_flags) {
  return fmt::format(
             "Times are medians in us under {}. A figure is the other's time divided by the {}'s "
             "[{}], paired by round, so it may differ a little from the ratio of the medians. "
             "`faster`, `slower`: the interval lies beyond 1 ± noise floor. `same`: it holds "
             "1 and stays close to it, a tenth at most. "
             "`ambiguous`: neither, so no side may be called faster, whatever "
             "the ratio says. ",
             inline_text(facts.plan_label(facts.plan), 40), candidate, interval_name(index)) +
         (has_flags ? "`resolution_limited` marks times"
                    : "Turns flagged `resolution_limited` (`sdpa-wb show`) hold times") +
         " too short beside the cost of an empty call to be told exactly. ";
}

/// The legend for two regimes in one cell; empty if no cell has them.
std::string regime_legend(const std::vector<const Compared*>& rows) {
  const bool any =
      std::any_of(rows.begin(), rows.end(), [](const auto* row) { return !row->regimes.empty(); });
  if (!any) return {};
  return "`burst` and `sustained` are both measured where a problem is bound by compute: clocks "
         "under lasting load differ. Where they point opposite ways the figure is `ambiguous`, "
         "over both intervals. ";
}

}  // namespace

std::string comparison_tables(const Facts& facts, const ComparisonIndex& index,
                              std::string_view candidate, bool explain) {
  const std::vector<const Compared*> rows = standing_rows(index);
  if (rows.empty()) return {};
  std::map<std::string, std::vector<const Compared*>> by_opponent;  // the incumbent's key is ""
  for (const Compared* row : rows) {
    by_opponent[row->against_rival ? std::string(base_name(row->against)) : ""].push_back(row);
  }
  const Manner manner = manner_of(rows);
  std::string out = sdpa_table(facts, index, candidate);
  for (const auto& [key, members] : by_opponent) {
    const RivalFacts* rival = key.empty() ? nullptr : facts.find_rival(key);
    out += rival != nullptr ? "Against the rival " + rival_name(*rival) + ":\n\n"
                            : "Against what was the incumbent then, " +
                                  code(members.front()->against, 60) + ":\n\n";
    out += opponent_table(facts, index, key, members, manner, candidate);
  }
  const bool has_flags =
      std::any_of(rows.begin(), rows.end(), [](const auto* row) { return row->has_flags; });
  std::string below = explain ? legend(facts, index, candidate, has_flags) : "";
  below += regime_legend(rows);
  below += manner_words(manner) + conditions_words(rows, candidate);
  while (below.ends_with(' ')) below.pop_back();
  return out + missing_figures(facts, rows) + (below.empty() ? below : below + "\n\n");
}

}  // namespace wb::report
