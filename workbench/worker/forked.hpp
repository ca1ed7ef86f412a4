// SPDX-License-Identifier: MIT
// Runs work that may take minutes (a compiler, a profiler) in a forked process: the supervisor
// continues to watch the wire, and kills the process and its children when the host disconnects. A
// build on the worker's machine is such work.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "variant/builder.hpp"
#include "worker/child.hpp"

namespace wb::worker {

/// The result of `work`, run in its own process; an exception in it is an `environment` failure.
/// The answer is one message of at most 64 KiB. `who` names it in messages: "the compiler".
/// Failures: those of `work`; timeout; environment (no process can be started, canceled).
Outcome<Json> run_forked(ChildRegistry& registry, const std::function<Outcome<Json>()>& work,
                         const std::string& who, Deadline deadline, CancelSource cancel);

struct BuildTask {
  std::string variant_name, build_id;
  std::map<std::string, std::string> files;  ///< as in Variant::files
  variant::Configuration configuration;
  variant::BuildOptions options;
  fs::path output;  ///< path of the shared library
};

/// Returns the BuildRecord as JSON. Failures: those of Toolchain::compile(); timeout; environment
/// (no compiler on this machine, canceled).
Outcome<Json> build_in_child(ChildRegistry& registry, const BuildTask& task, Deadline deadline,
                             CancelSource cancel);

}  // namespace wb::worker
