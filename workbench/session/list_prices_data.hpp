// SPDX-License-Identifier: MIT
// The text of kernels/list_prices.json as it was at the build. Private to list_prices.cpp.
#pragma once

#include <string_view>

namespace wb::session {

std::string_view list_prices_text();

}  // namespace wb::session
