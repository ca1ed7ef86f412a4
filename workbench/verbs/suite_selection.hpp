// SPDX-License-Identifier: MIT
// The problems that a verb works on: chosen by its arguments, and named without the shapes of
// held-out ones, so that nobody tunes on them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "problem/suite.hpp"

namespace wb::engine {
struct Context;
struct Services;
}  // namespace wb::engine

namespace wb::verbs {

/// All suites on the search path; the first file that defines a name wins.
Result<std::map<std::string, problem::Suite>> load_all_suites(const engine::Services& services);
/// The problems of the arguments `suite` and `problem`. Errors: not_found (with a did-you-mean),
/// parse.
Result<problem::Suite> suite_from_arguments(engine::Context& context, const Json& args);
/// The session's suite when inside one and none was named; else from the arguments.
Result<problem::Suite> problems_of(engine::Context& context, const Json& args);

/// Suites joined by '+'. A ':' after a suite's name selects its problems by comma-separated names,
/// which may hold shell wildcards; the suite's order is kept. Held-out problems are always
/// included. The result's name is the given text. Errors: not_found (no such suite; a name that no
/// problem has).
Result<problem::Suite> select_problems(const std::map<std::string, problem::Suite>& suites,
                                       std::string_view words);

class ProblemNames {
 public:
  explicit ProblemNames(const problem::Suite& suite);
  /// "decode-1k", or "held-out 2". `problem` is the problem's text form.
  [[nodiscard]] std::string of(std::string_view problem) const;
  [[nodiscard]] bool is_held_out(std::string_view problem) const;
  /// Replaces texts and names of held-out problems in recorded text.
  [[nodiscard]] std::string hide(std::string words) const;

 private:
  std::map<std::string, std::string, std::less<>> m_names;
  std::vector<std::pair<std::string, std::string>> m_hidden;  ///< text, replacement
};

}  // namespace wb::verbs
