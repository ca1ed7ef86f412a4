// SPDX-License-Identifier: MIT
#include "verbs/suite_selection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <vector>

#include "core/ascii.hpp"
#include "core/json.hpp"
#include "engine/parts.hpp"
#include "engine/services.hpp"
#include "engine/settings.hpp"
#include "variant/variant.hpp"

namespace wb::verbs {

using engine::Context;
using engine::Services;
using problem::Problem;
using problem::Suite;
using problem::SuiteProblem;

Result<std::map<std::string, Suite>> load_all_suites(const Services& services) {
  std::map<std::string, Suite> all;
  bool found = false;
  for (const fs::path& root : services.search_path.roots) {
    const fs::path path = root / "kernels" / "suites.json";
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    found = true;
    WB_TRY_ASSIGN(auto suites, problem::load_suites(services.file_system, path));
    all.merge(suites);  // the first root wins
  }
  if (!found) {
    return Error{ErrorCode::not_found, "find", "kernels/suites.json",
                 "no folder of the search path has it", "run in a checkout, or give --path DIR"};
  }
  return all;
}

Result<Suite> suite_from_arguments(Context& context, const Json& args) {
  Suite suite;
  if (args.contains("suite")) {
    WB_TRY_ASSIGN(const auto all, load_all_suites(services_of(context)));
    WB_TRY_ASSIGN(suite, select_problems(all, args["suite"].get<std::string>()));
  }
  if (args.contains("problem")) {
    WB_TRY_ASSIGN(auto problems, problem::parse_problems(args["problem"].get<std::string>()));
    for (problem::Problem& problem : problems)
      suite.problems.push_back({std::move(problem), 1.0, false});
    suite.name += suite.name.empty() ? "problem" : "+problems";
  }
  if (suite.problems.empty()) {
    return Error{
        ErrorCode::usage, "find", "the problems", "neither a suite nor a problem was named",
        "give --suite NAME (see `sdpa-wb suites`) or --problem 'B=1 Hq=8 Sq=512 D=64 f32'"};
  }
  // A problem in two suites counts once.
  std::vector<SuiteProblem> unique;
  for (SuiteProblem& member : suite.problems) {
    const bool known = std::any_of(unique.begin(), unique.end(), [&](const SuiteProblem& other) {
      return to_text(other.problem) == to_text(member.problem);
    });
    if (!known) unique.push_back(std::move(member));
  }
  suite.problems = std::move(unique);
  return suite;
}

Result<Suite> problems_of(Context& context, const Json& args) {
  if (session_of(context) != nullptr && !args.contains("suite") && !args.contains("problem")) {
    return settings_of(context).suite;
  }
  return suite_from_arguments(context, args);
}

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
