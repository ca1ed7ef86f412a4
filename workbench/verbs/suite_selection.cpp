// SPDX-License-Identifier: MIT
#include "verbs/suite_selection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <vector>

#include "variant/variant.hpp"

namespace wb::verbs {

using problem::Suite;
using problem::SuiteProblem;

namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Error not_in_suites(std::string action, const std::string& word, std::string cause,
                    const std::vector<std::string>& known, std::string_view kind) {
  const std::string near = variant::did_you_mean(word, known);
  return Error{ErrorCode::not_found, std::move(action), printable(word), std::move(cause),
               near.empty() ? fmt::format("{}: {}", kind, fmt::join(known, ", "))
                            : fmt::format("did you mean {}?", near)};
}

bool has_name(const SuiteProblem& entry, const std::string& pattern) {
  return ::fnmatch(pattern.c_str(), entry.problem.name.c_str(), 0) == 0;
}

Result<std::vector<SuiteProblem>> problems_named(const Suite& suite,
                                                 const std::vector<std::string>& patterns) {
  const std::vector<SuiteProblem>& all = suite.problems;
  for (const std::string& pattern : patterns) {
    const auto is_meant = [&](const SuiteProblem& entry) {
      return !entry.held_out && has_name(entry, pattern);
    };
    if (std::any_of(all.begin(), all.end(), is_meant)) continue;
    std::vector<std::string> known;  // names of held-out problems stay hidden
    for (const SuiteProblem& entry : all) {
      if (!entry.held_out) known.push_back(entry.problem.name);
    }
    return not_in_suites(fmt::format("find in the suite {}", suite.name), pattern,
                         "no problem of it has this name", known, "problems");
  }
  std::vector<SuiteProblem> named;
  for (const SuiteProblem& entry : all) {
    // Held-out problems always stay: no selection may drop what a confirmation must pass.
    const bool is_meant = entry.held_out || std::any_of(patterns.begin(), patterns.end(),
                                                        [&](const std::string& pattern) {
                                                          return has_name(entry, pattern);
                                                        });
    if (is_meant) named.push_back(entry);
  }
  return named;
}

}  // namespace

Result<Suite> select_problems(const std::map<std::string, Suite>& suites, std::string_view words) {
  Suite result;
  result.name = words;
  for (const std::string& part : split(words, '+')) {
    const std::size_t colon = part.find(':');
    const std::string name = part.substr(0, colon);
    const auto found = suites.find(name);
    if (found == suites.end()) {
      std::vector<std::string> known;
      for (const auto& entry : suites) known.push_back(entry.first);
      return not_in_suites("find the suite", name, "there is no such suite", known, "suites");
    }
    const Suite& suite = found->second;
    std::vector<SuiteProblem> chosen = suite.problems;
    if (colon != std::string::npos) {
      WB_TRY_ASSIGN(chosen, problems_named(suite, split(part.substr(colon + 1), ',')));
    }
    if (result.about.empty()) result.about = suite.about;
    result.problems.insert(result.problems.end(), chosen.begin(), chosen.end());
  }
  return result;
}

}  // namespace wb::verbs
