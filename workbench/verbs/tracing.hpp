// SPDX-License-Identifier: MIT
// The verbs that explain a profile of somebody's program. They need no session
// and measure nothing. With `node` or `container` the same command runs there, on the files there.
#pragma once

#include <vector>

#include "engine/call.hpp"

namespace wb::verbs {

/// trace_prepare, trace_analyze, trace_report or trace_suite, here or elsewhere.
Result<Json> trace_here_or_there(const engine::Services& services, std::string_view verb,
                                 const Json& args);

/// The words that run `words` on the node, in the container, or both; `words` as they are without.
/// What the node's shell reads is quoted. Errors: usage (a name that ssh or docker would take for
/// an option, or with characters that no host or container has).
Result<std::vector<std::string>> remote_command(const std::string& node,
                                                const std::string& container,
                                                std::vector<std::string> words);

}  // namespace wb::verbs
