// SPDX-License-Identifier: MIT
// Dtype: the number formats that tensors are stored in. In core because problems, devices (peaks
// per format) and manifests all name it; the words are frozen in logs, manifests and scripts.
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
