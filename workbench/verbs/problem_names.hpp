// SPDX-License-Identifier: MIT
// Names for the problems of a session's suite that hide the shapes of held-out ones, so that nobody
// tunes on them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "problem/suite.hpp"

namespace wb::verbs {

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
