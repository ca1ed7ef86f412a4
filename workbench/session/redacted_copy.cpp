// SPDX-License-Identifier: MIT
#include "session/redacted_copy.hpp"

#include <fmt/format.h>

#include "core/hash.hpp"
#include "session/folder.hpp"
#include "session/log_reader.hpp"

namespace wb {
namespace {

/// A hash that names something of the session stays one: no pattern may take part of it, and what
/// was renamed is found under its new name.
Json with_new_blobs(const Json& value, const NewHashes& hashes) {
  if (value.is_string()) {
    const auto found = hashes.blobs.find(value.get<std::string>());
    return found == hashes.blobs.end() ? value : Json(found->second);
  }
  if (!value.is_structured()) return value;
  Json out = value;
  for (Json& member : out) member = with_new_blobs(member, hashes);
  return out;
}

void name_pages(Json& payload, const NewHashes& hashes) {
  if (!payload.contains("pages") || !payload["pages"].is_object()) return;
  for (auto& [name, sha256] : payload["pages"].items()) {
    const auto found = hashes.pages.find(name);
    if (found != hashes.pages.end()) sha256 = found->second;
  }
}

}  // namespace

Result<std::string> redacted_log(const EventLog& log, Redactor& redactor, const NewHashes& hashes) {
  std::string text, prev(k_no_hash);
  for (std::int64_t seq = 1; seq <= log.size(); ++seq) {
    const EventEnvelope event = log.envelope(seq);
    WB_TRY_ASSIGN(const Json original, log.payload(seq));
    Json payload = redactor.json(with_new_blobs(original, hashes));
    if (event.type == "iteration_closed") name_pages(payload, hashes);
    // The hash of arguments could be guessed back to what was taken out of them.
    if (event.type == "verb_called" && payload.contains("args") && !payload["args"].is_null()) {
      payload["args_sha256"] = sha256_hex(payload["args"].dump());
    }
    if (seq == 1) {
      payload[std::string(k_redacted_key)] = {{"log_head", log.head()}, {"events", log.size()}};
    }
    const std::string line = fmt::format(
        R"({{"seq":{},"prev":"{}","t":"{}","type":"{}","v":{},"payload":{}}})", seq, prev, event.t,
        event.type, event.v, payload.dump(-1, ' ', false, Json::error_handler_t::replace));
    if (line.size() > k_max_event_line_bytes || !scan_line(line)) {
      return Error{ErrorCode::limit,
                   "redact",
                   fmt::format("event {} ({})", seq, event.type),
                   "its line would be longer than a log may have",
                   {}};
    }
    text += line + "\n";
    prev = sha256_hex(line);
  }
  return text;
}

std::string identity_text(const Json& opened) {
  return SessionFolder::identity_text(opened);
}

}  // namespace wb
