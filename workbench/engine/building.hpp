// SPDX-License-Identifier: MIT
// From an id to an artifact: resolve, complete the configuration, build or find in the cache, log.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/json_fwd.hpp"
#include "engine/subject.hpp"

namespace wb::engine {

struct Context;
struct Services;

/// A kernel by name, or the label of a variant of the held session. Errors: not_found, …
Result<std::pair<variant::Variant, variant::Configuration>> resolve_variant(Context& context,
                                                                            std::string_view id);

/// Completes the configuration, checks restrictions, builds or finds in the cache, for what is
/// going to be loaded: a variant is refused (environment) where the device is not one for it. Of
/// the context it only uses services, cache and device, so builders may call it from threads of
/// their own once a worker has greeted.
Outcome<Subject> build_subject(Context& context, const variant::Variant& variant,
                               const variant::Configuration& configuration);

/// The toolchain of that backend; null for python, and where the services have none.
const variant::Toolchain* toolchain_of(const Services& services, variant::Backend backend);
/// Services::build_options made exact for this variant. For cuda the target is `wanted`, else what
/// suits the device, else the manifest's first architecture. Failures: those of
/// choose_cuda_target().
Outcome<variant::BuildOptions> build_options_for(const Context& context,
                                                 const variant::Manifest& manifest,
                                                 std::string_view wanted = {});
/// What build_subject() does, whether this device could run the result or not. Uses no more of the
/// context.
Outcome<Subject> build_only(Context& context, const variant::Variant& variant,
                            const variant::Configuration& configuration,
                            std::string_view wanted_target);

/// What builds of that backend are told apart by here: compiler and target; empty for python.
/// Errors: those of asking the compiler.
Result<std::string> compiler_of(const Context& context, variant::Backend backend);

/// build_subject() inside a session: stores the sources, logs variant_built and the compile cost.
/// An error is the session's (its disk is full, say), never the variant's.
Result<Outcome<Subject>> build_and_log(Context& context, const variant::Variant& variant,
                                       const variant::Configuration& configuration);
/// The second half of it, for what build_subject() gave elsewhere, on a builder's thread say.
Result<void> log_built(Context& context, const variant::Variant& variant,
                       const variant::Configuration& configuration,
                       const Outcome<Subject>& subject);

/// The failure of a build as an error: the compiler's words come last.
Error error_of_build(const variant::Variant& variant, const Failure& failure);
/// The subject that args[key] and args["configuration"] name, built (by `wanted_target`, when
/// given, without asking whether this device can run it); logged inside a session.
Result<Subject> subject_from_arguments(Context& context, const Json& args, const char* key,
                                       std::optional<std::string> wanted_target = {});

}  // namespace wb::engine
