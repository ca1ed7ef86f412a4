// SPDX-License-Identifier: MIT
// SessionView: the state of a session, folded from its log. Report, status, resume and the engine
// read only this; a Fact keeps the id of the event that its figures come from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "session/ledger.hpp"
#include "session/log.hpp"

namespace wb::measure {
struct Prediction;  // prediction.hpp
}

namespace wb::session {

/// A payload and the seq of its event. Fields: docs/contracts/events.md.
struct Fact {
  std::int64_t seq = 0;
  std::string t;
  Json payload;
};

/// A verdict. Its `runs` (seeds, blocks, the worst element of each) are a fifth of a long log and
/// would take six times their text when parsed; only reports read them, so they stay text.
struct VerdictFact : Fact {  ///< the payload lacks `runs`
  explicit VerdictFact(Fact whole);
  [[nodiscard]] Json runs() const;   ///< null if the event has none
  [[nodiscard]] Fact whole() const;  ///< as it stands in the log

 private:
  std::string m_runs;
};

struct IterationView {
  std::int64_t number = 0;  ///< 0 is the baseline
  Fact opened;
  std::vector<Fact> built, evaluations, comparisons, first_calls, findings, profiles, launches,
      costs, notes;
  std::vector<VerdictFact> verdicts;
  std::vector<std::int64_t> turns;  ///< seq of turn_measured events; payloads on demand
  std::optional<Fact> hypothesis, incumbent_changed, closed, committed;
  Ledger ledger;
  [[nodiscard]] bool is_closed() const { return closed.has_value(); }
};

/// Both answers of its hypothesis, from an event of either version; nothing while it is open.
std::optional<measure::Prediction> decided_prediction(const IterationView& iteration);

/// One recorded verb call, for replay and for repeated requests.
struct VerbRecord {
  std::int64_t n = 0, called_seq = 0;
  std::string verb, args_sha256;
  std::optional<std::string> request_id;
  std::optional<std::int64_t> answered_seq;
  std::optional<Json> answer;  ///< payload of verb_answered; never in a brief view
};

/// Turns after the last debit of device time. Of a session at rest there are none, unless a version
/// wrote it that debited iterations only, or its process was killed.
struct UndebitedTurns {
  std::int64_t count = 0, first_seq = 0, last_seq = 0;
  double timed_s = 0;  ///< their timed parts alone, without setup, warming up and verdicts
};

enum class SessionStatus { open, paused, closed };
std::string_view to_string(SessionStatus value);

struct SessionView {
  Fact opened;
  std::optional<Fact> environment, playbook, roadmap, causes, closed;  ///< the latest of each
  std::vector<Fact> noise_floors, decisions, ideas, recoveries, resumes;
  std::vector<Fact> notes;                ///< notes that name no iteration
  std::vector<IterationView> iterations;  ///< in order of opening
  /// Number -1: what check, measure and compare logged outside an iteration (`iteration` is null).
  IterationView outside;
  std::vector<VerbRecord> verbs;  ///< n = 1, 2, …; replay answers from these
  Ledger ledger;                  ///< of the whole session
  UndebitedTurns undebited;
  /// Variant label; empty before the baseline closed. A change takes effect when its iteration
  /// closes, and never if that is abandoned.
  std::string incumbent;
  SessionStatus status = SessionStatus::open;
  /// A time without any process working on the session: during a pause, or before a resume.
  struct IdlePeriod {
    std::string from_t, to_t;
  };
  std::vector<IdlePeriod> away;
  std::int64_t events = 0;
  std::int64_t not_understood = 0;  ///< events of an unknown type or a higher version
  std::string log_head, first_t, last_t;
  /// The iteration that was opened and not closed, if any.
  [[nodiscard]] const IterationView* in_flight() const;
  [[nodiscard]] const IterationView* find(std::int64_t number) const;
  /// The record of call n, or of the first call with a request id; nullptr when there is none.
  [[nodiscard]] const VerbRecord* find_verb(std::int64_t n) const;
  [[nodiscard]] const VerbRecord* find_request(std::string_view request_id) const;
};

/// brief: enough for status and the budget gate (payloads of verdicts, comparisons, findings and
/// verb answers may stay unparsed, their lists empty). full: everything but turns.
enum class FoldDepth { brief, full };
/// Errors: damaged (a payload is not JSON, lacks a needed field or contradicts earlier events).
Result<SessionView> fold(const EventLog& log, FoldDepth depth);

}  // namespace wb::session
