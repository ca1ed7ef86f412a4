// SPDX-License-Identifier: MIT
// SharedMemory: an anonymous memory file for one tensor, handed from the supervisor to a subject
// and then to the judge. Its size is sealed, so that no holder can make another's mapping fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/error.hpp"
#include "core/files.hpp"

namespace wb::worker {

/// A mapping of a whole memory file, unmapped on destruction.
class Mapping {
 public:
  /// `size_bytes` must be what the file holds. Errors: invalid (another size), io.
  static Result<Mapping> of(int fd, std::size_t size_bytes, bool writable);
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();
  [[nodiscard]] std::span<std::byte> bytes() const { return m_bytes; }

 private:
  explicit Mapping(std::span<std::byte> bytes) : m_bytes(bytes) {}
  std::span<std::byte> m_bytes;
};

/// Bytes that the kernel could give out now without killing anybody; 0 when it does not say.
std::uint64_t available_memory_bytes();

class SharedMemory {
 public:
  /// Errors: limit (more than half of what is available now: reserving it could make the kernel end
  /// other processes of this machine), io.
  static Result<SharedMemory> create(const char* name, std::size_t size_bytes);
  [[nodiscard]] int fd() const { return m_fd.get(); }
  [[nodiscard]] std::span<std::byte> bytes() const { return m_mapping.bytes(); }

 private:
  SharedMemory(UniqueFd fd, Mapping mapping) : m_fd(std::move(fd)), m_mapping(std::move(mapping)) {}
  UniqueFd m_fd;
  Mapping m_mapping;
};

}  // namespace wb::worker
