// SPDX-License-Identifier: MIT
// What a compiler says that it has read (-MD), held against what the artifact id covers: the
// variant's own files, granted folders, and the headers of the compiler itself. Used by
// compile_run.cpp only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.hpp"
#include "variant/variant.hpp"

namespace wb::variant {

enum class CompilerKind { gcc, clang, nvcc };

/// Where the compiler writes its lists, and how a failure is told from a hidden file.
struct ReadLists {
  CompilerKind kind = CompilerKind::gcc;
  fs::path sources;       ///< the folder in which it works
  fs::path temporary;     ///< a writable folder beside it, where the lists are put
  fs::path seen_as = {};  ///< how the compiler names the first, where that is another name
};

/// The words that make it write them. They also take the date away: __DATE__, __TIME__ and
/// __TIMESTAMP__ name something that is declared nowhere, since no id covers a time.
std::vector<std::string> read_list_words(const ReadLists& lists);

/// The names in a rule of make, its targets left out.
std::vector<std::string> names_of_rule(std::string_view rule);

/// The first file that it read and that the id does not cover. `include_folders`: granted;
/// `headers`: folders of the compiler's own, beside those of the system. Errors: environment (it
/// has written no list).
Result<std::optional<std::string>> uncovered_read(const ReadLists& lists, const Variant& variant,
                                                  const std::vector<fs::path>& include_folders,
                                                  const std::vector<fs::path>& headers);

/// The same from what -H printed, of a compile that failed and wrote no list.
std::optional<std::string> uncovered_header(std::string_view printed, const ReadLists& lists,
                                            const Variant& variant,
                                            const std::vector<fs::path>& include_folders,
                                            const std::vector<fs::path>& headers);

/// Whether the compiler's words complain about the date that was taken away.
bool misses_the_date(std::string_view words);

/// The folders with headers that belong to a program, wherever it is installed.
std::vector<fs::path> header_folders_of(const std::vector<fs::path>& programs);

}  // namespace wb::variant
