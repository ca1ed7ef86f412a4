// SPDX-License-Identifier: MIT
// What the compiler made of a variant: for `build`, which tells it, and `show`, which prints it. No
// device is needed.
#pragma once

#include <string>

#include "engine/call.hpp"
#include "variant/variant.hpp"

namespace wb::verbs {

/// A CUDA build follows the device, which costs the start of a worker: spared where the user names
/// a target, or names none and the manifest leaves no choice. Returns why there is no GPU to follow
/// (the device is none, the machine is too busy to tell), which the answer repeats; empty when
/// there is one, or none is asked for. Errors: canceled.
Result<std::string> look_for_device(engine::Context& context, const variant::Variant& variant,
                                    const Json& args);

/// Whether the arguments of `show` ask for code: one of source, ptx and sass.
bool asks_for_code(const Json& args);
/// `session` may be null: then the id is a kernel's name. Nothing is logged. Errors: usage (more
/// than one form), those of resolve_variant() and of builds.
Result<Json> show_code(engine::Context& context, const session::Session* session, const Json& args);

}  // namespace wb::verbs
