// SPDX-License-Identifier: MIT
// The name Json without its body, for headers through which only references to it pass. Whoever
// makes or reads one includes core/json.hpp.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace wb {

using Json = nlohmann::json;

}  // namespace wb
