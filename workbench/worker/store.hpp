// SPDX-License-Identifier: MIT
// Store: the files that the host sent, addressed by content, in a private temporary folder that is
// removed with the worker. Used by supervisor for has, put, load and build.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "protocol/protocol.hpp"

namespace wb::worker {

class Store {
 public:
  static Result<Store> create();

  [[nodiscard]] bool has(std::string_view sha256) const { return m_sizes.contains(sha256); }
  /// Adds one chunk. Errors: invalid (offset out of order, another total), limit (file or store too
  /// big), damaged (the finished file does not have this hash and is dropped), parse, io.
  Result<protocol::PutResult> put(const protocol::PutArgs& chunk);
  /// Adds a file that this process made. Returns its hash.
  Result<std::string> add(std::string_view bytes);

  /// The path of a stored file, after verifying its bytes again: without Landlock a subject of the
  /// same user could have changed it. Errors: not_found, damaged, io.
  [[nodiscard]] Result<fs::path> verified_path(std::string_view sha256) const;
  [[nodiscard]] Result<std::string> verified_bytes(std::string_view sha256) const;
  /// Writes the files below `folder`. Errors: as above, invalid (a path that leaves the folder).
  Result<void> materialize(const std::vector<protocol::FileRef>& files,
                           const fs::path& folder) const;

  /// The private folder; subfolders for subjects are made in it.
  [[nodiscard]] const fs::path& folder() const { return m_folder.path(); }

 private:
  struct Part {
    std::int64_t total_bytes = 0;
    std::string bytes;
  };
  explicit Store(TempDirectory folder) : m_folder(std::move(folder)) {}
  [[nodiscard]] fs::path path_of(std::string_view sha256) const;

  TempDirectory m_folder;
  std::map<std::string, std::uint64_t, std::less<>> m_sizes;
  std::map<std::string, Part, std::less<>> m_parts;
  std::uint64_t m_total_bytes = 0;
};

inline constexpr std::uint64_t k_max_file_bytes = 256u << 20;
inline constexpr std::uint64_t k_max_store_bytes = 2ull << 30;
/// The most files that may be partly received at one time.
inline constexpr std::size_t k_max_open_parts = 4;

}  // namespace wb::worker
