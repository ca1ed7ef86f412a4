// SPDX-License-Identifier: MIT
#include "verbs/problem_names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/ascii.hpp"
#include "core/json.hpp"

namespace wb::verbs {
namespace {

bool is_word_char(char c) {
  return ascii::is_alnum(c) || c == '_' || c == '-';
}

/// Replaces whole words only: a problem named "a" must not change every "a" in a text.
std::string replace_words(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos;) {
    const std::size_t end = at + what.size();
    const bool whole = (at == 0 || !is_word_char(text[at - 1])) &&
                       (end == text.size() || !is_word_char(text[end]));
    if (whole) text.replace(at, what.size(), with);
    at = text.find(what, at + (whole ? with.size() : 1));
  }
  return text;
}

}  // namespace

ProblemNames::ProblemNames(const problem::Suite& suite) {
  std::int64_t held_out = 0;
  for (const problem::SuiteProblem& member : suite.problems) {
    const std::string text = to_text(member.problem);
    std::string name = label(member.problem);
    if (member.held_out) {
      const std::string hidden = fmt::format("held-out {}", ++held_out);
      m_hidden.emplace_back(text, hidden);
      if (name != text) m_hidden.emplace_back(name, hidden);
      // Events are shown as JSON, where quotes in a name are escaped.
      const std::string quoted = Json(name).dump(-1, ' ', false, Json::error_handler_t::replace);
      const std::string in_json = quoted.substr(1, quoted.size() - 2);
      if (in_json != name) m_hidden.emplace_back(in_json, hidden);
      name = hidden;
    }
    m_names.insert_or_assign(text, std::move(name));
  }
  // Longest first, since one problem's text may begin another's.
  std::stable_sort(m_hidden.begin(), m_hidden.end(),
                   [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
}

std::string ProblemNames::of(std::string_view problem) const {
  const auto found = m_names.find(problem);
  return found == m_names.end() ? std::string(problem) : found->second;
}

bool ProblemNames::is_held_out(std::string_view problem) const {
  return std::any_of(m_hidden.begin(), m_hidden.end(),
                     [&](const auto& item) { return item.first == problem; });
}

std::string ProblemNames::hide(std::string words) const {
  for (const auto& [what, with] : m_hidden) words = replace_words(std::move(words), what, with);
  return words;
}

}  // namespace wb::verbs
