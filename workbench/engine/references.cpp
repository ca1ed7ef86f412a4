// SPDX-License-Identifier: MIT
// `read_ref`: what an answer had no room for, piece by piece. `record_usage`: what the reader cost.
#include <fmt/format.h>

#include <algorithm>

#include "core/hash.hpp"
#include "engine/agent_verbs.hpp"
#include "engine/recorded.hpp"
#include "engine/verb_bodies.hpp"

namespace wb::engine {

using session::CostItem;
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

bool is_digest(std::string_view ref) {
  return ref.size() == 64 && ref.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// A blob of the session, or an answer that a tool has cut and kept beside it.
Result<std::string> read_digest(const Context& context, const Session& session,
                                const std::string& ref) {
  auto blob = session.read_blob(ref);
  if (blob || blob.error().code != ErrorCode::not_found) return blob;
  const fs::path path = session.folder() / "jobs" / ref;
  auto kept = context.services.file_system.read(path, k_whole_max_bytes);
  if (!kept) return not_there(ref, ErrorCode::not_found, "the session keeps no such text");
  if (sha256_hex(*kept) != ref) {
    return not_there(ref, ErrorCode::damaged, "its text was changed", "call the tool again");
  }
  return kept;
}

Result<std::string> read_source(Context& context, const Session& session, const std::string& ref) {
  const std::size_t slash = ref.find('/');
  const std::string id = ref.substr(0, slash);
  std::pair<variant::Variant, variant::Configuration> resolved;
  if (id.find('@') == std::string::npos) {
    WB_TRY_ASSIGN(resolved, resolve_variant(context, id));
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

Result<std::string> whole_text(Context& context, const Session& session, const std::string& ref) {
  if (is_digest(ref)) return read_digest(context, session, ref);
  if (is_event_or_iteration(ref)) {
    WB_TRY_ASSIGN(const Json shown, verb_show(session, {{"id", ref}}));
    return shown["value"].dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return read_source(context, session, ref);
}

/// Bytes that are no UTF-8 are replaced: an answer is JSON.
std::string as_utf8(const std::string& text) {
  const std::string dumped = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(dumped).get<std::string>();
}

/// The last place at or before `at` where a character begins.
std::size_t at_character(const std::string& text, std::size_t at) {
  at = std::min(at, text.size());
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

}  // namespace

const Json* find_proposed(const SessionView& view, std::string_view id) {
  const Json* found = nullptr;
  const auto look = [&](const session::IterationView& iteration) {
    for (const session::Fact& built : iteration.built) {
      const std::string subject = text_of(built.payload, "subject");
      const std::string of_sources = subject.substr(0, subject.find('@')) + "@" +
                                     short_hash(text_of(built.payload, "variant_id"));
      if (subject == id || of_sources == id) found = &built.payload;
    }
  };
  look(view.outside);
  for (const session::IterationView& iteration : view.iterations) look(iteration);
  return found;
}

Result<Json> verb_read_ref(Context& context, const Session& session, const Json& args) {
  const auto ref = args["ref"].get<std::string>();
  const auto limit = static_cast<std::size_t>(args.value("limit", k_piece_bytes));
  WB_TRY_ASSIGN(const std::string raw, whole_text(context, session, ref));
  WB_TRY_ASSIGN(const SessionView* view, session.current(FoldDepth::brief));
  WB_TRY_ASSIGN(const SessionSettings settings, settings_from_json(view->opened.payload));
  const std::string text = as_utf8(ProblemNames(settings.suite).hide(raw));
  const std::size_t begin =
      at_character(text, static_cast<std::size_t>(args.value("offset", std::int64_t{0})));
  std::size_t end = at_character(text, begin + limit);
  if (end == begin && begin < text.size()) {  // a character that is longer than the limit
    end = begin + 1;
    while (end < text.size() && at_character(text, end) != end) ++end;
  }
  return Json{{"ref", ref},
              {"offset", begin},
              {"text", text.substr(begin, end - begin)},
              {"next_offset", end < text.size() ? Json(end) : Json(nullptr)},
              {"total_bytes", text.size()}};
}

Result<Json> verb_record_usage(Context& context, const Json& args) {
  const auto input = args["input_tokens"].get<std::int64_t>();
  const auto output = args["output_tokens"].get<std::int64_t>();
  const auto tokens = static_cast<double>(input) + static_cast<double>(output);
  const auto usd = args.contains("usd")
                       ? std::optional(args["usd"].get<double>())
                       : session::price_usd(context.settings.rates, CostItem::tokens, tokens);
  context.spent.debit(CostItem::tokens, tokens, usd);
  const Json price = usd ? Json(*usd) : Json(nullptr);
  const Json cached = args.value("cached_tokens", Json(nullptr));
  WB_TRY_ASSIGN(
      const std::int64_t event,
      context.log(
          "cost_debited",
          {{"iteration", nullptr},
           {"item", to_string(CostItem::tokens)},
           {"quantity", tokens},
           {"unit", session::unit_of(CostItem::tokens)},
           {"usd", price},
           {"parts",
            {{"input_tokens", input}, {"output_tokens", output}, {"cached_tokens", cached}}},
           {"priced_by", args.contains("usd") ? "caller" : "rate"},
           {"what", args["model"]}}));
  WB_TRY_ASSIGN(const SessionView* view, context.session->current(FoldDepth::brief));
  const Json ledger = to_json(view->ledger);
  const StopDecision stop =
      stop_decision(*view, context.settings.budget, context.settings.stop, context.elapsed_s());
  return Json{{"event", event},
              {"tokens", input + output},
              {"usd", price},
              {"total_tokens", ledger["items"]["tokens"]["quantity"]},
              {"total_usd", ledger["total_usd"]},
              {"stop_reason", stop.reason ? Json(*stop.reason) : Json(nullptr)},
              {"warning", stop.warning ? Json(*stop.warning) : Json(nullptr)}};
}

}  // namespace wb::engine
