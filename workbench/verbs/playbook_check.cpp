// SPDX-License-Identifier: MIT
// `playbook check`: a dry run on the verbs' samples. The body drives a Lua host and is in the
// module playbook.
#include "verbs/arguments.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

const Verb& verb_playbook_check() {
  static const Verb verb{
      .spec = {.name = "playbook_check",
               .doc = "dry-run a playbook on a fake engine",
               .arguments =
                   {id_argument("playbook", "a playbook's name or file").required().positional()},
               .result = {{"calls", "list: the verbs it called"},
                          {"about", "string: what it says it does"}},
               .reads_only = true,
               .in_playbook = false,
               .drives = true}};
  return verb;
}

}  // namespace wb::verbs
