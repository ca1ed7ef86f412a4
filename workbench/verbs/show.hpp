// SPDX-License-Identifier: MIT
// One event, iteration or variant of a session in full, for `show` and `read ref`.
#pragma once

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "session/session.hpp"

namespace wb::verbs {

/// Errors: not_found, those of the log.
Result<Json> show_id(const session::Session& session, const std::string& id);

}  // namespace wb::verbs
