// SPDX-License-Identifier: MIT
#include "core/dtype.hpp"

#include <stdexcept>

namespace wb {

std::string_view to_string(Dtype value) {
  switch (value) {
    case Dtype::f32:
      return "f32";
    case Dtype::f16:
      return "f16";
    case Dtype::bf16:
      return "bf16";
  }
  throw std::logic_error("a Dtype outside its enumeration");
}

std::optional<Dtype> parse_dtype(std::string_view word) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
    if (word == to_string(dtype)) return dtype;
  }
  return std::nullopt;
}

std::int64_t size_bytes(Dtype dtype) {
  return dtype == Dtype::f32 ? 4 : 2;
}

}  // namespace wb
