// SPDX-License-Identifier: MIT
#include "engine/replay.hpp"

#include <fmt/format.h>

#include "core/hash.hpp"

namespace wb {

std::string arguments_hash(const Json& args) {
  return sha256_hex(args.dump());
}

Result<Json> replay_answer(const Json& answer) {
  if (const auto result = answer.find("result"); result != answer.end()) return *result;
  const Json error = answer.value("error", Json::object());
  return Error{parse_error_code(error.value("code", "")).value_or(ErrorCode::internal), "repeat",
               "a recorded call", error.value("message", "it failed"), ""};
}

Result<Replay> Replay::from_log(const EventLog& log, const std::vector<VerbRecord>& records,
                                bool replan) {
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

}  // namespace wb
