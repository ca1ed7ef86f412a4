// SPDX-License-Identifier: MIT
// Compiling on the worker's machine: the toolchain runs in a forked process, so that the supervisor
// can watch the wire and end compiler and all when the host goes away.
#pragma once

#include <map>
#include <string>

#include "core/invalidity.hpp"
#include "variant/builder.hpp"
#include "worker/child.hpp"

namespace wb::worker {

struct BuildTask {
  std::string variant_name, build_id;
  std::map<std::string, std::string> files;  ///< as in Variant::files
  variant::Configuration configuration;
  variant::BuildOptions options;
  fs::path output;  ///< where the shared library goes
};

/// Returns the BuildRecord as JSON. Failures: those of Toolchain::compile(); timeout; environment
/// (no compiler here, canceled).
Outcome<Json> build_in_child(Family& family, const BuildTask& task, Deadline deadline,
                             CancelSource cancel);

}  // namespace wb::worker
