// SPDX-License-Identifier: MIT
// `sdpa-wb mcp`: the MCP server is a module of the Python package, so this role finds an
// interpreter that has what it needs and becomes it. Who calls: main.
#pragma once

#include <string>
#include <vector>

#include "cli/services.hpp"

namespace wb::cli {

/// Replaces this process by the server; `words` stand after `mcp`. Returns only where that cannot
/// be done, with the exit code, after saying on standard error what to install.
int mcp_main(const std::vector<std::string>& words, const Environment& environment);

}  // namespace wb::cli
