// SPDX-License-Identifier: MIT
// `note`: adds a note to the log. A note with a phase begins that phase.
#include "core/json.hpp"
#include "engine/parts.hpp"
#include "verbs/arguments.hpp"
#include "verbs/fake_engine.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

namespace {

Result<Json> note_body(const Call& call) {
  const Json& args = call.args;
  if (args.contains("planned_minutes") && !args.contains("phase")) {
    return Error{ErrorCode::usage, "plan minutes for", "a note", "it begins no phase",
                 "name one with --phase"};
  }
  Json note{{"text", args["text"]}, {"iteration", nullptr}};
  for (const char* key : {"phase", "planned_minutes"}) {
    if (args.contains(key)) note[key] = args[key];
  }
  WB_TRY_ASSIGN(const std::int64_t seq, log_event(call.context, "note", std::move(note)));
  return Json{{"event", seq}};
}

Result<Json> note_sample(FakeEngine& fake, const Json&) {
  return Json{{"event", fake.calls().size()}};
}

}  // namespace

const Verb& verb_note() {
  static const Verb verb{
      .spec = {.name = "note",
               .doc = "write a note into the session's log",
               .session = SessionNeed::writes,
               .arguments = {text_argument("text", "the note").required().positional(),
                             string_argument(
                                 "phase",
                                 "the note begins a phase of this name, up to the next one"),
                             real_argument(
                                 "planned_minutes",
                                 "planned for that phase; the report holds what it took against it")
                                 .in("min")
                                 .between(0, 1e6)},
               .result = {{"event", "int: its event id"}},
               .only_logs = true},
      .body = note_body,
      .sample = note_sample};
  return verb;
}

}  // namespace wb::verbs
