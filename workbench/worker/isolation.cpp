// SPDX-License-Identifier: MIT
#include "worker/isolation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "worker/confine.hpp"
#include "worker/namespaces.hpp"

namespace wb::worker {
namespace {

constexpr std::array k_isolation_levels = {Isolation::rlimits, Isolation::landlock,
                                           Isolation::seccomp, Isolation::namespaces};

}  // namespace

std::string_view to_string(Isolation level) {
  switch (level) {
    case Isolation::rlimits:
      return "rlimits";
    case Isolation::landlock:
      return "landlock";
    case Isolation::seccomp:
      return "seccomp";
    case Isolation::namespaces:
      return "namespaces";
  }
  return "rlimits";
}

std::optional<Isolation> parse_isolation(std::string_view word) {
  const auto* found = std::ranges::find_if(
      k_isolation_levels, [word](Isolation level) { return to_string(level) == word; });
  if (found == k_isolation_levels.end()) return std::nullopt;
  return *found;
}

Isolation reachable_isolation(Isolation wanted, bool gpu) {
  if (wanted < Isolation::namespaces) return wanted;
  return !gpu && !namespaces_missing() ? Isolation::namespaces : Isolation::seccomp;
}

std::string isolation_text(Isolation level) {
  std::string text = "rlimits+no_new_privs";
  const int version = landlock_version();
  if (level >= Isolation::landlock && version > 0) text += fmt::format("+landlock{}", version);
  if (level >= Isolation::seccomp && has_seccomp()) text += "+seccomp";
  if (level >= Isolation::namespaces) text += "+namespaces";
  return text;
}

}  // namespace wb::worker
