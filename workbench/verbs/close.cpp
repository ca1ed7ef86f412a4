// SPDX-License-Identifier: MIT
// `close`: records the session's final results.
#include "verbs/close.hpp"

#include <fmt/format.h>

#include "core/json.hpp"
#include "engine/closing.hpp"
#include "engine/context.hpp"
#include "engine/recorded.hpp"
#include "engine/verb.hpp"
#include "verbs/arguments.hpp"
#include "verbs/decided_causes.hpp"
#include "verbs/fake_engine.hpp"
#include "verbs/situation.hpp"
#include "verbs/text.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::closed_answer;
using engine::confirmed_gain;
using engine::Context;

Result<Json> close_session(Context& context, const Json& args) {
  WB_TRY_ASSIGN(const session::SessionView* view,
                context.session->current(session::FoldDepth::brief));
  const bool won = confirmed_gain(*view).has_value();
  WB_TRY(record_causes(context));
  WB_TRY(record_roadmap(context));
  WB_TRY(write_session_report(context));
  WB_TRY_ASSIGN(const std::string oid,
                context.session->close({{"reason", args.value("reason", "finished")},
                                        {"outcome", won ? "improved" : "unchanged"},
                                        {"recommendation", args.value("recommendation", "")}}));
  // Rendered again, since the report now includes the closing.
  WB_TRY(write_session_report(context));
  report_end_milestone(context, "closed", args.value("reason", "finished"));
  return closed_answer(*context.session, oid);
}

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
