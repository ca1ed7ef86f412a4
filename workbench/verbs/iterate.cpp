// SPDX-License-Identifier: MIT
// `iterate`: one iteration (engine/iteration.cpp).
#include <fmt/format.h>

#include "core/json.hpp"
#include "engine/context.hpp"
#include "engine/iteration.hpp"
#include "measure/prediction.hpp"
#include "verbs/answer_forms.hpp"
#include "verbs/arguments.hpp"
#include "verbs/fake_engine.hpp"
#include "verbs/table.hpp"
#include "verbs/trials.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

namespace {

/// A busy machine can leave an iteration without a figure; playbooks must handle that.
constexpr std::int64_t k_undecided_every = 3;

Result<Json> iterate_body(const Call& call) {
  WB_TRY(need_baseline(call.context, "iterate"));
  WB_TRY(check_idea_ids(call.context, call.args.value("idea", Json::array())));
  return engine::iterate(call.context, call.args);
}

Json stopped_sample(const FakeEngine& fake) {
  return {{"iteration", nullptr},
          {"outcome", "stopped"},
          {"invalidity", nullptr},
          {"message", "no further iteration"},
          {"speedup", nullptr},
          {"interval", nullptr},
          {"decision", "undecided"},
          {"mechanism", "undecided"},
          {"size", "undecided"},
          {"variant", ""},
          {"incumbent", fake.incumbent},
          {"problems", Json::array()},
          {"stop_reason", fake.stop_reason()}};
}

/// A sample answer without a figure.
Json with_no_figure(Json answer, const FakeEngine& fake, std::string_view outcome,
                    std::string_view message) {
  answer.update({{"outcome", outcome},
                 {"message", message},
                 {"speedup", nullptr},
                 {"interval", nullptr},
                 {"decision", "undecided"},
                 {"mechanism", "undecided"},
                 {"size", "undecided"},
                 {"incumbent", fake.incumbent}});
  return answer;
}

Result<Json> iterate_sample(FakeEngine& fake, const Json& args) {
  if (fake.is_stopped()) return stopped_sample(fake);
  const std::string parent = args.value("parent", fake.incumbent);
  const std::string variant = args.value("variant", parent);
  WB_TRY_ASSIGN(std::string fault,
                fake.misfit(variant, args.value("configuration", Json::object())));
  std::string_view invalidity = "constraints";
  if (fault.empty() && fake.course() == Course::failing) {
    fault = "dry run: every iteration fails";
    invalidity = "correctness";
  }
  const std::int64_t number = ++fake.iteration;
  const std::string name = args.value("name", variant.substr(0, variant.find('@')));
  const std::string label = fmt::format("{}@{:08x}", name, number);
  fake.labels.insert(label);
  Json answer{{"iteration", number},
              {"invalidity", nullptr},
              {"variant", label},
              {"problems", Json::array()},
              {"stop_reason", fake.stop_reason()}};
  if (!fault.empty()) {
    answer["invalidity"] = invalidity;
    return with_no_figure(std::move(answer), fake, "invalid", fault);
  }
  const double speedup = fake.draw_speedup();
  if (number % k_undecided_every == 0 && fake.course() == Course::mixed) {
    return with_no_figure(std::move(answer), fake, "no_gain", "dry run: no figure could be taken");
  }
  const bool win = speedup > 1.05;
  const double predicted = args["predicted_speedup"].get<double>();
  if (win) fake.incumbent = label;
  answer.update(
      {{"outcome", win ? "win" : "no_gain"},
       {"message", "dry run: nothing was measured"},
       {"speedup", speedup},
       {"interval", interval_around(speedup)},
       {"decision", win && speedup * 1.02 >= predicted ? "supported" : "refuted"},
       {"mechanism", win ? "confirmed" : "not_confirmed"},
       {"size", to_string(measure::decide_size(predicted, {speedup * 0.98, speedup * 1.02, 0.99}))},
       {"incumbent", fake.incumbent}});
  return answer;
}

}  // namespace

const Verb& verb_iterate() {
  static const Verb verb{
      .spec =
          {.name = "iterate",
           .doc = "one iteration: hypothesis, build, verdict, measurement beside the incumbent, "
                  "commit",
           .session = SessionNeed::writes,
           .arguments =
               {id_argument("variant",
                            "a kernel by name, or the label of a variant of this session"),
                id_argument("parent", "the variant it derives from (default: the incumbent)"),
                configuration_argument(),
                files_argument("files", "files of the parent to replace or add: path -> content"),
                string_argument("name", "name of the derived variant"),
                text_argument("hypothesis", "why this should help, one sentence").required(),
                predicted_argument(),
                ids_argument("idea", "ids of the ideas that it tries (`ideas` lists them)"),
                choice_argument(
                    "confirm",
                    "measure again in fresh processes: if_faster (default), always or never",
                    {"if_faster", "always", "never"}),
                choice_argument("plans",
                                "what a confirmation times: all (default: hot, cold and eager) or "
                                "deciding, the objective's alone, for a step on the way to others",
                                {"all", "deciding"})},
           .result = {{"iteration", "int: its number"},
                      {"outcome", "string: win, no_gain, invalid or stopped"},
                      {"invalidity", "string or null: why it is invalid"},
                      {"message", "string: what happened, one sentence"},
                      {"speedup", "real or null: over the incumbent on the objective (ratio)"},
                      {"interval", "map or null: low, high, confidence of the speedup"},
                      {"decision", "string: supported, refuted or undecided"},
                      {"mechanism", "string: confirmed, not_confirmed or undecided"},
                      {"size",
                       "string: of the gain: within, above or below the prediction, or undecided"},
                      {"variant", "string: label of the variant"},
                      {"incumbent", "string: label of the incumbent afterwards"},
                      {"problems", "list: per problem outcome, speedup and medians (us)"},
                      {"subject_output", "string: what the variant printed before it failed"},
                      {"subject_output_ref", "string or null: for read_ref, the whole of that"},
                      {"stop_reason", "string or null: why the session should end now"}},
           .is_long = true},
      .body = iterate_body,
      .text = iteration_text,
      .exit_code = exit_code_of_iteration,
      .sample = iterate_sample};
  return verb;
}

}  // namespace wb::verbs
