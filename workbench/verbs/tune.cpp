// SPDX-License-Identifier: MIT
// `tune`: an iteration that searches a variant's tunable parameters (module tune).
#include "tune/tune.hpp"
#include "core/json.hpp"
#include "engine/engine.hpp"
#include "engine/iteration.hpp"
#include "verbs/answer_forms.hpp"
#include "verbs/arguments.hpp"
#include "verbs/fake_engine.hpp"
#include "verbs/table.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

namespace {

Result<Json> tune_body(const Call& call) {
  WB_TRY(need_baseline(call.context, "tune"));
  return tune::tune_variant(call.context, call.args);
}

Result<Json> tune_sample(FakeEngine& fake, const Json& args) {
  WB_TRY_ASSIGN(Json answer, verb_iterate().sample(fake, args));
  const bool has_rows = answer["outcome"] != "stopped";
  answer.update({{"configuration", nullptr},
                 {"evaluations", Json::array()},
                 {"tune", has_rows ? Json{{"told", 1}, {"valid", 1}} : Json(nullptr)}});
  if (!has_rows || answer["outcome"] == "invalid") return answer;
  const std::string variant = args.value("variant", fake.incumbent);
  const std::string name = variant.substr(0, variant.find('@'));
  auto row = fake.engine().call("kernels", {{"name", name}});
  answer["configuration"] =
      row ? (*row)["kernels"].at(0).value("defaults", Json::object()) : Json::object();
  answer["evaluations"].push_back({{"variant", name},
                                   {"configuration", answer["configuration"]},
                                   {"outcome", "same"},
                                   {"speedup", 1.0},
                                   {"interval", nullptr},
                                   {"duplicate", false},
                                   {"message", ""}});
  return answer;
}

}  // namespace

const Verb& verb_tune() {
  static const Verb verb{
      .spec =
          {.name = "tune",
           .doc = "one iteration that searches a variant's tunable parameters and confirms the "
                  "best in fresh processes",
           .session = SessionNeed::writes,
           .arguments =
               {id_argument("variant",
                            "the kernel, or the label of a variant (default: the incumbent)"),
                text_argument("hypothesis", "why tuning should help, one sentence").required(),
                predicted_argument(),
                choice_argument(
                    "strategy",
                    "what to ask for next (default random; docs/guide/simulation.md); tpe, "
                    "cma_es and gp are Optuna's, from Python only",
                    {"exhaustive", "random", "hill_climb", "racing", "tpe", "cma_es", "gp"}),
                search_seed_argument(), search_evaluations_argument(), search_seconds_argument(),
                search_usd_argument(), ahead_argument()},
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
                       "list: the 40 best: variant, configuration, outcome and speedup against "
                       "the best, which choose but report nothing"},
                      {"tune", "map: counts, seconds built, measured and waited, why it ended"}},
           .is_long = true},
      .body = tune_body,
      .text = search_text,
      .exit_code = exit_code_of_iteration,
      .sample = tune_sample};
  return verb;
}

}  // namespace wb::verbs
