// SPDX-License-Identifier: MIT
#include "worker/buffers.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "worker/caches.hpp"
#include "worker/secret.hpp"

namespace wb::worker {
namespace {

constexpr std::size_t k_alignment_bytes = 256;
constexpr std::size_t k_scatter_pages = 16;
/// What lies between the bytes and the guard pages: no value of a tensor, nor zero.
constexpr std::byte k_margin{0xa5};

std::size_t round_up(std::size_t value, std::size_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace

GuardedMemory::GuardedMemory(std::size_t size_bytes, Placing placing) {
  if (size_bytes == 0) return;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t slack = placing == Placing::scattered ? k_scatter_pages * page : 0;
  const std::size_t usable = round_up(size_bytes + slack, page);
  void* address = ::mmap(nullptr, usable + 2 * page, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) throw std::bad_alloc();
  m_reserved = {static_cast<std::byte*>(address), usable + 2 * page};
  std::byte* begin = m_reserved.data() + page;
  if (::mprotect(begin, usable, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(m_reserved.data(), m_reserved.size());
    throw std::bad_alloc();
  }
  const std::size_t room = usable - size_bytes;
  const std::size_t steps = room / k_alignment_bytes;
  const std::size_t offset = placing == Placing::flush_end
                                 ? steps * k_alignment_bytes
                                 : draw_secret<std::uint32_t>() % (steps + 1) * k_alignment_bytes;
  m_bytes = {begin + offset, size_bytes};
  const auto [before, after] = margins();
  std::fill(before.begin(), before.end(), k_margin);
  std::fill(after.begin(), after.end(), k_margin);
}

std::pair<std::span<std::byte>, std::span<std::byte>> GuardedMemory::margins() const {
  if (m_bytes.empty()) return {};
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto inner = m_reserved.subspan(page, m_reserved.size() - 2 * page);
  const auto offset = static_cast<std::size_t>(m_bytes.data() - inner.data());
  return {inner.first(offset), inner.subspan(offset + m_bytes.size())};
}

bool GuardedMemory::margins_intact() const {
  // The first byte is right, and each equals the one before it: many at a time, in one pass.
  const auto is_margin = [](std::span<const std::byte> bytes) {
    return bytes.empty() || (bytes[0] == k_margin &&
                             std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
  };
  const auto [before, after] = margins();
  return is_margin(before) && is_margin(after);
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept
    : m_reserved(std::exchange(other.m_reserved, {})), m_bytes(std::exchange(other.m_bytes, {})) {}

GuardedMemory& GuardedMemory::operator=(GuardedMemory&& other) noexcept {
  std::swap(m_reserved, other.m_reserved);
  std::swap(m_bytes, other.m_bytes);
  return *this;
}

GuardedMemory::~GuardedMemory() {
  if (!m_reserved.empty()) ::munmap(m_reserved.data(), m_reserved.size());
}

BufferSet::BufferSet(const Problem& of, std::size_t workspace_bytes, bool with_out, Placing placing)
    : problem(of),
      q(tensor_bytes(of, Tensor::q), placing),
      k(tensor_bytes(of, Tensor::k), placing),
      v(tensor_bytes(of, Tensor::v), placing),
      mask(of.mask == MaskKind::none ? 0 : tensor_bytes(of, Tensor::mask), placing),
      out(with_out ? out_bytes(of) : 0, placing),
      workspace(workspace_bytes, placing) {}

void BufferSet::refill(std::uint32_t seed, Draw draw, int threads) {
  fill_tensor(problem, seed, Tensor::q, draw, q.bytes(), threads);
  fill_tensor(problem, seed, Tensor::k, draw, k.bytes(), threads);
  fill_tensor(problem, seed, Tensor::v, draw, v.bytes(), threads);
  if (problem.mask != MaskKind::none) {
    fill_tensor(problem, seed, Tensor::mask, draw, mask.bytes(), threads);
  }
}

void BufferSet::read_through(int threads) const {
  worker::read_through({{q.bytes(), k.bytes(), v.bytes(), mask.bytes()}}, threads);
}

const char* BufferSet::overrun() const {
  for (const auto& [memory, name] :
       {std::pair{&q, "q"}, std::pair{&k, "k"}, std::pair{&v, "v"}, std::pair{&mask, "mask"},
        std::pair{&out, "out"}, std::pair{&workspace, "the workspace"}}) {
    if (!memory->margins_intact()) return name;
  }
  return nullptr;
}

}  // namespace wb::worker
