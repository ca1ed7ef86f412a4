// SPDX-License-Identifier: MIT
// `record decision`: logs a question, the choice and the reason.
#include "core/json.hpp"
#include "engine/parts.hpp"
#include "verbs/arguments.hpp"
#include "verbs/fake_engine.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

namespace {

Result<Json> record_decision_body(const Call& call) {
  const Json& args = call.args;
  WB_TRY_ASSIGN(const std::int64_t seq,
                log_event(call.context, "decision_recorded",
                          {{"question", args["question"]},
                           {"options", args.value("options", Json::array())},
                           {"choice", args["choice"]},
                           {"reason", args["reason"]}}));
  return Json{{"event", seq}};
}

Result<Json> record_decision_sample(FakeEngine& fake, const Json&) {
  return Json{{"event", fake.calls().size()}};
}

}  // namespace

const Verb& verb_record_decision() {
  static const Verb verb{
      .spec =
          {.name = "record_decision",
           .doc =
               "write a decision into the session's log: what was asked, what was chosen and why",
           .session = SessionNeed::writes,
           .arguments =
               {text_argument("question", "what was to be decided").required().positional(),
                text_argument("choice", "what was chosen").required(),
                text_argument("reason", "why").required(),
                ids_argument("options", "what else could be chosen")},
           .result = {{"event", "int: its event id"}},
           .only_logs = true},
      .body = record_decision_body,
      .sample = record_decision_sample};
  return verb;
}

}  // namespace wb::verbs
