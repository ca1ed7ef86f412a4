// SPDX-License-Identifier: MIT
#include "catalogue/loops.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "variant/manifest.hpp"

namespace wb::catalogue {
namespace {

constexpr std::int64_t k_loops_version = 1;
constexpr std::size_t k_loops_max_bytes = 1 << 20;

std::string said(ObjectReader& reader, std::string_view key) {
  std::string words = reader.string(key);
  if (words.empty()) reader.fail(key, "must not be empty");
  return words;
}

std::vector<std::string> known_words(ObjectReader& reader, std::string_view key) {
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
  family.id = said(reader, "id");
  family.title = said(reader, "title");
  family.also_called = reader.string_or("also_called", "");
  family.grid = said(reader, "grid");
  family.block = said(reader, "block");
  family.walks = said(reader, "walks");
  family.merge = said(reader, "merge");
  family.pros = some_words(reader, "pros");
  family.cons = some_words(reader, "cons");
  family.use_case = said(reader, "use_case");
  family.source = said(reader, "source");
  family.has = known_words(reader, "has");
  family.lacks = known_words(reader, "lacks");
  WB_TRY(reader.finish());
  return family;
}

}  // namespace

Result<std::vector<LoopFamily>> parse_loops(std::string_view text, std::string_view what) {
  const std::string file(what);
  WB_TRY_ASSIGN(const Json root, parse_json(text, what, {k_loops_max_bytes, 8}));
  ObjectReader reader(root, file);
  const std::int64_t version = reader.integer("version", 1, std::int64_t{1} << 31);
  reader.string_or("about", "");  // for readers of the file
  const Json* list = reader.member("loops");
  WB_TRY(reader.finish(/*allow_unknown=*/version > k_loops_version));
  if (version > k_loops_version) {
    return Error{ErrorCode::too_new, "read", file,
                 fmt::format("it has version {}, this program knows {}", version, k_loops_version),
                 "use a newer sdpa-wb"};
  }
  if (list == nullptr || !list->is_array()) {
    return Error{ErrorCode::invalid, "read", file, "it has no list \"loops\"", "correct the file"};
  }
  std::vector<LoopFamily> all;
  for (const Json& entry : *list) {
    const std::string place = fmt::format("{}: loop {}", file, all.size() + 1);
    WB_TRY_ASSIGN(LoopFamily family, read_family(entry, place));
    const bool is_twice = std::any_of(all.begin(), all.end(),
                                      [&](const LoopFamily& one) { return one.id == family.id; });
    if (is_twice) {
      return Error{ErrorCode::invalid, "read", file, family.id + " is there twice",
                   "correct the file"};
    }
    all.push_back(std::move(family));
  }
  return all;
}

Result<std::vector<LoopFamily>> load_loops(const FileSystem& file_system,
                                           const variant::SearchPath& search_path) {
  for (const fs::path& root : search_path.roots) {
    const fs::path path = root / "kernels" / "loops.json";
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    WB_TRY_ASSIGN(const std::string text, file_system.read(path, k_loops_max_bytes));
    return parse_loops(text, path.string());
  }
  return Error{ErrorCode::not_found, "find", "kernels/loops.json",
               "no folder of the search path has it", "run in a checkout, or give --path DIR"};
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
