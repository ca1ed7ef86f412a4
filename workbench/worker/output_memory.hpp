// SPDX-License-Identifier: MIT
// OutputMemory: where a subject on the CPU writes an output. The memory file belongs to the
// supervisor, margins included, and the subject maps it in place of its own memory; so the output
// can be read without running the subject's code. Used by turns and judged runs.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "core/invalidity.hpp"
#include "problem/verdict.hpp"
#include "worker/buffers.hpp"
#include "worker/memory.hpp"

namespace wb::worker {

class OutputMemory {
 public:
  /// `size_bytes` at least 1. Failures: environment.
  static Outcome<OutputMemory> create(std::size_t size_bytes, Placing placing);
  [[nodiscard]] int fd() const { return m_file.fd(); }
  /// Offset of the tensor in the file; 256-byte aligned.
  [[nodiscard]] std::size_t offset() const { return m_offset; }
  [[nodiscard]] Placing placing() const { return m_placing; }
  /// The shared bytes, to which a subject may be writing.
  [[nodiscard]] std::span<std::byte> bytes() const {
    return m_file.bytes().subspan(m_offset, m_size_bytes);
  }
  /// False once anything was written outside the tensor.
  [[nodiscard]] bool margins_intact() const;
  /// Copies the tensor into memory that no subject can access. Failures: environment.
  Outcome<void> take();
  /// The memory of the copy, to be filled by other means.
  Outcome<std::span<std::byte>> taken_bytes();
  /// The copy made by take(), which must have been called.
  [[nodiscard]] const SharedMemory& taken() const { return *m_taken; }

 private:
  OutputMemory(SharedMemory file, std::size_t offset, std::size_t size_bytes, Placing placing)
      : m_file(std::move(file)), m_offset(offset), m_size_bytes(size_bytes), m_placing(placing) {}
  SharedMemory m_file;
  std::size_t m_offset, m_size_bytes;
  Placing m_placing;
  std::optional<SharedMemory> m_taken;
};

}  // namespace wb::worker
