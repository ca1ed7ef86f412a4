// SPDX-License-Identifier: MIT
// `trace report`: prepares a profile and analyzes it (tracing.hpp).
#include "verbs/arguments.hpp"
#include "verbs/tracing.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

const Verb& verb_trace_report() {
  static const Verb verb{
      .spec = {.name = "trace_report",
               .doc = "prepare a profile and analyze it",
               .arguments = {trace_argument(), platform_argument(), analysis_folder_argument(),
                             node_argument(), container_argument()},
               .result = {{"categories",
                           "list: name, status (OK, none or unseen) and metrics "
                           "(docs/guide/trace.md) of each category"},
                          {"files", "list: written"},
                          {"prepared", "map: as trace prepare answers"},
                          {"text", "string: the findings"}},
               .is_long = true,
               .in_playbook = false},
      .body = [](const Call& call) {
        return run_trace_verb(call.services, "trace_report", call.args);
      }};
  return verb;
}

}  // namespace wb::verbs
