// SPDX-License-Identifier: MIT
#include "engine/recorded_calls.hpp"

#include <fmt/format.h>

#include "core/hash.hpp"
#include "core/json.hpp"

namespace wb::engine {

using session::VerbRecord;

namespace {

constexpr std::size_t k_inline_max_bytes = 32u << 10;

}  // namespace

Result<void> move_to_blob(session::Session& session, Json& payload, const std::string& member) {
  const auto found = payload.find(member);
  if (found == payload.end()) return {};
  const std::string text = found->dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() <= k_inline_max_bytes) return {};
  WB_TRY_ASSIGN(const std::string sha256, session.put_blob(text));
  *found = nullptr;
  payload[member + "_blob"] = sha256;
  return {};
}

Result<Json> with_blob(const session::Session& session, Json payload, const std::string& member) {
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

}  // namespace wb::engine
