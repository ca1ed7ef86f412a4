// SPDX-License-Identifier: MIT
// What `show` answers, also for `read ref` and `build`: an event, iteration or variant in full, and
// a variant's code, which needs no device.
#pragma once

#include <string>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "session/session.hpp"
#include "variant/variant.hpp"

namespace wb::engine {
struct Context;
}  // namespace wb::engine

namespace wb::verbs {

/// One event, iteration or variant of a session in full. Errors: not_found, those of the log.
Result<Json> show_id(const session::Session& session, const std::string& id);

/// Asks the device for its architecture before a CUDA build, which starts a worker; skipped when
/// the user names a target or the manifest allows only one. Returns why no GPU was found (no
/// device, or a machine too busy to tell), which the answer repeats; else empty. Errors: canceled.
Result<std::string> detect_cuda_device(engine::Context& context, const variant::Variant& variant,
                                       const Json& args);

/// True when the arguments of `show` ask for code: source, ptx or sass.
bool asks_for_code(const Json& args);
/// `session` may be null; then the id is a kernel's name. Logs nothing. Errors: usage (more than
/// one form), those of resolve_variant() and of builds.
Result<Json> show_code(engine::Context& context, const session::Session* session, const Json& args);

}  // namespace wb::verbs
