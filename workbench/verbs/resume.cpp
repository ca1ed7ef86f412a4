// SPDX-License-Identifier: MIT
// `resume`: continues a session and its playbook. The body drives a Lua host and is in the module
// playbook.
#include "verbs/arguments.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

const Verb& verb_resume() {
  static const Verb verb{
      .spec = {
          .name = "resume",
          .doc = "go on with an interrupted session; a playbook is replayed up to where it was",
          .session = SessionNeed::writes,
          .arguments = {flag_argument(
              "replan", "accept a changed playbook; calls that no longer match run anew")},
          .result = {{"session", "string: the session's folder"},
                     {"abandoned", "int: iterations that were in flight and are abandoned"},
                     {"environment_changed", "list: what differs from when it was opened"}},
          .is_long = true,
          .in_playbook = false,
          .drives = true}};
  return verb;
}

}  // namespace wb::verbs
