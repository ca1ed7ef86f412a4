// SPDX-License-Identifier: MIT
#include "catalogue/loops.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "catalogue/list.hpp"
#include "core/json.hpp"
#include "variant/manifest.hpp"

namespace wb::catalogue {
namespace {

constexpr ListFormat k_loops{.key = "loops", .entry = "loop"};

std::vector<std::string> read_techniques(ObjectReader& reader, std::string_view key) {
  const auto known = variant::known_techniques();
  std::vector<std::string> words = reader.strings_or(key, {});
  for (const std::string& word : words) {
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      reader.fail(key, fmt::format("\"{}\" is no technique", word));
    }
  }
  return words;
}

std::vector<std::string> some_words(ObjectReader& reader, std::string_view key) {
  std::vector<std::string> words = reader.strings_or(key, {});
  if (words.empty()) reader.fail(key, "must name one at least");
  return words;
}

Result<LoopFamily> read_family(const Json& json, const std::string& what) {
  ObjectReader reader(json, what);
  LoopFamily family;
  family.id = read_filled(reader, "id");
  family.title = read_filled(reader, "title");
  family.also_called = reader.string_or("also_called", "");
  family.grid = read_filled(reader, "grid");
  family.block = read_filled(reader, "block");
  family.walks = read_filled(reader, "walks");
  family.merge = read_filled(reader, "merge");
  family.pros = some_words(reader, "pros");
  family.cons = some_words(reader, "cons");
  family.use_case = read_filled(reader, "use_case");
  family.source = read_filled(reader, "source");
  family.has = read_techniques(reader, "has");
  family.lacks = read_techniques(reader, "lacks");
  WB_TRY(reader.finish());
  return family;
}

}  // namespace

Result<std::vector<LoopFamily>> parse_loops(std::string_view text, std::string_view what) {
  return parse_list(text, what, k_loops, read_family, &LoopFamily::id);
}

Result<std::vector<LoopFamily>> load_loops(const FileSystem& file_system,
                                           const variant::SearchPath& search_path) {
  WB_TRY_ASSIGN(const FoundList found, find_list(file_system, search_path, k_loops));
  return parse_loops(found.text, found.path);
}

const LoopFamily* loop_of(const std::vector<LoopFamily>& families,
                          const std::vector<std::string>& techniques) {
  if (techniques.empty()) return nullptr;
  const auto is_there = [&](const std::string& word) {
    return std::find(techniques.begin(), techniques.end(), word) != techniques.end();
  };
  for (const LoopFamily& family : families) {
    if (family.has.empty() && family.lacks.empty()) continue;
    const bool has_all = std::all_of(family.has.begin(), family.has.end(), is_there);
    if (has_all && std::none_of(family.lacks.begin(), family.lacks.end(), is_there)) {
      return &family;
    }
  }
  return nullptr;
}

}  // namespace wb::catalogue
