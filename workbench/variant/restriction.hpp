// SPDX-License-Identifier: MIT
// Restrictions: integer expressions over tunable parameters and the problem's letters, such as
// "TILE_M * D <= 8192 && TILE_N % 8 == 0". Parsed once, evaluated before anything is built.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "variant/manifest.hpp"

namespace wb::variant {

class Restriction {
 public:
  /// Grammar as in C: || && one comparison (== != < <= > >=), + - * / %, ! and - before a value, (
  /// ), integers, names. At most 1024 bytes, 64 levels. Errors: parse.
  static Result<Restriction> parse(std::string_view text);
  Restriction(Restriction&&) noexcept;
  Restriction& operator=(Restriction&&) noexcept;
  ~Restriction();
  /// True when the value is not 0; && and || stop early. Errors: invalid (unknown name, division by
  /// zero, overflow).
  [[nodiscard]] Result<bool> holds(const std::map<std::string, std::int64_t>& values) const;
  /// The expression's value; comparisons are 1 or 0. Errors as above.
  [[nodiscard]] Result<std::int64_t> value(const std::map<std::string, std::int64_t>& values) const;
  /// Sorted and unique.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  friend class RestrictionParser;
  struct Node;
  explicit Restriction(std::unique_ptr<Node> root);
  std::unique_ptr<Node> m_root;
};

/// The names that an expression may use of a problem: B Hq Hkv Sq Skv D Dv, dtype_bytes (2 or 4),
/// causal (0 none, 1 top_left, 2 bottom_right) and mask (0 none, 1 bool, 2 additive).
std::map<std::string, std::int64_t> problem_values(const problem::Problem& problem);
bool is_problem_name(std::string_view name);

/// The first restriction that does not hold, as text; nothing when all hold. Evaluated on the
/// parameters and, with a problem, on problem_values; without one, restrictions that name its
/// values are skipped. `configuration` may be incomplete. Errors: not_found (unknown parameter,
/// with a suggestion), invalid (value not listed, an expression that cannot be evaluated).
Result<std::optional<std::string>> violated_restriction(const Manifest& manifest,
                                                        const Configuration& configuration,
                                                        const problem::Problem* problem);

/// The configuration completed by the manifest's defaults. Errors as above.
Result<Configuration> complete_configuration(const Manifest& manifest, const Configuration& given);

}  // namespace wb::variant
