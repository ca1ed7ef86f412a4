// SPDX-License-Identifier: MIT
#include "core/invalidity.hpp"

#include <array>
#include <utility>

namespace wb {
namespace {
constexpr std::array<std::pair<Invalidity, std::string_view>, 6> k_words{{
    {Invalidity::constraints, "constraints"},
    {Invalidity::compile, "compile"},
    {Invalidity::runtime, "runtime"},
    {Invalidity::timeout, "timeout"},
    {Invalidity::correctness, "correctness"},
    {Invalidity::environment, "environment"},
}};
}  // namespace

std::string_view to_string(Invalidity value) {
  for (const auto& [key, word] : k_words) {
    if (key == value) return word;
  }
  return "environment";
}

std::optional<Invalidity> parse_invalidity(std::string_view word) {
  for (const auto& [key, text] : k_words) {
    if (text == word) return key;
  }
  return std::nullopt;
}

}  // namespace wb
