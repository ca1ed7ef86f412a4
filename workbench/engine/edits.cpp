// SPDX-License-Identifier: MIT
// Search and replace, exact and once: an edit that could mean two places is refused, never guessed.
#include <fmt/format.h>

#include <algorithm>

#include "engine/agent_verbs.hpp"

namespace wb::engine {
namespace {

constexpr std::size_t k_places_max = 5;

std::size_t line_of(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  return 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
}

/// Where it starts, overlapping ones too; at most one more than is told.
std::vector<std::size_t> places_of(std::string_view text, std::string_view search) {
  std::vector<std::size_t> places;
  for (std::size_t at = text.find(search);
       at != std::string_view::npos && places.size() <= k_places_max;
       at = text.find(search, at + 1)) {
    places.push_back(at);
  }
  return places;
}

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view k_space = " \t\r\n";
  const std::size_t begin = line.find_first_not_of(k_space);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(k_space) - begin + 1);
}

/// What a reader who sees the file would say: mostly the space between the words differs.
std::string why_not_found(std::string_view text, std::string_view search) {
  for (std::size_t begin = 0; begin < search.size();) {
    const std::size_t end = std::min(search.find('\n', begin), search.size());
    const std::string_view first = trimmed(search.substr(begin, end - begin));
    begin = end + 1;
    if (first.empty()) continue;
    const std::size_t at = text.find(first);
    if (at == std::string_view::npos) break;
    return fmt::format(
        "the text to replace does not stand there exactly; its line \"{}\" is like line {}, so the "
        "space around it or what follows differs",
        printable(first, 80), line_of(text, at));
  }
  return "the text to replace does not stand there";
}

Error refuse(const Edit& edit, std::size_t number, ErrorCode code, std::string cause,
             std::string next) {
  return Error{code, fmt::format("make edit {} of", number), printable(edit.path), std::move(cause),
               std::move(next)};
}

}  // namespace

Result<std::map<std::string, std::string>> apply_edits(
    const std::map<std::string, std::string>& files, const std::vector<Edit>& edits) {
  std::map<std::string, std::string> changed;
  for (std::size_t i = 0; i < edits.size(); ++i) {
    const Edit& edit = edits[i];
    const auto found = files.find(edit.path);
    if (found == files.end()) {
      std::vector<std::string> names;
      for (const auto& [path, content] : files) names.push_back(path);
      const std::string near = variant::did_you_mean(edit.path, names);
      return refuse(edit, i + 1, ErrorCode::not_found, "the parent has no such file",
                    near.empty() ? fmt::format("its files: {}", fmt::join(names, ", "))
                                 : fmt::format("did you mean {}?", near));
    }
    if (edit.search.empty()) {
      return refuse(edit, i + 1, ErrorCode::usage, "the text to replace is empty",
                    "give the lines to replace, or the whole file in `files`");
    }
    std::string& text = changed.try_emplace(edit.path, found->second).first->second;
    const auto places = places_of(text, edit.search);
    if (places.empty()) {
      return refuse(edit, i + 1, ErrorCode::invalid, why_not_found(text, edit.search),
                    "copy it from the file, with its space; `read_ref` shows the file");
    }
    if (places.size() > 1) {
      std::vector<std::size_t> lines;
      for (const std::size_t at : places) lines.push_back(line_of(text, at));
      const bool more = lines.size() > k_places_max;
      lines.resize(std::min(lines.size(), k_places_max));
      return refuse(edit, i + 1, ErrorCode::invalid,
                    fmt::format("the text to replace stands there more than once: lines {}{}",
                                fmt::join(lines, ", "), more ? " and more" : ""),
                    "add the lines around it until it is the only one");
    }
    text.replace(places.front(), edit.search.size(), edit.replace);
  }
  return changed;
}

}  // namespace wb::engine
