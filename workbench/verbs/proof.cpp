// SPDX-License-Identifier: MIT
// `proof`: which artifact of a variant passed in a session, and what its passes cover (proven.hpp).
#include <fmt/format.h>

#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "engine/subject.hpp"
#include "session/session.hpp"
#include "verbs/arguments.hpp"
#include "verbs/export_files.hpp"
#include "verbs/proven.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::Context;
using engine::Subject;

namespace {

Result<Json> proof_of(Context& context, const session::Session& session, const Json& args) {
  WB_TRY_ASSIGN(const auto configuration, wanted_configuration(args));
  WB_TRY_ASSIGN(const Proven proven,
                find_proven(context, session, args["variant"].get<std::string>(), configuration));
  const Subject& subject = proven.subject;
  Json takes = nullptr, reason = nullptr;
  std::string text = fmt::format("{}: {} passes, {}\n", subject.label, proven.passes.size(),
                                 subject.artifact.path.string());
  if (args.contains("problem")) {
    WB_TRY_ASSIGN(const problem::Problem problem,
                  problem::parse_problem(args["problem"].get<std::string>()));
    const auto outside = outside_domain(proven, problem);
    takes = !outside.has_value();
    if (outside) reason = *outside;
    text += fmt::format("{}: {}\n", to_text(problem), outside ? *outside : "covered");
  }
  const variant::Manifest& manifest = subject.variant.manifest;
  return Json{{"variant", subject.label},
              {"name", manifest.name},
              {"variant_id", subject.variant.id},
              {"artifact_id", subject.artifact.id},
              {"library", fs::absolute(subject.artifact.path).string()},
              {"backend", to_string(manifest.backend)},
              {"target", subject.artifact.record.target},
              {"configuration", variant::to_json(subject.configuration)},
              {"session", proven.session},
              {"device", text_of(member_of(proven.environment, "device"), "name")},
              {"domain", domain_json(proven)},
              {"passes", proven.passes},
              {"takes", std::move(takes)},
              {"reason", std::move(reason)},
              {"text", std::move(text)}};
}

Result<Json> proof_body(const Call& call) {
  WB_TRY_ASSIGN(const session::Session* session, session_to_read(call));
  return proof_of(call.context, *session, call.args);
}

}  // namespace

const Verb& verb_proof() {
  static const Verb verb{
      .spec =
          {.name = "proof",
           .doc =
               "the artifact of a variant that passed in a session, and which problems that covers",
           .session = SessionNeed::reads,
           .arguments = {passed_variant_argument(), passed_configuration_argument(),
                         string_argument(
                             "problem",
                             "whether the passes cover it, such as 'B=1 Hq=8 Sq=512 D=64 f16'")},
           .result = {{"variant", "string: label"},
                      {"name", "string: kernel name"},
                      {"variant_id", "string: of its sources"},
                      {"artifact_id", "string: of what passed"},
                      {"library", "string: the file, in the cache"},
                      {"backend", "string: cpu or cuda"},
                      {"target", "string: what it was compiled for"},
                      {"configuration", "map: tunable parameters"},
                      {"session", "string: its folder"},
                      {"device", "string: what it passed on"},
                      {"domain",
                       "map: entries (per dtype and head dim: causal, masks, layouts, gqa, largest "
                       "sizes, events), restrictions, rows_without_keys"},
                      {"passes", "list: event, problem, worst_share"},
                      {"takes", "bool or null: the passes cover the problem"},
                      {"reason", "string or null: why not"},
                      {"text", "string: the same for people"}},
           .reads_only = true,
           .in_playbook = false},
      .body = proof_body};
  return verb;
}

}  // namespace wb::verbs
