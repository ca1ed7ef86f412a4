// SPDX-License-Identifier: MIT
#include "session/redacted_copy.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "session/folder.hpp"
#include "session/log_reader.hpp"

namespace wb::session {
namespace {

/// Hashes that name parts of the session stay whole, so no pattern may match inside them; renamed
/// parts are replaced by their new names.
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

/// Fields that hold only a name are replaced entirely, since no pattern finds "Al" or "../me".
Json with_fields_replaced(const Json& payload, Redactor& redactor) {
  struct Field {
    const char *object, *key, *kind;
  };
  static constexpr std::array k_fields{
      Field{"author", "name", "user"},     Field{"author", "email", "email"},
      Field{"committer", "name", "user"},  Field{"committer", "email", "email"},
      Field{"repository", "path", "path"},
  };
  Json rest = payload;
  std::vector<const Field*> held;
  for (const Field& field : k_fields) {
    if (!payload.contains(field.object) || !payload[field.object].is_object()) continue;
    const Json value = payload[field.object].value(field.key, Json());
    if (!value.is_string()) continue;
    rest[field.object][field.key] = "";
    held.push_back(&field);
  }
  Json out = redactor.json(rest);
  for (const Field* field : held) {
    out[field->object][field->key] =
        redactor.whole(field->kind, payload[field->object][field->key].get<std::string>());
  }
  return out;
}

/// Removes the hash of arguments, from which redacted parts could be guessed.
void name_arguments(Json& payload) {
  if (payload.contains("args") && !payload["args"].is_null()) {
    payload["args_sha256"] = sha256_hex(payload["args"].dump());
  } else if (payload.contains("args_blob") && payload["args_blob"].is_string()) {
    payload["args_sha256"] = payload["args_blob"];
  }
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
    Json payload = with_fields_replaced(with_new_blobs(original, hashes), redactor);
    if (event.type == "iteration_closed") name_pages(payload, hashes);
    if (event.type == "verb_called") name_arguments(payload);
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

std::string redacted_blob(std::string_view content, Redactor& redactor) {
  JsonLimits limits;
  limits.max_bytes = content.size();
  const Result<Json> value = parse_json(content, "a blob", limits);
  if (!value || !(value->is_structured() || value->is_string())) return redactor.text(content);
  return redactor.json(*value).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string identity_text(const Json& opened) {
  return SessionFolder::identity_text(opened);
}

}  // namespace wb::session
