// SPDX-License-Identifier: MIT
// `trace analyze`: explains the attention of a prepared profile (tracing.hpp).
#include "core/json.hpp"
#include "verbs/arguments.hpp"
#include "verbs/tracing.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

const Verb& verb_trace_analyze() {
  static const Verb verb{
      .spec = {.name = "trace_analyze",
               .doc = "explain the attention of a prepared profile, ours or TraceLens': metrics "
                      "and findings",
               .arguments = {analysis_folder_argument(), node_argument(), container_argument()},
               .result = {{"categories",
                           "list: name, status (OK, none or unseen) and metrics "
                           "(docs/guide/trace.md) of each category"},
                          {"files", "list: written"},
                          {"text", "string: the findings"}},
               .in_playbook = false},
      .body = [](const Call& call) {
        return run_trace_verb(call.services, "trace_analyze", call.args);
      }};
  return verb;
}

}  // namespace wb::verbs
