// SPDX-License-Identifier: MIT
// `cancel job`: asks the process that runs a session to stop (jobs.hpp).
#include "core/json.hpp"
#include "verbs/jobs.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

namespace {

Result<Json> cancel_job_body(const Call& call) {
  WB_TRY_ASSIGN(const fs::path folder, folder_to_read(call));
  return cancel_job_of(call.context, folder);
}

}  // namespace

const Verb& verb_cancel_job() {
  static const Verb verb{
      .spec = {.name = "cancel_job",
               .doc = "ask the process that runs a session to stop; what is in flight is abandoned",
               .session = SessionNeed::reads,
               .result = {{"pid", "int or null: the process; null: nothing ran"},
                          {"ended", "bool: it is gone"},
                          {"text", "string: the same for people"}},
               .destructive = true,
               .in_playbook = false},
      .body = cancel_job_body};
  return verb;
}

}  // namespace wb::verbs
