// SPDX-License-Identifier: MIT
// Keeps a SessionView up to date with a growing log, reading each event once. Private to the
// session module; others call fold() or Session::view().
#pragma once

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

}  // namespace wb::session
