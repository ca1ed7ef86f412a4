// SPDX-License-Identifier: MIT
// From an id to an artifact: resolves it, completes the configuration, builds or finds it in the
// cache, logs.
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

/// A kernel by name, or a variant of the held session by label. Errors: not_found, …
Result<std::pair<variant::Variant, variant::Configuration>> resolve_variant(Context& context,
                                                                            std::string_view id);

/// Completes the configuration, checks restrictions, and builds or finds in the cache what will be
/// loaded; fails with `environment` where this device cannot run the variant. It uses only
/// services, cache and device of the context, so build threads may call it once the worker has
/// answered hello.
Outcome<Subject> build_subject(Context& context, const variant::Variant& variant,
                               const variant::Configuration& configuration);

/// The toolchain of the backend; null for python, and where the services have none.
const variant::Toolchain* toolchain_of(const Services& services, variant::Backend backend);
/// Services::build_options adapted to this variant. For cuda the target is `wanted`, else one that
/// suits the device, else the manifest's first architecture. Failures: those of
/// choose_cuda_target().
Outcome<variant::BuildOptions> build_options_for(const Context& context,
                                                 const variant::Manifest& manifest,
                                                 std::string_view wanted = {});
/// Like build_subject(), but also when this device cannot run the result. Same thread rule.
Outcome<Subject> build_only(Context& context, const variant::Variant& variant,
                            const variant::Configuration& configuration,
                            std::string_view wanted_target);

/// Compiler and target of this backend's builds, which tell them apart; empty for python. Errors:
/// those of asking the compiler.
Result<std::string> compiler_of(const Context& context, variant::Backend backend);

/// build_subject() inside a session: also stores the sources, logs variant_built and the compile
/// cost. An error concerns the session (a full disk), never the variant.
Result<Outcome<Subject>> build_and_log(Context& context, const variant::Variant& variant,
                                       const variant::Configuration& configuration);
/// Logs the result of a build_subject() that ran on a build thread.
Result<void> log_built(Context& context, const variant::Variant& variant,
                       const variant::Configuration& configuration,
                       const Outcome<Subject>& subject);

/// A build failure as an error; the compiler's output comes last.
Error error_of_build(const variant::Variant& variant, const Failure& failure);
/// Builds the subject named by args[key] and args["configuration"], for `wanted_target` if given,
/// even if this device cannot run it. Logged inside a session.
Result<Subject> subject_from_arguments(Context& context, const Json& args, const char* key,
                                       std::optional<std::string> wanted_target = {});

}  // namespace wb::engine
