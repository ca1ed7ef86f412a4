// SPDX-License-Identifier: MIT
// `show`: one event, iteration or variant in full, or a variant's code (shown.hpp).
#include "core/json.hpp"
#include "engine/parts.hpp"
#include "session/session.hpp"
#include "verbs/arguments.hpp"
#include "verbs/shown.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

namespace {

Result<Json> show_body(const Call& call) {
  const bool is_code = asks_for_code(call.args);
  if (is_code && session_of(call.context) == nullptr && call.folder.empty()) {
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
