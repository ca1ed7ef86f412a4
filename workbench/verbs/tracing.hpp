// SPDX-License-Identifier: MIT
// The verbs that explain a profile of a user's program. They need no session and measure nothing.
// With `node` or `container` the same command runs there, on files there.
#pragma once

#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"

namespace wb::engine {
struct Services;
}  // namespace wb::engine

namespace wb::verbs {

/// Runs trace_prepare, trace_analyze, trace_report or trace_suite, here or on the named node or in
/// the named container.
Result<Json> run_trace_verb(const engine::Services& services, std::string_view verb,
                            const Json& args);

/// The command line that runs `words` on the node, in the container, or both; unchanged without
/// either. Words for the node's shell are quoted. Errors: usage (a name that ssh or docker would
/// read as an option, or with characters that no host or container name has).
Result<std::vector<std::string>> remote_command(const std::string& node,
                                                const std::string& container,
                                                std::vector<std::string> words);

}  // namespace wb::verbs
