// SPDX-License-Identifier: MIT
// Recorded sessions and the sources that they stored, for code that does not hold them. Reads only.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/json_fwd.hpp"
#include "session/session.hpp"
#include "variant/variant.hpp"

namespace wb::engine {

struct Services;

/// The session at `id`: a folder or an archive, else a name below the sessions root. Errors: those
/// of Session::open_reader; not_found names both places.
Result<session::Session> open_recorded(const Services& services, const std::string& id);

/// The last successful variant_built of `id` (a subject's label "name@artifact" or a variant's
/// "name@variant"); nullptr when there is none.
const Json* find_built(const session::SessionView& view, std::string_view id);
/// The sources that the session stored for `id`, and the configuration of its build. Errors:
/// not_found; damaged (the files were changed); those of the stored files.
Result<std::pair<variant::Variant, variant::Configuration>> stored_variant(
    const session::Session& session, const session::SessionView& view, std::string_view id);

/// Variant `variant_id` of the session's kernels folder. `name`: the kernel's name or a label.
/// Errors: damaged (the files were changed); those of the stored files.
Result<variant::Variant> load_stored(const session::Session& session, std::string_view name,
                                     const std::string& variant_id);
/// Parameters by name; values that are no integers are left out.
variant::Configuration configuration_of(const Json& json);

}  // namespace wb::engine
