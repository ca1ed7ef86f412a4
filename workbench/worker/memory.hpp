// SPDX-License-Identifier: MIT
// SharedMemory: an anonymous memory file for one tensor, passed from the supervisor to a subject
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
  /// `size_bytes` must be the file's size. Errors: invalid (another size), io.
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

/// Memory that the kernel could provide now without killing processes, in bytes; 0 when unknown.
std::uint64_t available_memory_bytes();

class SharedMemory {
 public:
  /// Errors: limit (more than half of the available memory: reserving it could make the kernel kill
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
