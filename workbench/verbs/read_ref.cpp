// SPDX-License-Identifier: MIT
// `read ref`: reads text that an answer had no room for, in pieces.
#include <fmt/format.h>

#include <algorithm>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "engine/recorded.hpp"
#include "engine/services.hpp"
#include "engine/settings.hpp"
#include "engine/subject.hpp"
#include "verbs/arguments.hpp"
#include "verbs/fake_engine.hpp"
#include "verbs/proposed.hpp"
#include "verbs/shown.hpp"
#include "verbs/suite_selection.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::load_stored;
using engine::Services;
using engine::SessionSettings;
using engine::settings_from_json;
using engine::text_of;
using session::FoldDepth;
using session::Session;
using session::SessionView;

namespace {

constexpr std::int64_t k_piece_bytes = 3000;
constexpr std::uint64_t k_whole_max_bytes = 64u << 20;

Error not_there(const std::string& ref, ErrorCode code, std::string cause, std::string next = {}) {
  if (next.empty()) {
    next =
        "references are e12 (event), i3 (iteration), a kernel or label, one of its files such as "
        "cpu_tiled/kernel.cpp, or the 64 digits that an answer gave";
  }
  return Error{code, "read the reference", printable(ref), std::move(cause), std::move(next)};
}

/// A blob of the session, or an answer that a tool cut and stored beside it.
Result<std::string> read_digest(const Services& services, const Session& session,
                                const std::string& ref) {
  auto blob = session.read_blob(ref);
  if (blob || blob.error().code != ErrorCode::not_found) return blob;
  const fs::path path = session.folder() / "jobs" / ref;
  auto kept = services.file_system.read(path, k_whole_max_bytes);
  if (!kept) return not_there(ref, ErrorCode::not_found, "the session keeps no such text");
  if (sha256_hex(*kept) != ref) {
    return not_there(ref, ErrorCode::damaged, "its text was changed", "call the tool again");
  }
  return kept;
}

Result<std::string> read_source(const Call& call, const Session& session, const std::string& ref) {
  const std::size_t slash = ref.find('/');
  const std::string id = ref.substr(0, slash);
  std::pair<variant::Variant, variant::Configuration> resolved;
  if (id.find('@') == std::string::npos) {
    WB_TRY_ASSIGN(resolved, resolve_variant(call.context, id));
  } else {
    WB_TRY_ASSIGN(const SessionView* view, session.current(FoldDepth::full));
    const Json* built = find_proposed(*view, id);
    if (built == nullptr) {
      return not_there(ref, ErrorCode::not_found, "nothing in this session has the label " + id);
    }
    WB_TRY_ASSIGN(resolved.first, load_stored(session, id, text_of(*built, "variant_id")));
  }
  const variant::Variant& variant = resolved.first;
  std::string listing;
  for (const auto& [path, content] : variant.files) {
    listing += fmt::format("{}/{} ({} bytes)\n", id,
                           path.starts_with(variant.manifest.name + "/")
                               ? path.substr(variant.manifest.name.size() + 1)
                               : path,
                           content.size());
  }
  if (slash == std::string::npos) return listing;
  const std::string inside = ref.substr(slash + 1);
  for (const std::string& path : {variant.manifest.name + "/" + inside, inside}) {
    const auto found = variant.files.find(path);
    if (found != variant.files.end()) return found->second;
  }
  return not_there(ref, ErrorCode::not_found, id + " has no such file",
                   fmt::format("read {} for the list of its files", id));
}

bool is_event_or_iteration(std::string_view ref) {
  return ref.size() > 1 && (ref[0] == 'e' || ref[0] == 'i') &&
         ref.substr(1).find_first_not_of("0123456789") == std::string_view::npos;
}

Result<std::string> whole_text(const Call& call, const Session& session, const std::string& ref) {
  if (is_sha256(ref)) return read_digest(call.services, session, ref);
  if (is_event_or_iteration(ref)) {
    WB_TRY_ASSIGN(const Json shown, show_id(session, ref));
    return shown["value"].dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return read_source(call, session, ref);
}

/// Replaces bytes that are not UTF-8, since an answer is JSON.
std::string as_utf8(const std::string& text) {
  const std::string dumped = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(dumped).get<std::string>();
}

/// The last character boundary at or before `at`.
std::size_t at_character(const std::string& text, std::size_t at) {
  at = std::min(at, text.size());
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

Result<Json> piece_of(const Call& call, const Session& session) {
  const Json& args = call.args;
  const auto ref = args["ref"].get<std::string>();
  const auto limit = static_cast<std::size_t>(args.value("limit", k_piece_bytes));
  WB_TRY_ASSIGN(const std::string raw, whole_text(call, session, ref));
  WB_TRY_ASSIGN(const SessionView* view, session.current(FoldDepth::brief));
  WB_TRY_ASSIGN(const SessionSettings settings, settings_from_json(view->opened.payload));
  const std::string text = as_utf8(ProblemNames(settings.suite).hide(raw));
  const std::size_t begin =
      at_character(text, static_cast<std::size_t>(args.value("offset", std::int64_t{0})));
  std::size_t end = at_character(text, begin + limit);
  if (end == begin && begin < text.size()) {  // a character longer than the limit
    end = begin + 1;
    while (end < text.size() && at_character(text, end) != end) ++end;
  }
  return Json{{"ref", ref},
              {"offset", begin},
              {"text", text.substr(begin, end - begin)},
              {"next_offset", end < text.size() ? Json(end) : Json(nullptr)},
              {"total_bytes", text.size()}};
}

Result<Json> read_ref_body(const Call& call) {
  WB_TRY_ASSIGN(const Session* session, session_to_read(call));
  return piece_of(call, *session);
}

Result<Json> read_ref_sample(FakeEngine&, const Json& args) {
  return Json{{"ref", args["ref"]},
              {"offset", 0},
              {"text", "dry run"},
              {"next_offset", nullptr},
              {"total_bytes", 7}};
}

}  // namespace

const Verb& verb_read_ref() {
  static const Verb verb{
      .spec = {.name = "read_ref",
               .doc = "read a long text by its reference, piece by piece: sources, events, "
                      "compiler output, answers that were cut",
               .session = SessionNeed::reads,
               .arguments = {id_argument(
                                 "ref",
                                 "cpu_tiled/kernel.cpp or LABEL/kernel.cpp (file), LABEL (its "
                                 "files), e12 (event), i3 (iteration), or 64 digits of an answer")
                                 .required()
                                 .positional(),
                             integer_argument(
                                 "offset",
                                 "where to begin (default 0; next_offset of the piece before)")
                                 .in("bytes")
                                 .between(0, 1e12),
                             integer_argument("limit", "at most so much (default 3000)")
                                 .in("bytes")
                                 .between(1, 65536)},
               .result = {{"ref", "string: as asked for"},
                          {"offset", "int: where the text begins (bytes)"},
                          {"text", "string: the piece"},
                          {"next_offset",
                           "int or null: where the next one begins; null: it is the last"},
                          {"total_bytes", "int: of the whole text"}},
               .reads_only = true},
      .body = read_ref_body,
      .sample = read_ref_sample};
  return verb;
}

}  // namespace wb::verbs
