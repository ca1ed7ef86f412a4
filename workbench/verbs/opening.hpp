// SPDX-License-Identifier: MIT
// How a session begins, shared by `open` and `dispatch adopt`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/json_fwd.hpp"
#include "engine/settings.hpp"
#include "engine/verb.hpp"
#include "variant/variant.hpp"

namespace wb::verbs {

/// The subject matter of a session.
struct Opening {
  std::string start;  ///< a kernel's name, or the label of a stored variant
  problem::Suite suite;
  engine::Objective objective;
  std::string backend;
  std::vector<std::string> rivals;
};

/// Text as the log keeps it: bytes that are not UTF-8 become U+FFFD.
std::string as_logged(const std::string& text);

/// The payload of session_opened, without what a session continues from. `args`: budget, rates,
/// effort, title and named rivals as of `open`, each optional.
Json identity_of(const engine::Context& context, const Json& args, const fs::path& folder,
                 const Opening& opening);

/// Makes the session in `folder`, held by the context, and measures its baseline. `stored`, the
/// variant that it starts from, is stored in it; may be null. `on_opened` runs before the baseline.
/// Returns the baseline's rows. Errors: those of the environment, of the log and of the baseline;
/// the session is held even then if its folder was made.
Result<Json> begin_session(engine::Context& context, const Json& identity, const fs::path& folder,
                           const variant::Variant* stored,
                           const std::function<Result<void>()>& on_opened = {});

}  // namespace wb::verbs
