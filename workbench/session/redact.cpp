// SPDX-License-Identifier: MIT
#include "session/redact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "session/folder.hpp"
#include "session/identifying.hpp"
#include "session/log_reader.hpp"
#include "session/session.hpp"

namespace wb::session {

void Redactor::learn_word(std::string_view kind, const std::string& word) {
  if (word.size() < 3 || identifying::is_common(word) || m_keys.contains(identifying::lower(word)))
    return;
  m_learned.emplace(identifying::lower(word), kind);
}

void Redactor::learn_homes(std::string_view text) {
  for (const char* folder : {"home", "Users"}) {
    const std::string home = fmt::format("/{}/", folder);
    for (std::size_t at = text.find(home); at != std::string_view::npos;
         at = text.find(home, at + 1)) {
      learn_word("user", identifying::user_of_home(text, at + home.size()));
    }
  }
}

void Redactor::learn_keys(const Json& value) {
  if (value.is_array()) {
    for (const Json& item : value) learn_keys(item);
  } else if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      m_keys.insert(identifying::lower(key));
      learn_keys(member);
    }
  }
}

void Redactor::learn_transport(const std::string& transport) {
  for (std::size_t at = 0; at < transport.size();) {
    const std::size_t end = std::min(transport.find_first_of(" \t@:=,'\"", at), transport.size());
    const std::string word = transport.substr(at, end - at);
    // "HostName" in "-o HostName=node-7" is an option, not a name.
    const bool is_option = word.starts_with('-') || transport.substr(end, 1) == "=";
    if (!is_option) learn_word("host", word);
    at = end + 1;
  }
}

Result<void> Redactor::learn(const EventLog& log) {
  for (std::int64_t seq = 1; seq <= log.size(); ++seq) {
    WB_TRY_ASSIGN(const Json payload, log.payload(seq));
    learn_keys(payload);
  }
  for (std::int64_t seq = 1; seq <= log.size(); ++seq) {
    const EventEnvelope event = log.envelope(seq);
    learn_homes(event.payload_text);
    if (event.type != "session_opened" && event.type != "iteration_closed" &&
        event.type != "session_closed" && event.type != "environment_recorded") {
      continue;
    }
    WB_TRY_ASSIGN(const Json payload, log.payload(seq));
    for (const char* who : {"author", "committer"}) {
      const Json& person = member_of(payload, who);
      const std::string email = text_of(person, "email");
      learn_word("user", text_of(person, "name"));
      learn_word("email", email);
      learn_word("user", email.substr(0, email.find('@')));
    }
    learn_transport(text_of(member_of(payload, "worker"), "transport"));
    learn_word("host", text_of(member_of(payload, "host"), "name"));
  }
  return {};
}

std::size_t Redactor::match_learned(std::string_view text, std::size_t at,
                                    std::string_view& kind) const {
  if (!identifying::is_word_at(text, at) || identifying::follows_word(text, at)) return 0;
  std::size_t longest = 0;
  for (const auto& [word, its_kind] : m_learned) {
    if (word.size() <= longest || text.size() - at < word.size()) continue;
    if (identifying::is_word_at(text, at + word.size())) continue;
    if (identifying::lower(text.substr(at, word.size())) != word) continue;
    longest = word.size();
    kind = its_kind;
  }
  return longest;
}

std::string Redactor::whole(std::string_view kind, std::string_view original) {
  if (original.empty()) return {};
  ++m_counts[std::string(kind)];
  std::string& word = m_words[fmt::format("{}\n{}", kind, identifying::lower(original))];
  if (word.empty()) word = fmt::format("redacted-{}-{}", kind, ++m_numbers[std::string(kind)]);
  return word;
}

std::string Redactor::text(std::string_view words) {
  std::string out;
  out.reserve(words.size());
  for (std::size_t at = 0; at < words.size();) {
    identifying::Match found = identifying::match_form(words, at);
    if (found.length == 0) found.length = match_learned(words, at, found.kind);
    if (found.length > 0) {
      out += whole(found.kind, words.substr(at, found.length));
      at += found.length;
    } else {
      out += words[at++];
    }
  }
  return out;
}

Json Redactor::json(const Json& value) {
  if (value.is_string()) return text(value.get<std::string>());
  if (value.is_array()) {
    Json out = Json::array();
    for (const Json& item : value) out.push_back(json(item));
    return out;
  }
  if (!value.is_object()) return value;
  Json out = Json::object();
  for (const auto& [key, member] : value.items()) out[text(key)] = json(member);
  return out;
}

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
