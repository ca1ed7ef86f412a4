// SPDX-License-Identifier: MIT
// Compares the files that a compiler reports as read (-MD) with what the artifact id covers: the
// variant's own files, granted folders, and the compiler's own headers. Used by compile_run.cpp
// only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.hpp"
#include "variant/variant.hpp"

namespace wb::variant {

enum class CompilerKind { gcc, clang, nvcc };

/// Where the compiler works and writes its dependency lists.
struct ReadLists {
  CompilerKind kind = CompilerKind::gcc;
  fs::path sources;          ///< the compiler's working folder
  fs::path temporary;        ///< a writable folder beside it, for the lists
  fs::path mounted_as = {};  ///< the compiler's name for `sources`, if different
};

/// The flags that make the compiler write the lists. They also make __DATE__, __TIME__ and
/// __TIMESTAMP__ undeclared names, since no id covers a time.
std::vector<std::string> read_list_words(const ReadLists& lists);

/// The prerequisites of a make rule.
std::vector<std::string> names_of_rule(std::string_view rule);

/// The first file that was read and that the id does not cover. `include_folders`: granted;
/// `headers`: the compiler's own folders, beside those of the system. Errors: environment (there is
/// no list).
Result<std::optional<std::string>> uncovered_read(const ReadLists& lists, const Variant& variant,
                                                  const std::vector<fs::path>& include_folders,
                                                  const std::vector<fs::path>& headers);

/// The same, from the output of -H, for a failed compile that wrote no list.
std::optional<std::string> uncovered_header(std::string_view printed, const ReadLists& lists,
                                            const Variant& variant,
                                            const std::vector<fs::path>& include_folders,
                                            const std::vector<fs::path>& headers);

/// True when the compiler complains about the missing date macros.
bool uses_date_macro(std::string_view words);

/// The header folders of these programs, wherever they are installed.
std::vector<fs::path> header_folders_of(const std::vector<fs::path>& programs);

}  // namespace wb::variant
