// SPDX-License-Identifier: MIT
// The played __nv_bfloat16: stored in 16 bits, rounded to nearest even; see cuda_runtime.h.
#pragma once

#include <bit>
#include <cstdint>

struct __nv_bfloat16 {
  std::uint16_t bits;
  __nv_bfloat16() = default;
  explicit __nv_bfloat16(float from) {
    const auto word = std::bit_cast<std::uint32_t>(from);
    const std::uint32_t half_way = 0x7fffu + ((word >> 16) & 1u);
    bits = static_cast<std::uint16_t>(from != from ? 0x7fc0u : (word + half_way) >> 16);
  }
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};
