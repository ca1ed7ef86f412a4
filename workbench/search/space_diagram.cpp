// SPDX-License-Identifier: MIT
// Backtracking over the parameters with two caches: what is left below a choice depends only on the
// values that later restrictions use (the frontier), and equal remainders share a node. So ten
// million points without restrictions between parameters are a handful of nodes.
#include "search/space_diagram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "variant/restriction.hpp"

namespace wb::search {

using problem::Problem;
using variant::Restriction;

namespace {

/// Limits of time (about ten seconds) and memory (a few hundred MiB) of one solution.
constexpr std::uint64_t k_max_evaluations = 1u << 25;
constexpr std::size_t k_max_edges = 1u << 25;
constexpr std::size_t k_max_remembered = 1u << 20;

using Values = std::map<std::string, std::int64_t>;

Error unsolvable(ErrorCode code, std::string cause, std::string next) {
  return Error{code, "solve the restrictions of", "the search space", std::move(cause),
               std::move(next)};
}

/// "a && b" -> {"a", "b"}; the text itself when its outermost operator is ||.
std::vector<std::string> conjuncts(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    const std::string_view two = std::string_view(text).substr(i, 2);
    if (depth == 0 && two == "||") return {text};
    if (depth == 0 && two == "&&") {
      parts.emplace_back();
      ++i;
    } else {
      parts.back() += text[i];
    }
  }
  return parts;
}

/// A restriction, or a part of it that can be tested earlier.
struct Check {
  std::string text;  ///< of the whole restriction
  Restriction expression;
  bool is_part = false;
  std::vector<std::size_t> parameters;
  std::size_t depth = 0;  ///< depth of its last parameter
  /// The values to evaluate with: one set per class of problems, or a single one without problem
  /// values. `slots[class][i]` is the place of parameter i's value.
  std::vector<Values> values;
  std::vector<std::vector<std::int64_t*>> slots;
};

}  // namespace

/// One instance per solution.
class DiagramBuilder {
 public:
  explicit DiagramBuilder(std::vector<SpaceParameter> parameters) {
    m_diagram.m_parameters = std::move(parameters);
    m_checks.resize(m_diagram.m_parameters.size());
    m_remembered.resize(m_diagram.m_parameters.size());
    m_digits.resize(m_diagram.m_parameters.size());
  }

  Result<SpaceDiagram> run(std::span<const std::string> restrictions,
                           std::span<const Problem> problems) {
    WB_TRY(classify_problems(restrictions, problems));
    for (const std::string& text : restrictions) WB_TRY(add_restriction(text));
    find_frontiers();
    WB_TRY_ASSIGN(m_diagram.m_root, solve(0, std::string(m_classes.size(), '\1')));
    return std::move(m_diagram);
  }

 private:
  using NodeId = SpaceDiagram::NodeId;

  /// Problems with equal values in all restrictions form one class.
  Result<void> classify_problems(std::span<const std::string> restrictions,
                                 std::span<const Problem> problems) {
    std::set<std::string> asked;
    for (const std::string& text : restrictions) {
      WB_TRY_ASSIGN(const Restriction restriction, Restriction::parse(text));
      for (const std::string& name : restriction.names()) {
        if (variant::is_problem_name(name)) asked.insert(name);
      }
    }
    std::set<Values> classes;
    for (const Problem& problem : problems) {
      Values values = variant::problem_values(problem);
      std::erase_if(values, [&](const auto& item) { return !asked.contains(item.first); });
      classes.insert(std::move(values));
    }
    m_classes.assign(classes.begin(), classes.end());
    return {};
  }

  Result<void> add_restriction(const std::string& text) {
    WB_TRY_ASSIGN(Check whole, make_check(text, text));
    const auto parts = conjuncts(text);
    for (const std::string& part : parts) {
      if (parts.size() == 1) break;
      WB_TRY_ASSIGN(Check check, make_check(part, text));
      check.is_part = true;
      if (check.depth < whole.depth) place(std::move(check));
    }
    place(std::move(whole));
    return {};
  }

  Result<Check> make_check(const std::string& part, const std::string& whole) {
    WB_TRY_ASSIGN(Restriction expression, Restriction::parse(part));
    Check check{.text = whole,
                .expression = std::move(expression),
                .parameters = {},
                .values = {},
                .slots = {}};
    const auto& parameters = m_diagram.m_parameters;
    Values own;
    bool asks_problem = false;
    for (const std::string& name : check.expression.names()) {
      const auto found = std::find_if(parameters.begin(), parameters.end(),
                                      [&](const auto& item) { return item.name == name; });
      if (found != parameters.end()) {
        check.parameters.push_back(static_cast<std::size_t>(found - parameters.begin()));
        check.depth = std::max(check.depth, check.parameters.back());
        own[name] = 0;
      } else if (variant::is_problem_name(name)) {
        asks_problem = true;
      } else {
        return unsolvable(ErrorCode::invalid,
                          fmt::format("the restriction \"{}\" asks for {}", whole, name),
                          "name a tunable parameter, or B Hq Hkv Sq Skv D Dv dtype_bytes causal "
                          "mask of the problem");
      }
    }
    check.values.assign(asks_problem ? m_classes.size() : 1, own);
    for (std::size_t c = 0; asks_problem && c < m_classes.size(); ++c) {
      check.values[c].insert(m_classes[c].begin(), m_classes[c].end());
    }
    return check;
  }

  void place(Check check) {
    for (Values& values : check.values) {
      auto& slots = check.slots.emplace_back();
      for (const std::size_t p : check.parameters) {
        slots.push_back(&values[m_diagram.m_parameters[p].name]);
      }
    }
    m_checks[check.depth].push_back(std::move(check));
  }

  /// frontier[d]: parameters before d that a check at d or later uses.
  void find_frontiers() {
    m_frontiers.resize(m_checks.size());
    for (std::size_t d = 0; d < m_checks.size(); ++d) {
      std::set<std::size_t> asked;
      for (std::size_t later = d; later < m_checks.size(); ++later) {
        for (const Check& check : m_checks[later]) {
          for (const std::size_t p : check.parameters) {
            if (p < d) asked.insert(p);
          }
        }
      }
      m_frontiers[d].assign(asked.begin(), asked.end());
    }
  }

  /// The node for all completions after the first `depth` parameters. `alive` has one byte per
  /// class: whether its problems may still support the point.
  Result<NodeId> solve(std::size_t depth, const std::string& alive) {
    const auto& parameters = m_diagram.m_parameters;
    if (depth == parameters.size()) return NodeId{SpaceDiagram::k_end};
    // With all values in the frontier, no remainder repeats.
    const bool remembers = m_frontiers[depth].size() < depth;
    std::string key;
    if (remembers) {
      key = frontier_key(depth, alive);
      const auto found = m_remembered[depth].find(key);
      if (found != m_remembered[depth].end()) return found->second;
    }
    std::vector<NodeId> children(parameters[depth].values.size(), SpaceDiagram::k_none);
    for (std::uint32_t v = 0; v < children.size(); ++v) {
      m_digits[depth] = v;
      std::string still = alive;
      WB_TRY(apply_checks(depth, still));
      if (still.find('\1') == std::string::npos) continue;
      WB_TRY_ASSIGN(children[v], solve(depth + 1, still));
    }
    WB_TRY_ASSIGN(const NodeId node, intern(children));
    if (remembers) {
      // Dropping the cache costs time but never changes the result.
      if (m_remembered[depth].size() >= k_max_remembered) m_remembered[depth].clear();
      m_remembered[depth].emplace(std::move(key), node);
    }
    return node;
  }

  [[nodiscard]] std::string frontier_key(std::size_t depth, const std::string& alive) const {
    std::string key = alive;
    for (const std::size_t p : m_frontiers[depth]) {
      const std::uint32_t digit = m_digits[p];
      key.append(reinterpret_cast<const char*>(&digit), sizeof(digit));
    }
    return key;
  }

  /// Clears the bytes of classes that fail a check of this depth.
  Result<void> apply_checks(std::size_t depth, std::string& alive) {
    for (Check& check : m_checks[depth]) {
      const bool shared = check.values.size() == 1;
      for (std::size_t c = 0; c < check.values.size(); ++c) {
        if (!shared && alive[c] == '\0') continue;
        WB_TRY_ASSIGN(const bool holds, evaluate(check, c));
        if (!holds && shared) alive.assign(alive.size(), '\0');
        if (!holds && !shared) alive[c] = '\0';
      }
      if (alive.find('\1') == std::string::npos) return {};
    }
    return {};
  }

  Result<bool> evaluate(Check& check, std::size_t problem_class) {
    if (++m_evaluations > k_max_evaluations) {
      return unsolvable(
          ErrorCode::limit,
          fmt::format("over {} trials and no end; \"{}\" ties {} parameters together",
                      k_max_evaluations, check.text, check.parameters.size()),
          "split the restriction into parts over fewer parameters, or list fewer values");
    }
    for (std::size_t i = 0; i < check.parameters.size(); ++i) {
      const std::size_t p = check.parameters[i];
      *check.slots[problem_class][i] = m_diagram.m_parameters[p].values[m_digits[p]];
    }
    const Values& values = check.values[problem_class];
    auto holds = check.expression.holds(values);
    if (holds) return *holds;
    if (check.is_part) return true;  // the whole restriction is tested later
    std::string at;
    for (const auto& [name, value] : values) at += fmt::format(" {}={}", name, value);
    return unsolvable(
        ErrorCode::invalid,
        fmt::format("the restriction \"{}\" gives no answer at{}: {}", check.text, at,
                    holds.error().cause),
        "guard it with a part that is false there, joined by && before the part that fails");
  }

  Result<NodeId> intern(const std::vector<NodeId>& children) {
    if (std::all_of(children.begin(), children.end(),
                    [](NodeId child) { return child == SpaceDiagram::k_none; })) {
      return NodeId{SpaceDiagram::k_none};
    }
    const std::string key(reinterpret_cast<const char*>(children.data()),
                          children.size() * sizeof(NodeId));
    const auto found = m_interned.find(key);
    if (found != m_interned.end()) return found->second;
    if (m_diagram.m_edges.size() + children.size() > k_max_edges) {
      return unsolvable(ErrorCode::limit,
                        "the restrictions tie so many parameters together that the space does "
                        "not fit into memory",
                        "split them into parts over fewer parameters, or list fewer values");
    }
    SpaceDiagram::Node node;
    node.first_edge = static_cast<std::uint32_t>(m_diagram.m_edges.size());
    node.edges = static_cast<std::uint32_t>(children.size());
    for (const NodeId child : children) node.count += m_diagram.m_nodes[child].count;
    m_diagram.m_edges.insert(m_diagram.m_edges.end(), children.begin(), children.end());
    m_diagram.m_nodes.push_back(node);
    const auto id = static_cast<NodeId>(m_diagram.m_nodes.size() - 1);
    m_interned.emplace(key, id);
    return id;
  }

  SpaceDiagram m_diagram;
  std::vector<Values> m_classes;
  std::vector<std::vector<Check>> m_checks;           ///< by depth
  std::vector<std::vector<std::size_t>> m_frontiers;  ///< by depth
  std::vector<std::uint32_t> m_digits;                ///< the values chosen so far
  std::vector<std::unordered_map<std::string, NodeId>> m_remembered;
  std::unordered_map<std::string, NodeId> m_interned;
  std::uint64_t m_evaluations = 0;
};

Result<SpaceDiagram> solve_space(std::vector<SpaceParameter> parameters,
                                 std::span<const std::string> restrictions,
                                 std::span<const Problem> problems) {
  return DiagramBuilder(std::move(parameters)).run(restrictions, problems);
}

}  // namespace wb::search
