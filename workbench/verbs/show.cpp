// SPDX-License-Identifier: MIT
// `show`: one event, iteration or variant in full, or a variant's code (variant_code.hpp).
#include "verbs/show.hpp"

#include <fmt/format.h>

#include <charconv>

#include "core/json.hpp"
#include "engine/context.hpp"
#include "engine/recorded.hpp"
#include "engine/verb.hpp"
#include "report/report.hpp"
#include "verbs/arguments.hpp"
#include "verbs/variant_code.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using session::IterationView;
using session::SessionView;

namespace {

std::optional<std::int64_t> number_after(std::string_view id, char prefix) {
  if (id.size() < 2 || id.front() != prefix) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, fault] = std::from_chars(id.data() + 1, id.data() + id.size(), number);
  if (fault != std::errc() || end != id.data() + id.size()) return std::nullopt;
  return number;
}

Error unknown_id(const std::string& id, const std::string& what) {
  return Error{ErrorCode::not_found, "show", id, what,
               "ids are e12 (event), i3 (iteration) or a label such as name@1f0c44aa"};
}

}  // namespace

Result<Json> show_id(const session::Session& session, const std::string& id) {
  if (const auto seq = number_after(id, 'e')) {
    if (*seq < 1 || *seq > session.log().size()) {
      return unknown_id(id, fmt::format("the log has events e1 to e{}", session.log().size()));
    }
    WB_TRY_ASSIGN(const session::Event event, session.log().event(*seq));
    return Json{
        {"kind", "event"},
        {"value",
         {{"seq", event.seq}, {"t", event.t}, {"type", event.type}, {"payload", event.payload}}},
        {"text", report::render_event(event)}};
  }
  WB_TRY_ASSIGN(const SessionView* current, session.current(session::FoldDepth::full));
  const SessionView& view = *current;
  if (const auto number = number_after(id, 'i')) {
    const IterationView* iteration = view.find(*number);
    if (iteration == nullptr) return unknown_id(id, "there is no such iteration");
    return Json{{"kind", "iteration"},
                {"value", report::iteration_json(view, *iteration)},
                {"text", report::render_iteration(view, *iteration)}};
  }
  for (const IterationView& iteration : view.iterations) {
    for (const session::Fact& built : iteration.built) {
      if (built.payload.value("subject", "") != id) continue;
      WB_TRY_ASSIGN(const auto files,
                    session.load_variant_files(built.payload.value("variant_id", "")));
      std::string text;
      for (const auto& [path, content] : files) text += fmt::format("==> {}\n{}\n", path, content);
      return Json{{"kind", "variant"},
                  {"value", {{"built", built.payload}, {"files", files}}},
                  {"text", text}};
    }
  }
  return unknown_id(id, "nothing of that name is in the session");
}

namespace {

Result<Json> show_body(const Call& call) {
  const bool is_code = asks_for_code(call.args);
  if (is_code && !call.context.session && call.folder.empty()) {
    return show_code(call.context, nullptr, call.args);
  }
  WB_TRY_ASSIGN(const session::Session* session, session_to_read(call));
  return is_code ? show_code(call.context, session, call.args)
                 : show_id(*session, call.args["id"].get<std::string>());
}

}  // namespace

const Verb& verb_show() {
  static const Verb verb{
      .spec = {.name = "show",
               .doc =
                   "one event, iteration or variant in full, with raw samples; or a variant's code",
               .session = SessionNeed::reads,
               .arguments = {id_argument("id",
                                         "e12 (event), i3 (iteration) or a variant's label; for "
                                         "code also a kernel's name, without a session")
                                 .required()
                                 .positional(),
                             flag_argument("source", "all files of the variant"),
                             flag_argument("ptx", "PTX of a CUDA variant (nvcc)"),
                             flag_argument("sass",
                                           "machine code of a CUDA variant (nvcc and cuobjdump)"),
                             configuration_argument(), target_argument()},
               .result =
                   {{"kind", "string: event, iteration, variant, source, ptx or sass"},
                    {"value",
                     "any: its content; of code the label, the target and why_target as in build"},
                    {"text", "string: the same for people"}},
               .reads_only = true},
      .body = show_body};
  return verb;
}

}  // namespace wb::verbs
