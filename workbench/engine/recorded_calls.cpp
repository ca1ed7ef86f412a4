// SPDX-License-Identifier: MIT
#include "engine/recorded_calls.hpp"

#include <fmt/format.h>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "engine/closing.hpp"
#include "engine/context.hpp"
#include "engine/engine.hpp"
#include "engine/spending.hpp"

namespace wb::engine {

using session::FoldDepth;
using session::Session;
using session::SessionStatus;
using session::SessionView;
using session::VerbRecord;

namespace {

constexpr std::size_t k_inline_max_bytes = 32u << 10;

/// The call that closes a session has no answer in its log, since nothing follows session_closed.
constexpr std::string_view k_closing_verb = "close";

Json error_json(const Error& error) {
  return {{"code", to_string(error.code)}, {"message", error.message()}};
}

}  // namespace

Result<void> move_to_blob(Session& session, Json& payload, const std::string& member) {
  const auto found = payload.find(member);
  if (found == payload.end()) return {};
  const std::string text = found->dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() <= k_inline_max_bytes) return {};
  WB_TRY_ASSIGN(const std::string sha256, session.put_blob(text));
  *found = nullptr;
  payload[member + "_blob"] = sha256;
  return {};
}

Result<Json> with_blob(const Session& session, Json payload, const std::string& member) {
  const auto found = payload.find(member + "_blob");
  if (found == payload.end() || !found->is_string()) return payload;
  WB_TRY_ASSIGN(const std::string text, session.read_blob(found->get<std::string>()));
  JsonLimits limits;
  limits.max_bytes = text.size();
  WB_TRY_ASSIGN(payload[member], parse_json(text, "the blob of \"" + member + "\"", limits));
  return payload;
}

std::string arguments_hash(const Json& args) {
  return sha256_hex(args.dump());
}

Result<Json> replay_answer(const Json& answer) {
  if (const auto result = answer.find("result"); result != answer.end()) return *result;
  const Json error = answer.value("error", Json::object());
  return Error{parse_error_code(error.value("code", "")).value_or(ErrorCode::internal), "repeat",
               "a recorded call", error.value("message", "it failed"), ""};
}

Result<Replay> Replay::from_log(const session::EventLog& log,
                                const std::vector<VerbRecord>& records, bool replan) {
  Replay replay;
  replay.m_replan = replan;
  for (const VerbRecord& record : records) {
    WB_TRY_ASSIGN(const Json called, log.payload(record.called_seq));
    if (called.value("caller", "") != "playbook") continue;
    if (const auto from = called.find("dropped_from"); from != called.end() && from->is_number()) {
      const auto first = from->get<std::int64_t>();
      std::erase_if(replay.m_records, [&](const VerbRecord& old) { return old.n >= first; });
    }
    if (record.answer) replay.m_records.push_back(record);
  }
  return replay;
}

Result<std::optional<Json>> Replay::next(std::string_view verb, const Json& checked_args) {
  if (m_next >= m_records.size()) return std::optional<Json>{};
  const VerbRecord& record = m_records[m_next];
  if (record.verb == verb && record.args_sha256 == arguments_hash(checked_args)) {
    ++m_next;
    return record.answer;
  }
  if (!m_replan) {
    return Error{ErrorCode::invalid, "replay", fmt::format("call {} of the playbook", record.n),
                 record.verb == verb ? fmt::format("{} now has other arguments", verb)
                                     : fmt::format("it was {} and is now {}", record.verb, verb),
                 "restore the playbook, or accept the change with --replan"};
  }
  m_dropped_from = record.n;  // the rest of the old plan no longer applies
  m_records.resize(m_next);
  return std::optional<Json>{};
}

Json Replay::take_dropped_from() {
  Json value = m_dropped_from ? Json(*m_dropped_from) : Json(nullptr);
  m_dropped_from.reset();
  return value;
}

void RecordedCalls::follow(const SessionView& view) {
  m_next = view.verbs.empty() ? 1 : view.verbs.back().n + 1;
}

void RecordedCalls::forget() {
  m_next = 1;
  replay = Replay();
}

Result<std::optional<Json>> RecordedCalls::answered_before(const std::string& request_id,
                                                           const std::string& verb,
                                                           const Json& args) {
  WB_TRY_ASSIGN(const SessionView* current, m_context.session->current(FoldDepth::full));
  const SessionView& view = *current;
  for (const session::VerbRecord& record : view.verbs) {
    const bool has_closed = &record == &view.verbs.back() && record.verb == k_closing_verb &&
                            view.status == SessionStatus::closed;
    if (record.request_id != request_id || (!record.answer && !has_closed)) continue;
    if (record.verb != verb) {
      return Error{ErrorCode::usage, "repeat the request", request_id,
                   fmt::format("it was {}, not {}", record.verb, verb), "use a new request_id"};
    }
    if (record.args_sha256 != arguments_hash(args)) {
      return Error{ErrorCode::usage, "repeat the request", request_id,
                   "its first call had other arguments", "use a new request_id"};
    }
    if (!record.answer) {
      WB_TRY_ASSIGN(const std::string oid, m_context.session->commit_of_closing());
      return std::optional<Json>(Json{{"result", closed_answer(*m_context.session, oid)}});
    }
    WB_TRY_ASSIGN(Json answer, with_blob(*m_context.session, *record.answer, "result"));
    return std::optional<Json>(std::move(answer));
  }
  return std::optional<Json>{};
}

Result<Json> RecordedCalls::run(const SessionCall& call,
                                const std::function<Result<Json>()>& body) {
  if (call.request_id) {
    WB_TRY_ASSIGN(const auto before, answered_before(*call.request_id, call.verb, call.args));
    if (before) return replay_answer(*before);
  }
  const std::int64_t n = m_next++;
  Json called{{"n", n},
              {"verb", call.verb},
              {"args_sha256", arguments_hash(call.args)},
              {"args", call.args},
              {"request_id", call.request_id ? Json(*call.request_id) : Json(nullptr)},
              {"caller", call.in_playbook ? "playbook" : "client"},
              {"dropped_from", replay.take_dropped_from()}};
  WB_TRY(move_to_blob(*m_context.session, called, "args"));
  WB_TRY(m_context.log("verb_called", std::move(called)));
  Result<Json> result = body();
  // Report a removed session first: nothing can be stored any more, and the playbook is not at
  // fault.
  if (!result && m_context.session) WB_TRY(m_context.session->check_place());
  // An error of the environment leaves the call without an answer, so that it runs again.
  if (!result && ends_session(result.error().code)) return result;
  if (call.verb == k_closing_verb && result) {
    m_context.let_go();  // nothing follows session_closed
    forget();
    return result;
  }
  // What the call measured and did not debit itself, as `check` and `compare` do not.
  WB_TRY(m_context.spending->debit_device(call.verb));
  Json answer{{"n", n}};
  if (result) {
    answer["result"] = *result;
  } else {
    answer["error"] = error_json(result.error());
  }
  WB_TRY(move_to_blob(*m_context.session, answer, "result"));
  WB_TRY(m_context.log("verb_answered", std::move(answer)));
  return result;
}

}  // namespace wb::engine
