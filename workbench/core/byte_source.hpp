// SPDX-License-Identifier: MIT
// Reads the bytes of a plain or gzip file in order. Used for texts too large for memory (traces)
// and for packed logs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/files.hpp"

namespace wb {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills a part of `into`; 0 means the end. Errors: io, damaged (gzip data that ends early or
  /// fails its checksum).
  virtual Result<std::size_t> read(std::span<char> into) = 0;
};

/// A plain or gzip file, told apart by its first two bytes; several gzip members in a row are one
/// text. `size_bytes` is what lies on disk. Errors: not_found, invalid (not a regular file), io.
struct OpenedFile {
  std::unique_ptr<ByteSource> source;
  std::uint64_t size_bytes = 0;
  bool gzip = false;
};
Result<OpenedFile> open_bytes(const fs::path& path);

/// Reads the whole file. Errors: as above, limit (more than max_bytes, unpacked).
Result<std::string> read_all(const fs::path& path, std::uint64_t max_bytes);

/// Unpacks gzip data in memory; `path` is for messages. Errors: damaged (no gzip data, cut off, or
/// a failing checksum), limit.
Result<std::string> unpack_gzip(std::string_view packed, const fs::path& path,
                                std::uint64_t max_bytes);

}  // namespace wb
