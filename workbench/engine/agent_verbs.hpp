// SPDX-License-Identifier: MIT
// Private to engine: the verbs that agents need beside those of a playbook. They propose variants
// by files or edits, read what an answer had no room for, and pay for their own tokens.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/context.hpp"
#include "engine/verb.hpp"

namespace wb::engine {

/// Their entries in the verb table.
std::vector<VerbSpec> agent_verb_specs();

/// Stores, compiles and checks one variant; nothing is timed and no iteration is made. What the
/// variant does wrong is in the answer. Errors: usage (nothing is proposed), invalid (an edit that
/// does not fit, a path outside the folder, a broken manifest), not_found; those of the log.
Result<Json> verb_propose(Context& context, const Json& args);
/// The same for several, as one table, best first. A proposal that cannot be read is a row, too.
Result<Json> verb_propose_many(Context& context, const Json& args);
/// Debits the tokens of an agent's model. Errors: usage (no tokens); those of the log.
Result<Json> verb_record_usage(Context& context, const Json& args);
/// A piece of a text that is too long for an answer. Errors: not_found, usage.
Result<Json> verb_read_ref(Context& context, const session::Session& session, const Json& args);

/// The last variant_built with that label, of one that could not be built too; nullptr: none.
const Json* find_proposed(const session::SessionView& view, std::string_view id);

/// One replacement in a file of a variant: `search` must stand there exactly once.
struct Edit {
  std::string path, search, replace;
};
/// What the edits make of the files, in their order, so that a later one sees what an earlier one
/// did. `files` maps paths inside the kernel's folder to their content; the result has those that
/// changed. Errors: not_found (no such file), invalid (found nowhere or more than once), usage
/// (an empty search); all say where to look.
Result<std::map<std::string, std::string>> apply_edits(
    const std::map<std::string, std::string>& files, const std::vector<Edit>& edits);

}  // namespace wb::engine
