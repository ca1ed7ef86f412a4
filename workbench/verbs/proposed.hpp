// SPDX-License-Identifier: MIT
// Variants that an agent proposes, by edits of a parent or by files. They are built and judged
// without being timed, and found again by their labels.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "session/view.hpp"
#include "variant/variant.hpp"

namespace wb::engine {
struct Context;
}  // namespace wb::engine

namespace wb::verbs {

/// The last variant_built with that label, even if the build failed; nullptr: none.
const Json* find_proposed(const session::SessionView& view, std::string_view id);

/// One replacement in a file of a variant: `search` must occur exactly once.
struct Edit {
  std::string path, search, replace;
};
/// Applies the edits in order, so that a later one sees the result of an earlier one. `files` maps
/// paths inside the kernel's folder to their content; the result holds the changed files. Errors:
/// not_found (no such file), invalid (`search` occurs not at all or more than once), usage (an
/// empty search); all name the place.
Result<std::map<std::string, std::string>> apply_edits(
    const std::map<std::string, std::string>& files, const std::vector<Edit>& edits);

/// A new variant, from the arguments of `propose`.
struct Proposal {
  variant::Variant variant;
  variant::Configuration configuration;
  std::string parent;
};
/// Errors: usage (nothing changes), those of apply_edits() and of the manifest; not_found.
Result<Proposal> proposal_of(engine::Context& context, const Json& args);

/// The verb `propose`. Errors: usage (nothing is proposed), invalid (an edit that does not fit, a
/// path outside the folder, a broken manifest), not_found; those of the log. A failing variant is
/// an answer, not an error.
Result<Json> propose_variant(engine::Context& context, const Json& args);
/// The answer before anything is known about the variant.
Json blank_proposal(const std::string& parent);
/// Why the session should end now, or nothing.
Result<std::optional<std::string>> proposals_stop_reason(const engine::Context& context);

}  // namespace wb::verbs
