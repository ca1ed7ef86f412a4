// SPDX-License-Identifier: MIT
// `trace prepare`: reads a profile and writes the tables of its attention (tracing.hpp).
#include "core/json.hpp"
#include "verbs/arguments.hpp"
#include "verbs/tracing.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

const Verb& verb_trace_prepare() {
  static const Verb verb{
      .spec = {.name = "trace_prepare",
               .doc = "read a profile and write the tables of its attention, in TraceLens' layout",
               .arguments = {trace_argument(), platform_argument(), analysis_folder_argument(),
                             node_argument(), container_argument()},
               .result = {{"platform", "string: whose peaks"},
                          {"forward_calls", "int: calls of forward attention with kernels"},
                          {"forward_rows", "int: rows of sdpa_fwd_ops.csv"},
                          {"backward_calls", "int: the same of backward"},
                          {"backward_rows", "int: the same of backward"},
                          {"gaps", "list: what could not be used, in sentences"},
                          {"ranks", "list: of a file that holds several: calls and time of each"},
                          {"nothing_seen",
                           "string: why nothing could be looked at; empty: it could"},
                          {"files", "list: written"},
                          {"events", "int: events of the profile"},
                          {"text_bytes", "int: unpacked size (bytes)"},
                          {"text", "string: the same for people"}},
               .is_long = true,
               .in_playbook = false},
      .body = [](const Call& call) {
        return run_trace_verb(call.services, "trace_prepare", call.args);
      }};
  return verb;
}

}  // namespace wb::verbs
