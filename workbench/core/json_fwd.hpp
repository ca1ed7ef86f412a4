// SPDX-License-Identifier: MIT
// Forward declaration of Json, for headers that only pass references. Code that makes or reads a
// value includes core/json.hpp.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace wb {

using Json = nlohmann::json;

}  // namespace wb
