// SPDX-License-Identifier: MIT
// The played __half: stored in 16 bits, rounded to nearest even; see cuda_runtime.h.
#pragma once

struct __half {
  _Float16 value;
  __half() = default;
  explicit __half(float from) : value(static_cast<_Float16>(from)) {}
  explicit operator float() const { return static_cast<float>(value); }
};
