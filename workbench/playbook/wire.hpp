// SPDX-License-Identifier: MIT
// Private to playbook: the message format between owner and host: JSON lines over a pipe.
#pragma once

#include <string>

#include "core/json.hpp"

namespace wb::playbook {

/// A playbook's texts are at most 2 MiB per message, and JSON escapes may make them six times as
/// long.
constexpr JsonLimits k_wire_limits{.max_bytes = 16u << 20, .max_depth = 64};

/// One message as one line without its end. Bytes that are not UTF-8 become U+FFFD.
inline std::string wire_line(const Json& message) {
  return message.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace wb::playbook
