// SPDX-License-Identifier: MIT
// `race`: an iteration that times several variants against each other (module tune).
#include "core/json.hpp"
#include "engine/iteration.hpp"
#include "tune/tune.hpp"
#include "verbs/answer_forms.hpp"
#include "verbs/arguments.hpp"
#include "verbs/fake_engine.hpp"
#include "verbs/table.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

namespace {

Result<Json> race_body(const Call& call) {
  WB_TRY(need_baseline(call.context, "race"));
  return tune::race_variants(call.context, call.args);
}

/// Like the sample of `tune` for the first variant.
Result<Json> race_sample(FakeEngine& fake, const Json& args) {
  const Json& variants = args["variants"];
  if (variants.size() < 2) {
    return Error{ErrorCode::usage, "race", variants.dump(), "a race has 2 variants at least", ""};
  }
  Json first = args;
  first["variant"] = variants.at(0);
  first.erase("variants");
  return verb_tune().sample(fake, first);
}

}  // namespace

const Verb& verb_race() {
  static const Verb verb{
      .spec =
          {.name = "race",
           .doc = "one iteration that times several variants against each other, drops the slower "
                  "ones stage by stage, and confirms the best in fresh processes",
           .session = SessionNeed::writes,
           .arguments =
               {ids_argument("variants", "2 to 64 kernels or labels of variants of this session")
                    .required(),
                text_argument("hypothesis", "why one of them should win, one sentence").required(),
                predicted_argument(), search_seed_argument(), search_evaluations_argument(),
                search_seconds_argument(), search_usd_argument(), ahead_argument()},
           .result = {{"iteration", "int: its number"},
                      {"outcome", "string: win, no_gain, invalid or stopped"},
                      {"invalidity", "string or null: why nothing that was searched is valid"},
                      {"message", "string: what happened, one sentence"},
                      {"speedup", "real or null: confirmed, over the incumbent (ratio)"},
                      {"interval", "map or null: low, high, confidence of the speedup"},
                      {"decision", "string: supported, refuted or undecided"},
                      {"mechanism", "string: confirmed, not_confirmed or undecided"},
                      {"size",
                       "string: of the gain: within, above or below the prediction, or undecided"},
                      {"variant", "string: label of the best"},
                      {"incumbent", "string: label of the incumbent afterwards"},
                      {"problems", "list: per problem outcome, speedup and medians (us)"},
                      {"stop_reason", "string or null: why the session should end now"},
                      {"configuration", "map or null: of what looks best"},
                      {"evaluations",
                       "list: the 40 best: variant, configuration, outcome and speedup against the "
                       "best, which choose but report nothing"},
                      {"tune", "map: counts, seconds built, measured and waited, why it ended"}},
           .is_long = true},
      .body = race_body,
      .text = search_text,
      .exit_code = exit_code_of_iteration,
      .sample = race_sample};
  return verb;
}

}  // namespace wb::verbs
