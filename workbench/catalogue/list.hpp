// SPDX-License-Identifier: MIT
// What the files of the catalogue share: {"version", "about", KEY: [entries]}, the words that
// entries may use, and the problems that an entry is for. Used by techniques, causes, loops and
// dispatch rules.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/files.hpp"
#include "core/json.hpp"
#include "variant/variant.hpp"

namespace wb::catalogue {

/// The problems that a catalogue entry concerns.
struct ProblemKind {
  std::string when;           ///< restriction-style predicate over the problem; empty: any
  std::vector<Dtype> dtypes;  ///< empty: any
};
/// The keys `when` and `dtypes` of an entry; faults are left to the reader.
ProblemKind read_problem_kind(ObjectReader& reader);
/// Needs a predicate that was checked when it was read.
bool is_of(const ProblemKind& kind, const problem::Problem& problem);

/// A text that must not be empty.
std::string read_filled(ObjectReader& reader, std::string_view key);

/// A fault unless `word` is one of `allowed`.
template <typename Words>
void check_word(ObjectReader& reader, std::string_view key, std::string_view word,
                const Words& allowed) {
  if (std::find(allowed.begin(), allowed.end(), word) == allowed.end()) {
    reader.fail(key, fmt::format("\"{}\" is not one of {}", word, fmt::join(allowed, ", ")));
  }
}
template <typename Words>
std::vector<std::string> read_words(ObjectReader& reader, std::string_view key,
                                    const Words& allowed) {
  std::vector<std::string> words = reader.strings_or(key, {});
  for (const std::string& word : words) check_word(reader, key, word, allowed);
  return words;
}

/// The list `key` of the file kernels/KEY.json.
struct ListFormat {
  std::string_view key;    ///< "causes"
  std::string_view entry;  ///< "cause", in messages
  int max_depth = 8;
  std::size_t most = 10'000;
};
inline constexpr std::int64_t k_list_version = 1;
inline constexpr std::size_t k_list_max_bytes = 1 << 20;

Error refused_list(std::string_view file, std::string cause);
/// The list itself. Errors: parse, invalid (no list, too many entries), too_new.
Result<Json> parse_entries(std::string_view text, std::string_view file, const ListFormat& format);

/// The entries in file order, each by `read(json, place) -> Result<Entry>`. Errors: as above, those
/// of `read`, invalid (two entries with the same `id`).
template <typename Entry, typename Read>
Result<std::vector<Entry>> parse_list(std::string_view text, std::string_view file,
                                      const ListFormat& format, const Read& read,
                                      std::string Entry::*id) {
  WB_TRY_ASSIGN(const Json list, parse_entries(text, file, format));
  std::vector<Entry> all;
  for (const Json& json : list) {
    WB_TRY_ASSIGN(Entry entry,
                  read(json, fmt::format("{}: {} {}", file, format.entry, all.size() + 1)));
    const bool is_twice =
        std::any_of(all.begin(), all.end(), [&](const Entry& one) { return one.*id == entry.*id; });
    if (is_twice) return refused_list(file, entry.*id + " is there twice");
    all.push_back(std::move(entry));
  }
  return all;
}

struct FoundList {
  std::string text, path;
};
/// From the first folder that has the file. Errors: not_found, and those of reading.
Result<FoundList> find_list(const FileSystem& file_system, const variant::SearchPath& search_path,
                            const ListFormat& format);

}  // namespace wb::catalogue
