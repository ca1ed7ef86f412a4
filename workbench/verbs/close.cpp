// SPDX-License-Identifier: MIT
// `close`: records the session's final results. With `--measure SECONDS` it first takes, of the
// measurements that would decide the open causes, what fits into that time (diagnose_measure.cpp),
// and says what it did not take and why. It needs the device only then: a session whose device is
// gone still closes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "engine/closing.hpp"
#include "engine/context.hpp"
#include "engine/recorded.hpp"
#include "engine/spending.hpp"
#include "verbs/answer_forms.hpp"
#include "verbs/arguments.hpp"
#include "verbs/decided_causes.hpp"
#include "verbs/fake_engine.hpp"
#include "verbs/opening.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

namespace {

std::string close_text(const Json& answer) {
  std::string out;
  for (const Json& row : list_of(answer, "measured")) {
    const std::string message = text_of(row, "message");
    out +=
        fmt::format("{} for {}: {}{}\n", row["probe"].is_null() ? "no probe" : cell(row["probe"]),
                    fmt::join(strings_of(row, "causes"), ", "), cell(row["outcome"]),
                    message.empty() ? "" : ": " + message);
  }
  return out + fmt::format("report: {}\ncommit: {}\n{}\n", cell(answer["report"]),
                           cell(answer["commit"]), cell(answer["session"]));
}

Result<Json> close_body(const Call& call) {
  Json measured;
  if (call.args.contains("measure")) {
    WB_TRY_ASSIGN(measured, measure_before_close(call.context, call.args["measure"].get<double>()));
    WB_TRY(call.context.spending->debit_device("diagnose"));
  }
  WB_TRY_ASSIGN(Json made, close_session(call.context, call.args));
  made["measured"] = std::move(measured);
  return made;
}

Result<Json> close_sample(FakeEngine& fake, const Json& args) {
  fake.is_closed = true;
  Json measured;
  if (args.contains("measure")) {
    measured = Json::array({{{"probe", "keys"},
                             {"outcome", "measured"},
                             {"message", ""},
                             {"causes", {"sequential_kv"}}},
                            {{"probe", nullptr},
                             {"outcome", "not_taken"},
                             {"message", "dry run"},
                             {"causes", {"memory_bandwidth"}}}});
  }
  return Json{
      {"session", "dry-run"}, {"report", ""}, {"commit", ""}, {"measured", std::move(measured)}};
}

}  // namespace

const Verb& verb_close() {
  static const Verb verb{
      .spec = {.name = "close",
               .doc = "close the session: final report, last commit",
               .session = SessionNeed::writes,
               .arguments = {text_argument("reason", "why it ends (default: finished)"),
                             text_argument("recommendation",
                                           "what the author of the session advises"),
                             real_argument("measure",
                                           "first take what decides open causes, in about so many "
                                           "seconds; without it nothing is measured")
                                 .in("s")
                                 .between(0, 86400)},
               .result = {{"session", "string: the session's folder"},
                          {"report", "string: path of the report"},
                          {"commit", "string: object id of the last commit"},
                          {"measured",
                           "list or null: probe (null: none takes it), outcome (measured, open, "
                           "failed, not_supported, not_taken), message, causes that wait for it; "
                           "null without --measure"}},
               .only_logs = true},
      .body = close_body,
      .text = close_text,
      .sample = close_sample};
  return verb;
}

}  // namespace wb::verbs
