// SPDX-License-Identifier: MIT
#include "session/fold.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/json.hpp"
#include "session/log_reader.hpp"

namespace wb::session {
namespace {

constexpr auto k_max_number = std::numeric_limits<std::int64_t>::max();

Error fold_error(std::int64_t seq, std::string cause) {
  return Error{ErrorCode::damaged, "fold the log at", fmt::format("event {}", seq),
               std::move(cause), "docs/contracts/events.md has the fields; report it as a fault"};
}

/// Reads the fields that the fold needs; readers of the view check the others.
Result<void> finish(ObjectReader& reader, const Fact& fact) {
  const Result<void> done = reader.finish(true);
  if (done.ok()) return {};
  return fold_error(fact.seq, done.error().cause);
}

bool is_hot(const Json& payload) {
  const auto plan = payload.find("plan");
  return plan != payload.end() && *plan == "hot";
}

/// Adds the regime of a hot comparison outside iterations, by its turns. Older logs lack it, and
/// those of 2026-11-25 and 2026-11-26 always say burst.
Result<void> add_regime(const EventLog& log, Json& comparison) {
  const auto turns = comparison.find("turns");
  if (!is_hot(comparison) || turns == comparison.end() || !turns->is_array() ||
      turns->size() != 2 || !turns->front().is_number_integer() ||
      !turns->back().is_number_integer()) {
    return {};
  }
  const auto first = std::max<std::int64_t>(turns->front().get<std::int64_t>(), 1);
  const auto last = std::min(turns->back().get<std::int64_t>(), log.size());
  for (std::int64_t seq = last; seq >= first; --seq) {
    if (log.envelope(seq).type != "turn_measured") continue;
    WB_TRY_ASSIGN(const Json turn, log.payload(seq));
    if (!is_hot(turn)) continue;
    comparison["regime"] = turn.contains("regime") ? turn["regime"] : Json("burst");
    return {};
  }
  return {};
}

}  // namespace

Result<void> LogFold::update(const EventLog& log) {
  while (m_view.events < log.size()) {
    const EventEnvelope envelope = log.envelope(m_view.events + 1);
    WB_TRY(apply(log, envelope));
    if (envelope.seq == 1) m_view.first_t = envelope.t;
    note_idle(log, envelope);
    m_view.events = envelope.seq;
  }
  if (m_view.events > 0) m_view.last_t = log.envelope(m_view.events).t;
  m_view.log_head = log.head();
  return {};
}

void LogFold::note_idle(const EventLog& log, const EventEnvelope& envelope) {
  if (envelope.seq < 2) return;
  const EventEnvelope before = log.envelope(envelope.seq - 1);
  // A killed process writes no pause: its absence begins with its last event.
  if (before.type != "session_paused" && envelope.type != "session_resumed") return;
  m_view.away.push_back({std::string(before.t), std::string(envelope.t)});
}

Result<void> LogFold::apply(const EventLog& log, const EventEnvelope& envelope) {
  const TypeRule* rule = rule_for(envelope);
  if (rule == nullptr) {
    ++m_view.not_understood;
    return {};
  }
  if (m_depth == FoldDepth::brief && !rule->in_brief) return {};
  if (rule->kind == EventKind::turn) return apply_turn(log, envelope);
  if (rule->kind == EventKind::answer) return apply_answer(log, envelope);
  WB_TRY_ASSIGN(Json payload, log.payload(envelope.seq));
  Fact fact{envelope.seq, std::string(envelope.t), std::move(payload)};
  switch (rule->kind) {
    case EventKind::verdict:
      return apply_verdict(std::move(fact));
    case EventKind::call:
      return apply_call(std::move(fact));
    case EventKind::opened:
      return apply_opened_iteration(std::move(fact));
    case EventKind::closed:
      return apply_closed_iteration(std::move(fact));
    case EventKind::cost:
      return apply_cost(std::move(fact));
    case EventKind::incumbent:
      return apply_incumbent(std::move(fact));
    case EventKind::status:
      return apply_status(rule->type, std::move(fact));
    default:
      break;
  }
  if (rule->session_list != nullptr) {
    (m_view.*(rule->session_list)).push_back(std::move(fact));
    return {};
  }
  if (rule->session_slot != nullptr) {
    m_view.*(rule->session_slot) = std::move(fact);
    return {};
  }
  WB_TRY_ASSIGN(IterationView * iteration, iteration_of(fact));
  if (rule->slot != nullptr) {
    iteration->*(rule->slot) = std::move(fact);
  } else if (rule->type == "note" && iteration == &m_view.outside) {
    m_view.notes.push_back(std::move(fact));
  } else {
    if (rule->type == "comparison_made" && iteration == &m_view.outside) {
      WB_TRY(add_regime(log, fact.payload));
    }
    (iteration->*(rule->list)).push_back(std::move(fact));
  }
  return {};
}

Result<IterationView*> LogFold::iteration_of(std::int64_t seq, std::optional<std::int64_t> number) {
  if (!number) return &m_view.outside;
  auto& all = m_view.iterations;
  const auto found = std::find_if(all.rbegin(), all.rend(),
                                  [&](const IterationView& it) { return it.number == *number; });
  if (found != all.rend()) return &*found;
  return fold_error(seq, fmt::format("it names iteration {}, which was never opened", *number));
}

Result<IterationView*> LogFold::iteration_of(const Fact& fact) {
  ObjectReader reader(fact.payload, "the payload");
  const Json* member = reader.member("iteration");
  if (member == nullptr || member->is_null()) return iteration_of(fact.seq, std::nullopt);
  const std::int64_t number = reader.integer("iteration", 0, k_max_number);
  WB_TRY(finish(reader, fact));
  return iteration_of(fact.seq, number);
}

// Turns are most of a log, so they are not parsed; only their iteration number is read.
Result<void> LogFold::apply_turn(const EventLog& log, const EventEnvelope& envelope) {
  const IntegerMember member = find_integer_member(envelope.payload_text, "iteration");
  IterationView* iteration = nullptr;
  if (member.state == IntegerMember::State::found) {
    WB_TRY_ASSIGN(iteration, iteration_of(envelope.seq, member.value));
  } else if (member.state == IntegerMember::State::absent_or_null) {
    iteration = &m_view.outside;
  } else {
    WB_TRY_ASSIGN(Json payload, log.payload(envelope.seq));
    WB_TRY_ASSIGN(iteration, iteration_of(Fact{envelope.seq, {}, std::move(payload)}));
  }
  iteration->turns.push_back(envelope.seq);
  UndebitedTurns& undebited = m_view.undebited;
  if (undebited.count++ == 0) undebited.first_seq = envelope.seq;
  undebited.last_seq = envelope.seq;
  undebited.timed_s += find_number_member(envelope.payload_text, "wall_us").value_or(0) / 1e6;
  return {};
}

Result<void> LogFold::apply_verdict(Fact fact) {
  WB_TRY_ASSIGN(IterationView * iteration, iteration_of(fact));
  iteration->verdicts.emplace_back(std::move(fact));
  return {};
}

Result<void> LogFold::apply_call(Fact fact) {
  ObjectReader reader(fact.payload, "the payload");
  VerbRecord record;
  record.n = reader.integer("n", 1, k_max_number);
  record.called_seq = fact.seq;
  record.verb = reader.string("verb");
  record.args_sha256 = reader.string("args_sha256");
  const Json* request = reader.member("request_id");
  if (request != nullptr && !request->is_null()) record.request_id = reader.string("request_id");
  WB_TRY(finish(reader, fact));
  if (!m_view.verbs.empty() && record.n <= m_view.verbs.back().n) {
    return fold_error(
        fact.seq, fmt::format("call {} does not follow call {}", record.n, m_view.verbs.back().n));
  }
  m_view.verbs.push_back(std::move(record));
  return {};
}

Result<void> LogFold::apply_answer(const EventLog& log, const EventEnvelope& envelope) {
  std::optional<Json> answer;
  IntegerMember member = find_integer_member(envelope.payload_text, "n");
  if (m_depth == FoldDepth::full || member.state != IntegerMember::State::found) {
    WB_TRY_ASSIGN(Json payload, log.payload(envelope.seq));
    const Fact fact{envelope.seq, {}, std::move(payload)};
    ObjectReader reader(fact.payload, "the payload");
    member.value = reader.integer("n", 1, k_max_number);
    WB_TRY(finish(reader, fact));
    if (m_depth == FoldDepth::full) answer = fact.payload;
  }
  auto& calls = m_view.verbs;
  const auto record = std::find_if(calls.rbegin(), calls.rend(),
                                   [&](const VerbRecord& call) { return call.n == member.value; });
  if (record == calls.rend()) {
    return fold_error(envelope.seq,
                      fmt::format("it answers call {}, which was never made", member.value));
  }
  record->answered_seq = envelope.seq;
  record->answer = std::move(answer);
  return {};
}

Result<void> LogFold::apply_opened_iteration(Fact fact) {
  ObjectReader reader(fact.payload, "the payload");
  IterationView iteration;
  iteration.number = reader.integer("iteration", 0, k_max_number);
  WB_TRY(finish(reader, fact));
  if (m_view.find(iteration.number) != nullptr) {
    return fold_error(fact.seq, fmt::format("iteration {} is opened twice", iteration.number));
  }
  iteration.opened = std::move(fact);
  m_view.iterations.push_back(std::move(iteration));
  return {};
}

Result<void> LogFold::apply_closed_iteration(Fact fact) {
  WB_TRY_ASSIGN(IterationView * iteration, iteration_of(fact));
  if (iteration == &m_view.outside || iteration->is_closed()) {
    return fold_error(fact.seq, "it closes an iteration that is not open");
  }
  ObjectReader reader(fact.payload, "the payload");
  const std::string outcome = reader.string("outcome");
  WB_TRY(finish(reader, fact));
  if (outcome != "abandoned") {
    if (iteration->incumbent_changed) {
      m_view.incumbent = iteration->incumbent_changed->payload.at("to").get<std::string>();
    } else if (outcome == "baseline" && m_view.incumbent.empty()) {
      ObjectReader opened(iteration->opened.payload, "the payload");
      m_view.incumbent = opened.string_or("variant", {});
    }
  }
  iteration->closed = std::move(fact);
  return {};
}

Result<void> LogFold::apply_cost(Fact fact) {
  WB_TRY_ASSIGN(IterationView * iteration, iteration_of(fact));
  ObjectReader reader(fact.payload, "the payload");
  const std::string word = reader.string("item");
  const double quantity = reader.real("quantity");
  const Json* price = reader.member("usd");
  std::optional<double> usd;
  if (price != nullptr && !price->is_null()) usd = reader.real("usd");
  const std::optional<CostItem> item = parse_cost_item(word);
  if (!item) reader.fail("item", fmt::format("\"{}\" is no cost item", printable(word)));
  WB_TRY(finish(reader, fact));
  const auto parts = fact.payload.find("parts");
  const bool is_elsewhere = parts != fact.payload.end() && parts->contains("elsewhere");
  if (*item == CostItem::device && !is_elsewhere) m_view.undebited = {};
  const auto priced_by = fact.payload.find("priced_by");
  const bool is_listed = priced_by != fact.payload.end() && *priced_by == k_priced_by_list;
  m_view.ledger.debit(*item, quantity, usd, is_listed);
  iteration->ledger.debit(*item, quantity, usd, is_listed);
  iteration->costs.push_back(std::move(fact));
  return {};
}

Result<void> LogFold::apply_incumbent(Fact fact) {
  WB_TRY_ASSIGN(IterationView * iteration, iteration_of(fact));
  ObjectReader reader(fact.payload, "the payload");
  std::string to = reader.string("to");
  WB_TRY(finish(reader, fact));
  // In an open iteration the change takes effect at its closing, since an abandoned iteration
  // changes nothing.
  if (iteration == &m_view.outside || iteration->is_closed()) m_view.incumbent = std::move(to);
  iteration->incumbent_changed = std::move(fact);
  return {};
}

Result<void> LogFold::apply_status(std::string_view type, Fact fact) {
  if (type == "session_opened") {
    if (fact.seq != 1) return fold_error(fact.seq, "the session is opened twice");
    m_view.opened = std::move(fact);
  } else if (type == "session_paused") {
    m_view.status = SessionStatus::paused;
  } else if (type == "session_resumed") {
    m_view.status = SessionStatus::open;
    m_view.resumes.push_back(std::move(fact));
  } else {
    m_view.status = SessionStatus::closed;
    m_view.closed = std::move(fact);
  }
  return {};
}

}  // namespace wb::session
