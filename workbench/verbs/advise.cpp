// SPDX-License-Identifier: MIT
// `advise`: what to try next on a session's incumbent (situation.hpp, advise/roadmap.hpp), and how
// well that was told at each step of recorded climbs (backtest.hpp).
#include "core/json.hpp"
#include "engine/recorded.hpp"
#include "outcome/outcome.hpp"
#include "report/report.hpp"
#include "verbs/arguments.hpp"
#include "verbs/backtest.hpp"
#include "verbs/situation.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

namespace {

Result<Json> advise_body(const Call& call) {
  if (call.args.contains("backtest")) {
    return backtest_json(call.services, call.args["backtest"].get<std::vector<std::string>>());
  }
  WB_TRY_ASSIGN(const session::Session* session, session_to_read(call));
  WB_TRY_ASSIGN(Json made, roadmap_json(call.services, *session, call.args.value("target", 1.0)));
  WB_TRY_ASSIGN(const session::SessionView* view, session->current(session::FoldDepth::full));
  // The outcome comes first: steps on the incumbent are read in the light of what is ahead already.
  made["text"] =
      outcome::paragraph(outcome::outcome_of(*view)) + "\n\n" + report::render_roadmap(made);
  return made;
}

}  // namespace

const Verb& verb_advise() {
  static const Verb verb{
      .spec =
          {.name = "advise",
           .doc = "what to try next on a session's incumbent, what it should gain, and its cost",
           .session = SessionNeed::reads,
           .arguments = {real_argument("target",
                                       "the wanted speed over the fastest rival (default 1)")
                             .in("ratio")
                             .between(0.01, 1000),
                         ids_argument("backtest",
                                      "recorded climbs, in place of a session: asks at each of "
                                      "their steps with all later knowledge hidden")},
           .result = {{"incumbent", "string: label"},
                      {"calibration",
                       "map: share (of the predicted logarithm that past predictions of all "
                       "sessions measured, drawn towards 1), count, events; families: the same "
                       "for each kind of technique, which its gains are calibrated by"},
                      {"entries",
                       "list: technique (of an idea without one: its id), ideas (ids, for "
                       "`propose --idea`), how (the parameter or the kernel that has it), low, "
                       "expected and high (speedup over the suite), effect (of isolated trials, "
                       "or null), foreign (of somebody else's file), strength of the evidence, "
                       "why, events, source of the range, hours, complexity, risk, needs, "
                       "pros, cons; best first"},
                      {"not_advised",
                       "list: technique, reason, event, loser (it lost in this scope)"},
                      {"room",
                       "list: by bound, where more than 1.3x is left: problems, steps against "
                       "it, measurements that would decide it, and in words (says)"},
                      {"climbs",
                       "list: sums by climb; this and the next five stand in a backtest's "
                       "answer in place of the above"},
                      {"steps",
                       "list: session, iteration, proposals, next_win (techniques and ideas), "
                       "hit_1, hit_3, predicted, measured"},
                      {"overall", "map: the sums over all climbs"},
                      {"after_register",
                       "map: the sums over climbs that began after register_day, which nothing in "
                       "the register was written from"},
                      {"register_day",
                       "string: the youngest day that the shipped register of ideas speaks of"},
                      {"goals", "list: what, wanted, got, reached"},
                      {"stages",
                       "list: techniques of a stage; low, expected and high up to there; and "
                       "the speed over the fastest rival then"},
                      {"rival_ratio", "real or null: speed over the fastest rival now (ratio)"},
                      {"target_ratio", "real: as asked for"},
                      {"reached_at_stage",
                       "int or null: where the expected figures reach the target; 0: already"},
                      {"hours_low", "real: of all stages, a guess (h)"},
                      {"hours_high", "real: likewise (h)"},
                      {"measuring_s", "real or null: an iteration a step, as those before (s)"},
                      {"measuring_usd", "real or null: the same (USD)"},
                      {"measuring_by_list_price", "bool: measuring_usd is by a list price"},
                      {"unseen", "list: what the log does not say"},
                      {"text", "string: what came of the session, and the same for people"}},
           .reads_only = true},
      .body = advise_body};
  return verb;
}

}  // namespace wb::verbs
