// SPDX-License-Identifier: MIT
// Variants that an agent proposes: by edits of a parent, or by files, built and judged without
// being timed, and found again by their labels.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/call.hpp"
#include "session/view.hpp"
#include "variant/variant.hpp"

namespace wb::verbs {

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

/// A new variant, from the arguments of `propose`.
struct Proposal {
  variant::Variant variant;
  variant::Configuration configuration;
  std::string parent;
};
/// Errors: usage (nothing of it is new), those of apply_edits() and of the manifest; not_found.
Result<Proposal> proposal_of(engine::Context& context, const Json& args);

/// The verb `propose`. Errors: usage (nothing is proposed), invalid (an edit that does not fit, a
/// path outside the folder, a broken manifest), not_found; those of the log. What the variant does
/// wrong is in the answer.
Result<Json> propose_variant(engine::Context& context, const Json& args);
/// What it answers before anything is known of the variant.
Json blank_proposal(const std::string& parent);
/// Why the session should end now, or nothing.
Result<std::optional<std::string>> proposals_stop_reason(const engine::Context& context);

}  // namespace wb::verbs
