// SPDX-License-Identifier: MIT
// Verbs that make an iteration of a session.
#include "engine/verb_table.hpp"

namespace wb::engine::verbs {
namespace {

const ArgumentSpec k_predicted{.name = "predicted_speedup",
                               .kind = K::real,
                               .unit = "ratio",
                               .doc = "predicted gain over the incumbent on the objective",
                               .required = true,
                               .min = 0.001,
                               .max = 1000.0};
const ArgumentSpec k_seed{.name = "seed",
                          .kind = K::integer,
                          .doc = "of the strategy's order (default 1)",
                          .min = 0,
                          .max = 4294967295.0};
const ArgumentSpec k_evaluations{
    .name = "evaluations",
    .kind = K::integer,
    .unit = "evaluations",
    .doc = "budget of the search: answers, failed ones and duplicates included",
    .min = 1,
    .max = 1e6};
const ArgumentSpec k_seconds{
    .name = "seconds",
    .kind = K::real,
    .unit = "s",
    .doc = "budget of the search: wall time; the confirmation comes on top",
    .min = 0.001,
    .max = 1e8};
const ArgumentSpec k_usd{.name = "usd",
                         .kind = K::real,
                         .unit = "USD",
                         .doc = "budget of the search: money",
                         .min = 1e-6,
                         .max = 1e9};
const ArgumentSpec k_ahead{.name = "ahead",
                           .kind = K::integer,
                           .unit = "builds",
                           .doc =
                               "builds kept ahead of the one that is needed (default: two for each "
                               "builder; where builds and turns overlap one, and at least 4)",
                           .min = 0,
                           .max = 1000};

using Fields = std::vector<std::pair<std::string_view, std::string_view>>;

const Fields k_search_result = {
    {"iteration", "int: its number"},
    {"outcome", "string: win, no_gain, invalid or stopped"},
    {"invalidity", "string or null: why nothing that was searched is valid"},
    {"message", "string: what happened, one sentence"},
    {"speedup", "real or null: confirmed, over the incumbent (ratio)"},
    {"interval", "map or null: low, high, confidence of the speedup"},
    {"decision", "string: supported, refuted or undecided"},
    {"variant", "string: label of the best"},
    {"incumbent", "string: label of the incumbent afterwards"},
    {"problems", "list: per problem outcome, speedup and medians (us)"},
    {"stop_reason", "string or null: why the session should end now"},
    {"configuration", "map or null: of what looks best"},
    {"evaluations",
     "list: the 40 best: variant, configuration, outcome and speedup against the best, which "
     "choose "
     "but report nothing"},
    {"tune", "map: counts, seconds built, measured and waited, why it ended"}};

}  // namespace

std::vector<VerbSpec> make_iteration_verbs() {
  return {
      {.name = "iterate",
       .doc = "one iteration: hypothesis, build, verdict, measurement beside the incumbent, commit",
       .session = SessionNeed::writes,
       .arguments = {{.name = "variant",
                      .kind = K::id,
                      .doc = "a kernel by name, or the label of a variant of this session"},
                     {.name = "parent",
                      .kind = K::id,
                      .doc = "the variant it derives from (default: the incumbent)"},
                     k_configuration,
                     {.name = "files",
                      .kind = K::file_map,
                      .doc = "files of the parent to replace or add: path -> content"},
                     {.name = "name", .kind = K::string, .doc = "name of the derived variant"},
                     {.name = "hypothesis",
                      .kind = K::text,
                      .doc = "why this should help, one sentence",
                      .required = true},
                     k_predicted,
                     {.name = "confirm",
                      .kind = K::enumeration,
                      .doc =
                          "measure again in fresh processes: if_faster (default), always or never",
                      .choices = {"if_faster", "always", "never"}},
                     {.name = "plans",
                      .kind = K::enumeration,
                      .doc = "what a confirmation times: all (default: hot, cold and eager) or "
                             "deciding, the objective's alone, for a step on the way to others",
                      .choices = {"all", "deciding"}}},
       .result = {{"iteration", "int: its number"},
                  {"outcome", "string: win, no_gain, invalid or stopped"},
                  {"invalidity", "string or null: why it is invalid"},
                  {"message", "string: what happened, one sentence"},
                  {"speedup", "real or null: over the incumbent on the objective (ratio)"},
                  {"interval", "map or null: low, high, confidence of the speedup"},
                  {"decision", "string: supported, refuted or undecided"},
                  {"variant", "string: label of the variant"},
                  {"incumbent", "string: label of the incumbent afterwards"},
                  {"problems", "list: per problem outcome, speedup and medians (us)"},
                  {"subject_output", "string: what the variant printed before it failed"},
                  {"subject_output_ref", "string or null: for read_ref, the whole of that"},
                  {"stop_reason", "string or null: why the session should end now"}},
       .is_long = true},
      {.name = "tune",
       .doc = "one iteration that searches a variant's tunable parameters and confirms the best in "
              "fresh processes",
       .session = SessionNeed::writes,
       .arguments =
           {{.name = "variant",
             .kind = K::id,
             .doc = "the kernel, or the label of a variant (default: the incumbent)"},
            {.name = "hypothesis",
             .kind = K::text,
             .doc = "why tuning should help, one sentence",
             .required = true},
            k_predicted,
            {.name = "strategy",
             .kind = K::enumeration,
             .doc = "what to ask for next (default random; docs/guide/simulation.md); tpe, "
                    "cma_es and gp are Optuna's, from Python only",
             .choices = {"exhaustive", "random", "hill_climb", "racing", "tpe", "cma_es", "gp"}},
            k_seed,
            k_evaluations,
            k_seconds,
            k_usd,
            k_ahead},
       .result = k_search_result,
       .is_long = true},
      {.name = "race",
       .doc = "one iteration that times several variants against each other, drops the slower ones "
              "stage by stage, and confirms the best in fresh processes",
       .session = SessionNeed::writes,
       .arguments = {{.name = "variants",
                      .kind = K::id_list,
                      .doc = "2 to 64 kernels or labels of variants of this session",
                      .required = true},
                     {.name = "hypothesis",
                      .kind = K::text,
                      .doc = "why one of them should win, one sentence",
                      .required = true},
                     k_predicted,
                     k_seed,
                     k_evaluations,
                     k_seconds,
                     k_usd,
                     k_ahead},
       .result = k_search_result,
       .is_long = true},
  };
}

}  // namespace wb::engine::verbs
