// SPDX-License-Identifier: MIT
// The session phase by phase: planned minutes, actual minutes and results. Notes begin phases
// (`note --phase`); without them the phases are the opening with its baseline, and the iterations.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "report/session_sections.hpp"

namespace wb::report {

using session::Fact;
using session::SessionView;

namespace {

constexpr double k_minute_s = 60;
constexpr std::string_view k_opening = "opening and baseline";

struct Phase {
  std::string name, from_t, to_t;
  std::optional<double> planned_min;
  std::int64_t seq = 0;  ///< the event that began it
};

bool begins_phase(const Fact& note) {
  return !text(note.payload, "phase").empty();
}

std::vector<Phase> phases_of(const SessionView& view) {
  std::vector<Phase> phases{{std::string(k_opening),
                             view.opened.t,
                             {},
                             number(view.opened.payload, "planned_minutes"),
                             view.opened.seq}};
  for (const Fact& note : view.notes) {
    if (!begins_phase(note)) continue;
    phases.push_back({text(note.payload, "phase"),
                      note.t,
                      {},
                      number(note.payload, "planned_minutes"),
                      note.seq});
  }
  if (phases.size() == 1) {
    const auto first = std::find_if(view.iterations.begin(), view.iterations.end(),
                                    [](const session::IterationView& one) {
                                      return field(one.opened.payload, "hypothesis").is_object();
                                    });
    if (first != view.iterations.end()) {
      phases.push_back({"iterations", first->opened.t, {}, std::nullopt, first->opened.seq});
    }
  }
  for (std::size_t i = 0; i < phases.size(); ++i) {
    phases[i].to_t = i + 1 < phases.size() ? phases[i + 1].from_t : view.last_t;
  }
  return phases;
}

/// Seconds of the phase in which nobody worked on the session. All times in the log have one
/// format, so they compare as text.
double away_s(const SessionView& view, const Phase& phase) {
  double total = 0;
  for (const SessionView::IdlePeriod& away : view.away) {
    const std::string& from = std::max(away.from_t, phase.from_t);
    const std::string& to = std::min(away.to_t, phase.to_t);
    if (from < to) total += seconds_between(from, to).value_or(0);
  }
  return total;
}

bool is_in(const Phase& phase, const std::string& t, bool is_last) {
  return phase.from_t <= t && (t < phase.to_t || is_last);
}

/// The numbers of iterations and wins, the largest gain and the last note.
std::string finding_words(const Facts& facts, const Phase& phase, bool is_last) {
  std::string said;
  std::int64_t tried = 0, won = 0;
  const Fact* best = nullptr;  // incumbent_changed of the largest gain
  for (const session::IterationView* iteration : facts.tries) {
    if (!is_in(phase, iteration->opened.t, is_last)) continue;
    ++tried;
    if (outcome_of(*iteration) != IterationOutcome::win) continue;
    ++won;
    const Fact& gain = *iteration->incumbent_changed;
    const auto gained = [](const Fact& fact) { return ratio(fact.payload).value.value_or(0); };
    if (best == nullptr || gained(gain) > gained(*best)) best = &gain;
  }
  for (const Fact& note : facts.view.notes) {
    if (begins_phase(note) || !is_in(phase, note.t, is_last)) continue;
    said = brief(facts.words(text(note.payload, "text")), 240) + cite(note.seq);
  }
  std::string out;
  if (tried > 0) out = fmt::format("{} of {} won", won, count(tried, "iteration"));
  if (best != nullptr) {
    out += ", at most " + speedup(ratio(best->payload)) + cite(best->seq);
  }
  if (!said.empty()) out += (out.empty() ? "" : "; ") + said;
  return out.empty() ? "nothing was noted" : out;
}

std::string minutes(double value) {
  return fixed(value, value < 10 ? 1 : 0);
}

struct Sum {
  double planned = 0, taken = 0;
  std::size_t without_plan = 0;
};

std::string difference(const Sum& sum, std::size_t phases) {
  if (sum.without_plan == phases) return "No plan was stated.";
  if (sum.without_plan > 0) {
    return fmt::format("{} without a plan, so the whole is not held against one.",
                       count(static_cast<std::int64_t>(sum.without_plan), "phase"));
  }
  const double off = sum.taken - sum.planned;
  return fmt::format("{} min {} planned.", minutes(std::abs(off)),
                     off > 0 ? "more than" : "less than");
}

}  // namespace

bool has_stated_plan(const Facts& facts) {
  const auto& notes = facts.view.notes;
  return number(facts.view.opened.payload, "planned_minutes") ||
         std::any_of(notes.begin(), notes.end(), begins_phase);
}

std::string execution_section(const Page& page) {
  const Facts& facts = page.facts;
  const std::vector<Phase> phases = phases_of(facts.view);
  Table table({"phase", "planned min>", "took min>", "finding"});
  Sum sum;
  double away = 0;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const Phase& phase = phases[i];
    const double idle_s = away_s(facts.view, phase);
    const double taken =
        (seconds_between(phase.from_t, phase.to_t).value_or(0) - idle_s) / k_minute_s;
    away += idle_s;
    sum.taken += taken;
    sum.planned += phase.planned_min.value_or(0);
    sum.without_plan += phase.planned_min ? 0 : 1;
    table.row({inline_text(phase.name, 80) + cite(phase.seq),
               phase.planned_min ? minutes(*phase.planned_min) : std::string("not stated"),
               minutes(taken), finding_words(facts, phase, i + 1 == phases.size())});
  }
  if (phases.size() > 1) {
    table.row({"all", sum.without_plan == 0 ? minutes(sum.planned) : std::string("not stated"),
               minutes(sum.taken), ""});
  }
  std::string out = "## Execution\n\n" + table.str() + "\n" + difference(sum, phases.size());
  if (away > 0) {
    out += fmt::format(" Time in which the session was paused or interrupted is not in it: {}.",
                       duration(away));
  }
  return out + "\n\n";
}

}  // namespace wb::report
