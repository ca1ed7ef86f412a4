// SPDX-License-Identifier: MIT
// The solved form of a search space: a decision diagram with one level per parameter, whose equal
// parts are shared and counted. Private to search_space.cpp, which queries it, and
// space_diagram.cpp, which builds it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "problem/problem.hpp"
#include "variant/manifest.hpp"

namespace wb::search {

struct SpaceParameter {
  std::string name;
  std::vector<std::int64_t> values;  ///< ascending
};

/// Node 0 has no completion; node 1 is the empty completion below the last parameter. Every other
/// node has one child for each value of its parameter.
class SpaceDiagram {
 public:
  using NodeId = std::uint32_t;
  static constexpr NodeId k_none = 0, k_end = 1;

  [[nodiscard]] const std::vector<SpaceParameter>& parameters() const { return m_parameters; }
  [[nodiscard]] NodeId root() const { return m_root; }
  /// Number of completions below a node.
  [[nodiscard]] std::uint64_t count(NodeId node) const { return m_nodes[node].count; }
  [[nodiscard]] std::span<const NodeId> children(NodeId node) const {
    return {m_edges.data() + m_nodes[node].first_edge, m_nodes[node].edges};
  }
  [[nodiscard]] std::size_t node_count() const { return m_nodes.size(); }

 private:
  friend class DiagramBuilder;
  struct Node {
    std::uint64_t count = 0;
    std::uint32_t first_edge = 0, edges = 0;
  };
  std::vector<SpaceParameter> m_parameters;
  std::vector<Node> m_nodes{{0, 0, 0}, {1, 0, 0}};
  std::vector<NodeId> m_edges;
  NodeId m_root = k_none;
};

/// Solves `restrictions` over the parameters; a point must satisfy them for at least one of the
/// problems. The root is k_none when no point is left. Errors: parse, invalid, limit, as of
/// SearchSpace::make.
Result<SpaceDiagram> solve_space(std::vector<SpaceParameter> parameters,
                                 std::span<const std::string> restrictions,
                                 std::span<const problem::Problem> problems);

}  // namespace wb::search
