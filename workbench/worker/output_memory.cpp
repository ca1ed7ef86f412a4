// SPDX-License-Identifier: MIT
#include "worker/output_memory.hpp"

#include <cstring>
#include <utility>

#include "worker/failure.hpp"

namespace wb::worker {

Outcome<OutputMemory> OutputMemory::create(std::size_t size_bytes, Placing placing) {
  const TensorPlace place = draw_tensor_place(size_bytes, placing);
  auto file = as_outcome(SharedMemory::create("tensor", place.room_bytes));
  if (!file.ok()) return std::move(file).error();
  fill_margins(file->bytes(), place.offset, size_bytes);
  return OutputMemory(*std::move(file), place.offset, size_bytes, placing);
}

bool OutputMemory::margins_intact() const {
  return worker::margins_intact(m_file.bytes(), m_offset, m_size_bytes);
}

Outcome<std::span<std::byte>> OutputMemory::taken_bytes() {
  if (!m_taken) {
    auto memory = as_outcome(SharedMemory::create("taken", m_size_bytes));
    if (!memory.ok()) return std::move(memory).error();
    m_taken.emplace(*std::move(memory));
  }
  return m_taken->bytes();
}

Outcome<void> OutputMemory::take() {
  const auto to = taken_bytes();
  if (!to.ok()) return to.error();
  std::memcpy(to->data(), bytes().data(), m_size_bytes);
  return {};
}

}  // namespace wb::worker
