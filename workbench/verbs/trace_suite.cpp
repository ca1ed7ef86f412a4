// SPDX-License-Identifier: MIT
// `trace suite`: a weighted suite of the forward attention of a profile (tracing.hpp).
#include "verbs/arguments.hpp"
#include "verbs/tracing.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

const Verb& verb_trace_suite() {
  static const Verb verb{
      .spec = {.name = "trace_suite",
               .doc = "make a weighted suite of the forward attention of a profile",
               .arguments = {trace_argument(),
                             string_argument(
                                 "output_dir",
                                 "a folder for kernels/suites.json, to be named with --path")
                                 .required(),
                             string_argument("name", "the suite's (default profile)"),
                             node_argument(), container_argument()},
               .result = {{"suite", "string: its name"},
                          {"file", "string: the suites.json written"},
                          {"gpu_span_ms", "real: what shares are of (ms)"},
                          {"problems", "list: name, problem, weight (calls), share_frac"},
                          {"left_out", "list: name, why, share_frac, calls, kernel_ms"},
                          {"text", "string: the same for people"}},
               .is_long = true,
               .in_playbook = false},
      .body = [](const Call& call) {
        return run_trace_verb(call.services, "trace_suite", call.args);
      }};
  return verb;
}

}  // namespace wb::verbs
