// SPDX-License-Identifier: MIT
// SharedMemory: an anonymous memory file for one tensor, passed from the supervisor to a subject
// and then to the judge. Its size is sealed, so that no holder can make another's mapping fault.
// Also what the machine's limits do to an honest subject.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "core/error.hpp"
#include "core/files.hpp"
#include "worker/child.hpp"

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

// What the machine's limits do to an honest subject, so that a variant is not blamed for them:
// whether the kernel killed it because memory ran out, and which process used too much; and whether
// the system lets it start its threads. Files are read below a root, so that tests can provide
// them.

/// How often the kernel has killed a process of the machine, or of one of its control groups, for
/// lack of memory; 0 when unknown.
std::int64_t memory_kills(const std::filesystem::path& root = "/");

/// The memory that this process and its children may use together: the machine's, or less by a
/// control group's limit (bytes); 0 when unknown.
std::uint64_t memory_bound(const std::filesystem::path& root = "/");

/// `of_others`: the process held less than half of memory_bound(), so others used the rest. `own`:
/// it held more and used too much.
enum class OomCause { none, of_others, own };
/// Decides from a process's end and the value of memory_kills() before it was started.
OomCause oom_cause(const ChildEnd& end, std::int64_t kills_before,
                   const std::filesystem::path& root = "/");

/// A sentence for a subject's failure; nothing when the threads of two plans on each allowed CPU,
/// and a few more, can be started now.
std::optional<std::string> refused_threads();

}  // namespace wb::worker
