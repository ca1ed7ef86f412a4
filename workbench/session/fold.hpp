// SPDX-License-Identifier: MIT
// Keeps a SessionView up to date with a growing log, reading each event once, and says where each
// event type goes in it, one line per type. Private to the session module; others call fold() or
// Session::view().
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "session/view.hpp"

namespace wb::session {

class LogFold {
 public:
  explicit LogFold(FoldDepth depth) : m_depth(depth) { m_view.outside.number = -1; }

  /// Folds the events appended since the last call. After an error the view ends before the event
  /// that could not be folded.
  Result<void> update(const EventLog& log);
  [[nodiscard]] const SessionView& view() const { return m_view; }
  [[nodiscard]] FoldDepth depth() const { return m_depth; }
  [[nodiscard]] SessionView take() && { return std::move(m_view); }

 private:
  Result<void> apply(const EventLog& log, const EventEnvelope& envelope);
  void note_idle(const EventLog& log, const EventEnvelope& envelope);
  Result<void> apply_turn(const EventLog& log, const EventEnvelope& envelope);
  Result<void> apply_answer(const EventLog& log, const EventEnvelope& envelope);
  Result<void> apply_verdict(Fact fact);
  Result<void> apply_call(Fact fact);
  Result<void> apply_opened_iteration(Fact fact);
  Result<void> apply_closed_iteration(Fact fact);
  Result<void> apply_cost(Fact fact);
  Result<void> apply_incumbent(Fact fact);
  Result<void> apply_status(std::string_view type, Fact fact);
  /// The iteration that a payload names, or `outside` when it names none.
  Result<IterationView*> iteration_of(const Fact& fact);
  Result<IterationView*> iteration_of(std::int64_t seq, std::optional<std::int64_t> number);

  FoldDepth m_depth;
  SessionView m_view;
};

enum class EventKind { turn, answer, call, opened, closed, cost, incumbent, verdict, fact, status };

using FactList = std::vector<Fact>;
using FactSlot = std::optional<Fact>;

/// How an event enters the view. A plain fact goes to one member of its iteration or of the
/// session.
struct TypeRule {
  std::string_view type;
  EventKind kind = EventKind::fact;
  bool in_brief = true;
  FactList IterationView::*list = nullptr;
  FactSlot IterationView::*slot = nullptr;
  FactList SessionView::*session_list = nullptr;
  FactSlot SessionView::*session_slot = nullptr;
};

constexpr TypeRule of_kind(std::string_view type, EventKind kind, bool in_brief = true) {
  return {.type = type, .kind = kind, .in_brief = in_brief};
}
constexpr TypeRule to_list(std::string_view type, FactList IterationView::*list,
                           bool in_brief = true) {
  return {.type = type, .in_brief = in_brief, .list = list};
}
constexpr TypeRule to_slot(std::string_view type, FactSlot IterationView::*slot) {
  return {.type = type, .slot = slot};
}
constexpr TypeRule to_session(std::string_view type, FactList SessionView::*list) {
  return {.type = type, .session_list = list};
}
constexpr TypeRule to_session(std::string_view type, FactSlot SessionView::*slot) {
  return {.type = type, .session_slot = slot};
}

// The most frequent types come first because the search is linear.
inline constexpr std::array k_rules{
    of_kind("turn_measured", EventKind::turn),
    of_kind("verdict_given", EventKind::verdict, false),
    of_kind("cost_debited", EventKind::cost),
    to_list("comparison_made", &IterationView::comparisons, false),
    to_list("first_calls_measured", &IterationView::first_calls, false),
    to_list("evaluation", &IterationView::evaluations),
    to_list("variant_built", &IterationView::built),
    to_list("finding_recorded", &IterationView::findings, false),
    of_kind("verb_called", EventKind::call),
    of_kind("verb_answered", EventKind::answer),
    of_kind("iteration_opened", EventKind::opened),
    of_kind("iteration_closed", EventKind::closed),
    to_slot("iteration_committed", &IterationView::committed),
    to_slot("hypothesis_decided", &IterationView::hypothesis),
    of_kind("incumbent_changed", EventKind::incumbent),
    to_list("profile_taken", &IterationView::profiles),
    to_list("launches_recorded", &IterationView::launches, false),
    to_list("note", &IterationView::notes),
    to_session("environment_recorded", &SessionView::environment),
    to_session("playbook_started", &SessionView::playbook),
    to_session("noise_floor_measured", &SessionView::noise_floors),
    to_session("decision_recorded", &SessionView::decisions),
    to_session("idea_recorded", &SessionView::ideas),
    to_session("roadmap_made", &SessionView::roadmap),
    to_session("causes_decided", &SessionView::causes),
    to_session("recovered", &SessionView::recoveries),
    of_kind("session_opened", EventKind::status),
    of_kind("session_paused", EventKind::status),
    of_kind("session_resumed", EventKind::status),
    of_kind("session_closed", EventKind::status),
};

/// The rule of an event, or null for an unknown type or a version of it newer than ours.
inline const TypeRule* rule_for(const EventEnvelope& envelope) {
  if (envelope.v > event_version(envelope.type)) return nullptr;
  const auto found = std::find_if(k_rules.begin(), k_rules.end(),
                                  [&](const TypeRule& rule) { return rule.type == envelope.type; });
  return found == k_rules.end() ? nullptr : &*found;
}

}  // namespace wb::session
