// SPDX-License-Identifier: MIT
// Requests and replies as lines, and the Base64 for the bytes inside `put`. Both directions have
// the same limits, because neither side may trust the length or depth of what the other sends.
#include "protocol/protocol.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/json.hpp"
#include "protocol/arguments.hpp"

namespace wb::protocol {
namespace {

constexpr std::array<std::pair<Verb, std::string_view>, 14> k_verbs{{
    {Verb::hello, "hello"},
    {Verb::has, "has"},
    {Verb::put, "put"},
    {Verb::build, "build"},
    {Verb::load, "load"},
    {Verb::run, "run"},
    {Verb::verdict, "verdict"},
    {Verb::turn, "turn"},
    {Verb::first_calls, "first_calls"},
    {Verb::profile, "profile"},
    {Verb::unload, "unload"},
    {Verb::canary, "canary"},
    {Verb::status, "status"},
    {Verb::bye, "bye"},
}};

constexpr std::int64_t k_max_id = std::int64_t{1} << 53;  // exact in every JSON reader

/// Untrusted output may hold any bytes; on the wire it must be UTF-8.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Json> parse_line(std::string_view line, std::string_view what) {
  WB_TRY_ASSIGN(Json json, parse_json(line, what, {k_max_line_bytes, k_max_depth}));
  if (!json.is_object()) {
    return Error{ErrorCode::invalid, "read", std::string(what), "it is not a JSON object",
                 "send one object per line (docs/contracts/worker_protocol.md)"};
  }
  return json;
}

Result<void> check_version(const Json& json, std::string_view what) {
  const auto version = json.find("v");
  const bool right = version != json.end() && version->is_number_integer() && *version == k_version;
  if (right) return {};
  const std::string got = version == json.end() ? "none" : printable(dump(*version), 40);
  return Error{
      ErrorCode::invalid, "read", std::string(what),
      "its protocol version \"v\" is " + got + ", this program speaks " + fmt::to_string(k_version),
      "use sdpa-wb and sdpa-wb-worker of the same release"};
}

}  // namespace

std::string_view to_string(Verb value) {
  for (const auto& [verb, word] : k_verbs) {
    if (verb == value) return word;
  }
  return "?";
}

std::optional<Verb> parse_verb(std::string_view word) {
  for (const auto& [verb, name] : k_verbs) {
    if (name == word) return verb;
  }
  return std::nullopt;
}

std::string to_line(const Request& request) {
  return dump({{"v", k_version},
               {"id", request.id},
               {"verb", to_string(request.verb)},
               {"args", request.args}});
}

std::string to_line(const Reply& reply) {
  Json json = {{"v", k_version}, {"id", reply.id}, {"ok", reply.result.ok()}};
  if (reply.result.ok()) {
    json["result"] = reply.result.value();
  } else {
    const Failure& failure = reply.result.error();
    json["error"] = {{"invalidity", to_string(failure.invalidity)},
                     {"message", detail::without_nul(failure.message)},
                     {"untrusted_output", detail::without_nul(failure.untrusted_output)}};
  }
  return dump(json);
}

Result<Request> parse_request(std::string_view line) {
  WB_TRY_ASSIGN(const Json json, parse_line(line, "the request"));
  WB_TRY(check_version(json, "the request"));
  ObjectReader reader(json, "the request");
  reader.integer("v", k_version, k_version);
  Request request;
  request.id = reader.integer("id", 0, k_max_id);
  const std::string word = reader.string("verb");
  const auto verb = parse_verb(word);
  if (!verb) reader.fail("verb", "\"" + printable(word, 40) + "\" is no verb of this protocol");
  const Json* args = reader.member("args");
  if (args != nullptr && !args->is_object()) reader.fail("args", "must be an object");
  WB_TRY(reader.finish());
  request.verb = *verb;
  if (args != nullptr) request.args = *args;
  return request;
}

Result<Reply> parse_reply(std::string_view line) {
  WB_TRY_ASSIGN(const Json json, parse_line(line, "the reply"));
  WB_TRY(check_version(json, "the reply"));
  ObjectReader reader(json, "the reply");
  reader.integer("v", k_version, k_version);
  Reply reply;
  reply.id = reader.integer("id", 0, k_max_id);
  const Json* ok = reader.member("ok");
  const Json* result = reader.member("result");
  const Json* error = reader.member("error");
  if (ok == nullptr || !ok->is_boolean()) {
    reader.fail("ok", "must be true or false");
  } else if (ok->get<bool>()) {
    if (result == nullptr || !result->is_object()) reader.fail("result", "must be an object");
  } else if (error == nullptr || !error->is_object()) {
    reader.fail("error", "must be an object");
  }
  WB_TRY(reader.finish());
  if (ok->get<bool>()) {
    reply.result = *result;
    return reply;
  }
  ObjectReader failure_reader(*error, "the error of the reply");
  Failure failure;
  const auto invalidity = parse_invalidity(failure_reader.string("invalidity"));
  if (!invalidity) failure_reader.fail("invalidity", "is not one of the known words");
  failure.message = failure_reader.string("message");
  failure.untrusted_output = failure_reader.string_or("untrusted_output", "");
  WB_TRY(failure_reader.finish());
  failure.invalidity = *invalidity;
  reply.result = std::move(failure);
  return reply;
}

std::string base64_encode(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '\0');
  // The NUL that it writes behind the text lands on the string's own.
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                  reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()));
  return text;
}

Result<std::string> base64_decode(std::string_view text) {
  const auto bad = [](std::string cause) {
    return Error{ErrorCode::parse, "decode base64", "data", std::move(cause),
                 "send padded RFC 4648 base64 without line breaks"};
  };
  if (text.empty()) return std::string();
  if (text.size() % 4 != 0) return bad("its length is not a multiple of 4");
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string bytes(text.size() / 4 * 3, '\0');
  const int decoded = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                      reinterpret_cast<const unsigned char*>(text.data()),
                                      static_cast<int>(text.size()));
  // OpenSSL skips blanks and takes padding anywhere and any leftover bits. Each text shall have one
  // decoding, so the bytes must encode to the same text.
  if (decoded == static_cast<int>(bytes.size())) {
    bytes.erase(bytes.size() - padding);
    if (base64_encode(bytes) == text) return bytes;
  }
  constexpr std::string_view k_alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto foreign = text.substr(0, text.size() - padding).find_first_not_of(k_alphabet);
  return bad(foreign != std::string_view::npos ? "a character is outside the alphabet"
                                               : "unused bits before the padding are not zero");
}

}  // namespace wb::protocol
