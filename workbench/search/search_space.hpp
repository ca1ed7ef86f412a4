// SPDX-License-Identifier: MIT
// SearchSpace: the configurations that a manifest's tunable parameters and restrictions allow for a
// suite, solved before anything is built. Strategies address it by index; configurations are never
// listed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "problem/suite.hpp"
#include "variant/manifest.hpp"

namespace wb::search {

class SpaceDiagram;

/// Configurations that differ in one parameter: by its nearest valid value below or above, or by
/// any valid value.
enum class Neighborhood { adjacent, one_parameter };

/// Immutable; copies share the solved space. Index 0 … size() - 1 counts the valid configurations
/// with parameters in order of name, the last fastest, values ascending. at(), find() and
/// neighbors() take microseconds for any size.
class SearchSpace {
 public:
  using Index = std::uint64_t;

  /// A configuration is valid when the manifest supports at least one problem of the suite that is
  /// not held out, with all restrictions satisfied; the other problems stay with the incumbent.
  /// Restrictions are tried as soon as their parameters are bound, one part of && at a time, so
  /// that the product of the lists is never formed. A part that cannot be evaluated counts only if
  /// the whole restriction cannot be. Errors: invalid (no parameters; an empty list or a value
  /// twice; no supported problem; a restriction with an unknown name or that cannot be evaluated;
  /// no configuration left: the message names the restriction that removed the last), parse (a
  /// restriction), limit (over 2^62 points, or restrictions that connect too many parameters).
  static Result<SearchSpace> make(const variant::Manifest& manifest, const problem::Suite& suite);

  [[nodiscard]] Index size() const;                            ///< valid configurations, at least 1
  [[nodiscard]] Index unrestricted_size() const;               ///< product of the lists
  [[nodiscard]] variant::Configuration at(Index index) const;  ///< throws std::out_of_range
  /// Nothing when the configuration is invalid or incomplete.
  [[nodiscard]] std::optional<Index> find(const variant::Configuration& configuration) const;
  /// Valid neighbors by parameter name, then value. Throws std::out_of_range.
  [[nodiscard]] std::vector<Index> neighbors(Index index, Neighborhood kind) const;

  /// Each parameter's values, ascending, including those that restrictions exclude.
  [[nodiscard]] std::map<std::string, std::vector<std::int64_t>> parameters() const;

  /// Number of nodes of the shared diagram; for tests and progress only.
  [[nodiscard]] std::size_t node_count() const;

 private:
  using Digits = std::vector<std::uint32_t>;
  explicit SearchSpace(std::shared_ptr<const SpaceDiagram> diagram);
  [[nodiscard]] Digits digits(Index index) const;
  [[nodiscard]] std::optional<Index> rank(const Digits& digits) const;
  std::shared_ptr<const SpaceDiagram> m_diagram;
};

}  // namespace wb::search
