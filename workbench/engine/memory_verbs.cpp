// SPDX-License-Identifier: MIT
#include "engine/memory_verbs.hpp"

namespace wb::engine {
namespace {

using K = ArgumentKind;

VerbSpec spec_of_new() {
  return {.name = "new",
          .doc = "write a kernel folder to start editing in: kernels/NAME, copied from a variant",
          .arguments = {{.name = "name",
                         .kind = K::id,
                         .doc = "the new kernel's name",
                         .required = true,
                         .positional = true},
                        {.name = "from",
                         .kind = K::id,
                         .doc = "a kernel's name, or with --session a label of that session",
                         .required = true},
                        {.name = "in",
                         .kind = K::string,
                         .doc = "the folder that holds kernels/, or will (default .)"}},
          .result = {{"folder", "string: what was written"},
                     {"variant", "string: label"},
                     {"parent", "string: label of what it was copied from"},
                     {"files", "list: its files"},
                     {"changed_headers", "list: shared headers that differ from the parent's"},
                     {"text", "string: the same for people"}},
          .in_playbook = false};
}

VerbSpec spec_of_brief() {
  return {.name = "brief",
          .doc = "what to know of a session after losing all context, in at most 4 KiB",
          .session = SessionNeed::reads,
          .result = {{"session", "string: its name"},
                     {"status", "string: open, paused or closed"},
                     {"title", "string: its heading"},
                     {"objective", "map: rule, plan, min_speedup, suite, problems, held_out, some"},
                     {"incumbent",
                      "map or null: variant, configuration, over_start (ratio), iteration, event"},
                     {"budget",
                      "map: used and left (null: no limit) of evaluations, wall_s and usd; "
                      "stop_reason"},
                     {"in_flight", "map or null: the iteration that runs, or was cut off"},
                     {"last", "list: outcomes, newest first"},
                     {"refuted", "list: refuted hypotheses with what they measured, newest first"},
                     {"techniques",
                      "list: what tries added to their parents, with the best of their speedups"},
                     {"rivals", "list: the incumbent against each over the suite (ratio)"},
                     {"next", "list: what the facts suggest"},
                     {"notes", "list: newest first"},
                     {"untried", "list: techniques that nothing here has used"},
                     {"left_out", "map: how many of each list had no room"}},
          .reads_only = true};
}

VerbSpec spec_of_advise() {
  return {.name = "advise",
          .doc = "what to try next on a session's incumbent, what it should gain, and its cost",
          .session = SessionNeed::reads,
          .arguments = {{.name = "target",
                         .kind = K::real,
                         .unit = "ratio",
                         .doc = "the wanted speed over the fastest rival (default 1)",
                         .min = 0.01,
                         .max = 1000}},
          .result = {{"incumbent", "string: label"},
                     {"calibration",
                      "map: share (of the predicted logarithm that past predictions measured), "
                      "count, events"},
                     {"entries",
                      "list: technique, low, expected and high (speedup over the suite), strength "
                      "of the evidence, why, events, source of the range, hours, complexity, "
                      "risk, needs, pros, cons; best first"},
                     {"not_advised", "list: technique, reason, event"},
                     {"stages",
                      "list: techniques of a stage; low, expected and high up to there; and the "
                      "speed over the fastest rival then"},
                     {"rival_ratio", "real or null: speed over the fastest rival now (ratio)"},
                     {"target_ratio", "real: as asked for"},
                     {"reached_at_stage",
                      "int or null: where the expected figures reach the target; 0: already"},
                     {"hours_low", "real: of all stages, a guess (h)"},
                     {"hours_high", "real: likewise (h)"},
                     {"measuring_s", "real or null: an iteration a step, as those before (s)"},
                     {"measuring_usd", "real or null: the same (USD)"},
                     {"unseen", "list: what the log does not say"},
                     {"text", "string: the same for people"}},
          .reads_only = true};
}

VerbSpec spec_of_history() {
  return {.name = "history",
          .doc = "search a session's iterations, notes and decisions by words, newest first",
          .session = SessionNeed::reads,
          .arguments = {{.name = "query",
                         .kind = K::string,
                         .doc = "words that must all stand there, in any case (default: all)",
                         .positional = true},
                        {.name = "limit",
                         .kind = K::integer,
                         .unit = "matches",
                         .doc = "at most so many (default 20)",
                         .min = 1,
                         .max = 100}},
          .result = {{"matches",
                      "list: kind, event, iteration, variant, outcome, speedup, decision and where "
                      "the words stand"},
                     {"total", "int: how many there are"},
                     {"text", "string: the same for people"}},
          .reads_only = true};
}

VerbSpec spec_of_diff() {
  return {
      .name = "diff",
      .doc = "compare two sessions: what changed around them, and their ratios to a shared rival",
      .arguments = {{.name = "before",
                     .kind = K::id,
                     .doc = "a session's folder or archive, or its name in --sessions",
                     .required = true,
                     .positional = true},
                    {.name = "after",
                     .kind = K::id,
                     .doc = "the session to judge by it",
                     .required = true,
                     .positional = true},
                    {.name = "plan",
                     .kind = K::enumeration,
                     .doc = "which timing (default: the plan of the second one's objective)",
                     .choices = {"hot", "cold", "eager"}}},
      .result = {{"outcome", "string: better, worse, same, ambiguous or not_comparable"},
                 {"regressions", "int: problems that are worse"},
                 {"plan", "string: hot, cold or eager"},
                 {"before", "map: session, incumbent"},
                 {"after", "map: session, incumbent"},
                 {"changes", "list: what, before, after"},
                 {"rivals",
                  "list: per shared rival suite and problems with outcome, change (ratio of "
                  "the ratios), interval, before, after"},
                 {"message", "string: why something cannot be compared, or empty"},
                 {"text", "string: the same for people"}},
      .reads_only = true,
      .in_playbook = false};
}

VerbSpec spec_of_gc() {
  return {
      .name = "gc",
      .doc = "trim the cache of built artifacts; what a running process uses stays",
      .arguments = {{.name = "max_bytes",
                     .kind = K::integer,
                     .unit = "bytes",
                     .doc = "then remove the longest unused until so much is left",
                     .min = 0,
                     .max = 1e15},
                    {.name = "older_than",
                     .kind = K::real,
                     .unit = "days",
                     .doc = "remove what was not used for so long (default 30 without --max-bytes)",
                     .min = 0,
                     .max = 1e5},
                    {.name = "dry_run", .kind = K::boolean, .doc = "remove nothing"}},
      .result = {{"removed", "int: entries"},
                 {"freed_bytes", "int: of entries and leftovers (bytes)"},
                 {"entries", "int: before"},
                 {"bytes", "int: before (bytes)"},
                 {"leftovers", "int: folders of killed builders"},
                 {"in_use", "int: due, but a running process uses them"},
                 {"recent", "int: due, but used in the last 10 minutes"},
                 {"failed", "int: due, but the file system refused"},
                 {"dry_run", "bool: nothing was removed"},
                 {"folder", "string: the cache"},
                 {"text", "string: the same for people"}},
      .destructive = true,
      .in_playbook = false};
}

VerbSpec spec_of_best() {
  return {
      .name = "best",
      .doc = "which variant the dispatch rules choose for a problem, and what proves it",
      .arguments = {{.name = "problem",
                     .kind = K::string,
                     .doc = "one problem, such as 'B=1 Hq=8 Sq=512 D=64 f16 causal=none'",
                     .required = true},
                    {.name = "device",
                     .kind = K::string,
                     .doc = "the device's name (default: this machine's, when a rule asks)"},
                    {.name = "proven",
                     .kind = K::boolean,
                     .doc = "only what can be loaded here and whose recorded passes cover the "
                            "problem"},
                    {.name = "proofs",
                     .kind = K::id_list,
                     .doc = "sessions beside the rules' own whose passes count; means --proven"}},
      .result = {{"problem", "string: its text form"},
                 {"device", "string or null: the name that the rules saw"},
                 {"variant", "string: kernel name"},
                 {"configuration", "map: tunable parameters"},
                 {"artifact_id", "string or null: of the recorded pass"},
                 {"session", "string or null: that proved it"},
                 {"rule", "int: its place in the table, from 1"},
                 {"when", "string: its conditions"},
                 {"fallback", "bool: it is the last rule"},
                 {"passed_over",
                  "list: rule, variant, reason of rules that could not serve, and whether one is "
                  "offered here (dispatch adopt)"},
                 {"table", "string: the file"},
                 {"proof", "map or null: of proven ones variant (label), session and artifact_id"},
                 {"text", "string: the same for people"}},
      .reads_only = true};
}

VerbSpec spec_of_reproduce() {
  return {
      .name = "reproduce",
      .doc =
          "measure an iteration on record again, here and now, against its incumbent; the "
          "session stays as it is",
      .arguments = {{.name = "recorded",
                     .kind = K::id,
                     .doc = "a session's folder or archive, or its name in --sessions",
                     .required = true,
                     .positional = true,
                     .is_path = true},
                    {.name = "iteration",
                     .kind = K::integer,
                     .doc = "which one (default: the last that won)",
                     .min = 0,
                     .max = 1e9},
                    {.name = "effort",
                     .kind = K::enumeration,
                     .doc = "how many processes, placements and rounds (default: the session's)",
                     .choices = {"quick", "standard", "thorough"}}},
      .result = {{"outcome",
                  "string: reproduced (no change beyond the noise, and a gain is a gain), "
                  "not_reproduced, or environment_differs (not reproduced, elsewhere)"},
                 {"message", "string: both figures, or what failed"},
                 {"iteration", "int: its number"},
                 {"candidate", "string: label"},
                 {"against", "string: label of its incumbent"},
                 {"same_artifact",
                  "bool or null: compiler, flags and target made the same artifact"},
                 {"recorded", "map: speedup, interval"},
                 {"measured", "map or null: speedup, interval"},
                 {"problems", "list: per problem the recorded and the measured speedup"},
                 {"changes", "list: what, before, after"},
                 {"text", "string: the same for people"}},
      .is_long = true,
      .in_playbook = false};
}

}  // namespace

std::vector<VerbSpec> memory_verb_specs() {
  return {spec_of_new(),  spec_of_brief(), spec_of_advise(), spec_of_history(),
          spec_of_diff(), spec_of_gc(),    spec_of_best(),   spec_of_reproduce()};
}

}  // namespace wb::engine
