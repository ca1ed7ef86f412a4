// SPDX-License-Identifier: MIT
// `sdpa-wb mcp`: the MCP server is a module of the Python package, so this role finds a suitable
// interpreter and replaces itself by it. Used by main.
#pragma once

#include <string>
#include <vector>

#include "cli/services.hpp"

namespace wb::cli {

/// Replaces this process by the server; `words` are those after `mcp`. On failure it says on
/// standard error what to install, and returns the exit code.
int mcp_main(const std::vector<std::string>& words, const Environment& environment);

}  // namespace wb::cli
