// SPDX-License-Identifier: MIT
// `close`: records the session's final results.
#include <fmt/format.h>

#include "core/json.hpp"
#include "engine/closing.hpp"
#include "engine/context.hpp"
#include "engine/recorded.hpp"
#include "engine/spending.hpp"
#include "engine/verb.hpp"
#include "verbs/answer_forms.hpp"
#include "verbs/arguments.hpp"
#include "verbs/fake_engine.hpp"
#include "verbs/opening.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

namespace {

std::string close_text(const Json& answer) {
  return fmt::format("report: {}\ncommit: {}\n{}\n", cell(answer["report"]), cell(answer["commit"]),
                     cell(answer["session"]));
}

Result<Json> close_sample(FakeEngine& fake, const Json&) {
  fake.is_closed = true;
  return Json{{"session", "dry-run"}, {"report", ""}, {"commit", ""}};
}

}  // namespace

const Verb& verb_close() {
  static const Verb verb{
      .spec = {.name = "close",
               .doc = "close the session: final report, last commit",
               .session = SessionNeed::writes,
               .arguments = {text_argument("reason", "why it ends (default: finished)"),
                             text_argument("recommendation",
                                           "what the author of the session advises")},
               .result = {{"session", "string: the session's folder"},
                          {"report", "string: path of the report"},
                          {"commit", "string: object id of the last commit"}},
               .only_logs = true},
      .body = [](const Call& call) { return close_session(call.context, call.args); },
      .text = close_text,
      .sample = close_sample};
  return verb;
}

}  // namespace wb::verbs
