// SPDX-License-Identifier: MIT
// The bytes of a trace file in order, unpacked on the way when the file is gzip: what the reader
// streams over, so that a trace is never held as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/files.hpp"

namespace wb::trace {

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

}  // namespace wb::trace
