// SPDX-License-Identifier: MIT
#include "audit.hpp"

#include <cctype>
#include <regex>

namespace wb::test {

bool is_part_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '^';
}

std::vector<Figure> figures_in(const std::string& text, std::optional<Unit> column) {
  struct Pattern {
    std::regex regex;
    std::vector<Unit> units;  ///< of its groups
  };
  static const std::vector<Pattern> k_patterns{
      {std::regex(R"((\d+(?:\.\d+)?)x(?![0-9A-Za-z_]))"), {Unit::ratio}},
      {std::regex(R"(\[(\d+(?:\.\d+)?), (\d+(?:\.\d+)?)\])"), {Unit::low, Unit::high}},
      {std::regex(R"((\d+(?:\.\d+)?) %(?! interval| is the limit))"), {Unit::percent}},
      {std::regex(R"(\$(\d+(?:\.\d+)?) an? (?:hour|million))"), {Unit::rate}},
      {std::regex(R"(\$(\d+\.\d+)(?!\d| an? ))"), {Unit::usd}}};
  static const std::regex k_whole(R"( *(\d+(?:\.\d+)?) *)");
  std::vector<Figure> result;
  for (const Pattern& pattern : k_patterns) {
    for (std::sregex_iterator at(text.begin(), text.end(), pattern.regex), end; at != end; ++at) {
      const auto start = static_cast<std::size_t>(at->position(1));
      if (start > 0 && is_part_of_word(text[start - 1])) continue;
      for (std::size_t group = 1; group <= pattern.units.size(); ++group) {
        result.push_back({(*at)[group].str(), static_cast<std::size_t>(at->position(group)),
                          pattern.units[group - 1]});
      }
    }
  }
  std::smatch whole;
  if (column && std::regex_match(text, whole, k_whole)) {
    result.push_back({whole[1].str(), static_cast<std::size_t>(whole.position(1)), *column});
  }
  return result;
}

std::vector<Citations> citations_in(const std::string& text) {
  std::vector<Citations> runs;
  static const std::regex k_event(R"(\[e(\d+)\])");
  for (std::sregex_iterator at(text.begin(), text.end(), k_event), end; at != end; ++at) {
    const std::int64_t seq = std::stoll((*at)[1].str());
    const auto start = static_cast<std::size_t>(at->position());
    const std::string between =
        runs.empty() ? "" : text.substr(runs.back().end, start - runs.back().end);
    if (between == " to ") {
      for (std::int64_t i = runs.back().events.back() + 1; i <= seq; ++i) {
        runs.back().events.push_back(i);
      }
    } else if (between == " ") {
      runs.back().events.push_back(seq);
    } else {
      runs.push_back({{seq}, start, 0});
    }
    runs.back().end = start + static_cast<std::size_t>(at->length());
  }
  return runs;
}

}  // namespace wb::test
