// SPDX-License-Identifier: MIT
// `get job`: what runs in a session (jobs.hpp).
#include "core/json.hpp"
#include "verbs/arguments.hpp"
#include "verbs/jobs.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

namespace {

Result<Json> get_job_body(const Call& call) {
  WB_TRY_ASSIGN(const fs::path folder, folder_to_read(call));
  return wait_for_job(call.context, call.args, folder);
}

}  // namespace

const Verb& verb_get_job() {
  static const Verb verb{
      .spec = {.name = "get_job",
               .doc = "what runs in a session, waiting for it to end if asked",
               .session = SessionNeed::reads,
               .arguments =
                   {id_argument(
                        "job", "an iteration's id, such as i3 (default: all that the process does)")
                        .positional(),
                    real_argument("wait_s", "wait this long for the end (default 0)")
                        .in("s")
                        .between(0, 86400),
                    string_argument("request_id", "of the call to wait for, whose answer is told")},
               .result =
                   {{"session", "string: its folder"},
                    {"job", "string or null: id of the iteration below"},
                    {"state", "string: running, interrupted (resume goes on), idle or closed"},
                    {"done", "bool: the process, or that iteration, came to its end"},
                    {"pid", "int or null: the process"},
                    {"iteration",
                     "map or null: that iteration, of a request_id the last that it opened (null: "
                     "none yet), else the latest: outcome (null: in flight), speedup, message"},
                    {"call",
                     "map or null: the one with that request_id: verb, args, n; result or error "
                     "once it is answered"},
                    {"text", "string: the same for people"}},
               .reads_only = true,
               .in_playbook = false},
      .body = get_job_body};
  return verb;
}

}  // namespace wb::verbs
