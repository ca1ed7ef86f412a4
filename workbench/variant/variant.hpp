// SPDX-License-Identifier: MIT
// Variant: a manifest and all the files that it depends on (the include closure), held in memory so
// that ids, session copies and builds see the same bytes; and the catalogue of kernels.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.hpp"
#include "variant/manifest.hpp"

namespace wb::variant {

struct IncludeCache;  // closure.hpp

/// `files`: path relative to the kernels root ("cpu_tiled/kernel.cpp", "common/sdpa_abi.h") ->
/// content; always holds "<name>/kernel.json". id = SHA-256 over manifest and closure.
struct Variant {
  Manifest manifest;
  std::map<std::string, std::string> files;
  std::string id;  ///< 64 hex digits
  /// Kernels roots whose common/ it may include from, in order, also after deriving a variant from
  /// it.
  std::vector<fs::path> common_roots;
};

/// "cpu_tiled@1f0c44aa".
std::string label(const Variant& variant);

/// Limits of a variant's size, so that ids, logs and commits stay small.
inline constexpr std::size_t k_source_max_bytes = 1u << 20;
inline constexpr std::size_t k_closure_max_bytes = 8u << 20;
inline constexpr std::size_t k_closure_max_files = 256;

/// Reads a kernel folder: manifest, its sources and every file they #include with quotes, from the
/// folder itself or `<root>/common`, or else from the common/ of `more_roots` in order, so that a
/// kernel in a bare folder finds the installed headers. A quoted include whose first path component
/// is a granted name (manifest `includes`) is left to the compiler. Computed includes (#include
/// MACRO), absolute paths and ".." are refused, so that the closure is exact. `shared`: a cache for
/// kernels of the same roots that are read in succession. Errors: not_found, parse, invalid (file
/// outside, link, too big, name differs from the folder).
Result<Variant> read_variant(const FileSystem& file_system, const fs::path& kernels_root,
                             std::string_view folder_name,
                             const std::vector<fs::path>& more_roots = {},
                             IncludeCache* shared = nullptr);

/// A variant from bytes that a session stored or that came over the wire: `files` as in
/// Variant::files. Files outside the closure are left out. Errors: parse, invalid (the name, a
/// limit of the closure), not_found (no "<folder_name>/kernel.json", an include that is not in
/// `files`).
Result<Variant> variant_from_files(std::string_view folder_name,
                                   std::map<std::string, std::string> files);

/// The parent with some files replaced or added ("kernel.cpp" -> text, relative to its folder) and,
/// unless `new_name` is empty, a new name (the manifest then names the old one as its parent). The
/// closure is computed again: files that nothing includes any more are dropped. Errors: parse,
/// invalid (path outside the folder, closure broken), not_found (an include).
Result<Variant> derive_variant(const FileSystem& file_system, const Variant& parent,
                               const std::map<std::string, std::string>& changed_files,
                               std::string_view new_name);

/// Where a program in `program_folder` finds kernels, playbooks and the loop of Python subjects:
/// the folder that holds kernels/, playbooks/ and bindings/, of the nearest
/// share/sdpa-workbench/kernels in it or above it. The same rule holds for an installation (a
/// wheel, `cmake --install`) and for a build folder, which CMake lays out alike; links are
/// followed, so for a build folder it is the checkout. Nothing when there is none, as for a program
/// that was copied alone.
std::optional<fs::path> find_installed_root(const fs::path& program_folder);

/// The places of kernels, suites and playbooks: ./, then each --path DIR, then the installed set.
struct SearchPath {
  std::vector<fs::path> roots;  ///< folders that may hold kernels/, kernels/suites.json, playbooks/
};

class Catalogue {
 public:
  Catalogue(const FileSystem& file_system, SearchPath search_path);
  struct Entry {
    std::string name;
    fs::path kernels_root;
  };
  /// All kernel folders by name; the first root wins. Folders without kernel.json are ignored.
  [[nodiscard]] std::vector<Entry> list() const;
  /// Errors: not_found (with a did-you-mean and the list of searched places).
  [[nodiscard]] Result<Variant> find(std::string_view name) const;
  struct Reading {
    Entry entry;
    Result<Variant> variant;
  };
  /// find() for all of list(), or for the given name, reading every file of common/ once.
  [[nodiscard]] std::vector<Reading> read_all(
      const std::optional<std::string>& only = std::nullopt) const;

 private:
  const FileSystem& m_file_system;
  SearchPath m_search_path;
};

/// The closest of `words` to `word` (by edits; a swap counts one) if it is close enough to suggest,
/// else empty.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& words);

}  // namespace wb::variant
