// SPDX-License-Identifier: MIT
// A subject, anything that can be loaded (a candidate, the incumbent, a rival): from an id to an
// artifact (resolved, its configuration completed, built or found in the cache, logged), the
// problems it supports and the runs it is judged on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "problem/suite.hpp"
#include "variant/builder.hpp"
#include "variant/edge_draws.hpp"

namespace wb::engine {

struct Context;
struct Services;

struct Subject {
  std::string label;  ///< name@8 hex digits of the artifact id
  variant::Variant variant;
  variant::Configuration configuration;
  variant::Artifact artifact;
  /// For rivals: problems (as text) that it is not timed on, with the reason: it answered
  /// `constraints`, or it was never judged on them.
  std::map<std::string, std::string> refused = {};
};

/// Why this subject does not support the problem (manifest or restriction), or nothing.
std::optional<std::string> not_supported(const Subject& subject, const problem::Problem& problem);
/// Excludes held-out problems for a rival, which is judged only on problems measured from the
/// start; held-out problems serve to judge candidates.
void refuse_held_out(Subject& rival, const problem::Suite& suite);

/// How much a verdict covered. A search times after a screening; confirmation, a reported gain and
/// a change of incumbent need the whole verdict. docs/contracts/measurement.md has what each
/// judges.
enum class VerdictExtent {
  none,       ///< not judged, or failed
  screening,  ///< one draw of each problem, on some blocks: may be timed in a search only
  whole       ///< every draw of each problem
};
std::string_view to_string(VerdictExtent value);
/// A log from before screening existed has no word; its evaluations had the whole verdict.
VerdictExtent parse_verdict_extent(std::string_view word);

/// Row blocks of an output that a screening judges: first and last of a head and random ones. Each
/// timed turn has its last output judged on more blocks, under its own seed.
inline constexpr std::int64_t k_screening_blocks = 8;

/// The drawn runs of a verdict on the subject (docs/contracts/measurement.md), from the kernel's
/// random numbers. `count`: how many; by default the number of `extent`.
std::vector<variant::EdgeDraw> drawn_runs(const Context& context, const Subject& subject,
                                          const problem::Suite& suite,
                                          VerdictExtent extent = VerdictExtent::whole,
                                          std::optional<std::int64_t> count = {});

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

/// Adds a failed variant's output to an answer: `subject_output`, with the middle of long texts
/// left out, and `subject_output_ref`, the blob with the whole text (null without output or
/// session). Errors: those of the blob.
Result<void> add_subject_output(Context& context, const std::string& words, Json& answer);

}  // namespace wb::engine
