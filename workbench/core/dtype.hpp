// SPDX-License-Identifier: MIT
// Dtype: the formats in which tensor elements are stored. It is in core because problems, devices
// (peaks per format) and manifests name it. The words are frozen in logs, manifests and scripts.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace wb {

enum class Dtype { f32, f16, bf16 };

std::string_view to_string(Dtype value);
std::optional<Dtype> parse_dtype(std::string_view word);
/// Bytes of one element.
std::int64_t size_bytes(Dtype dtype);

}  // namespace wb
