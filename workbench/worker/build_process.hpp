// SPDX-License-Identifier: MIT
// Compiles on the worker's machine in a forked process, so that the supervisor can watch the wire
// and end the compiler when the host disconnects.
#pragma once

#include <map>
#include <string>

#include "core/invalidity.hpp"
#include "core/json_fwd.hpp"
#include "variant/builder.hpp"
#include "worker/child.hpp"

namespace wb::worker {

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
