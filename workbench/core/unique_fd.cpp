// SPDX-License-Identifier: MIT
#include "core/unique_fd.hpp"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "core/files.hpp"

namespace wb {
namespace {

/// One bit for each descriptor owned by a UniqueFd. Not guarded by a lock, because children of
/// fork() read them, where a held lock would never be released.
constexpr std::size_t k_word_bits = 64, k_noted_descriptors = 1u << 16;
constinit std::array<std::atomic<std::uint64_t>, k_noted_descriptors / k_word_bits> owned_words{};

void note_owned(int fd, bool is_owned) {
  const auto at = static_cast<std::size_t>(fd);
  if (fd < 0 || at >= k_noted_descriptors) return;
  std::atomic<std::uint64_t>& word = owned_words[at / k_word_bits];
  const std::uint64_t bit = std::uint64_t{1} << (at % k_word_bits);
  is_owned ? word.fetch_or(bit) : word.fetch_and(~bit);
}

void close_owned() {
  for (std::size_t at = 0; at < owned_words.size(); ++at) {
    for (std::uint64_t bits = owned_words[at].exchange(0); bits != 0; bits &= bits - 1) {
      ::close(static_cast<int>(at * k_word_bits) + std::countr_zero(bits));
    }
  }
}

}  // namespace

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) reset(std::exchange(other.m_fd, -1));
  return *this;
}

int UniqueFd::release() {
  note_owned(m_fd, false);
  return std::exchange(m_fd, -1);
}

void UniqueFd::reset(int fd) {
  if (m_fd >= 0 && m_fd != fd) {
    note_owned(m_fd, false);  // first: after the close another thread may get this number
    ::close(m_fd);
  }
  m_fd = fd;
  note_owned(m_fd, true);
}

Result<void> close_in_forked_children() {
  const int failed = ::pthread_atfork(nullptr, nullptr, close_owned);
  if (failed != 0) return errno_error("prepare for forks of", "this process", failed);
  return {};
}

}  // namespace wb
