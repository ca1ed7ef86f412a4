// SPDX-License-Identifier: MIT
#include "worker/buffers.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "core/files.hpp"
#include "core/secret.hpp"
#include "worker/cpu_timing.hpp"

namespace wb::worker {

using problem::MaskKind;
using problem::Problem;
using problem::Tensor;
using problem::View;

namespace {

constexpr std::size_t k_alignment_bytes = 256;
constexpr std::size_t k_scatter_pages = 16;
/// Fills the space between the bytes and the guard pages: neither zero nor a tensor's value.
constexpr std::byte k_margin{0xa5};
/// Fills the gaps between the rows of an input view: NaN in every dtype.
constexpr std::byte k_gap{0xff};

std::size_t page_bytes() {
  static const auto k_page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return k_page;
}

std::size_t round_up(std::size_t value, std::size_t step) {
  return (value + step - 1) / step * step;
}

std::size_t bytes_of(std::int64_t elements, std::int64_t element_bytes) {
  return static_cast<std::size_t>(elements * element_bytes);
}

std::int64_t element_bytes(const Problem& problem, Tensor tensor) {
  if (tensor == Tensor::mask && problem.mask == MaskKind::boolean) return 1;
  return size_bytes(problem.dtype);
}

GuardedMemory input_memory(const Problem& problem, Tensor tensor, Placing placing,
                           const View& view) {
  if (tensor == Tensor::mask && problem.mask == MaskKind::none) return {};
  const std::int64_t element = element_bytes(problem, tensor);
  const std::int64_t span = problem::span_elements(problem::tensor_shape(problem, tensor),
                                                   problem::view_strides(problem, tensor, view));
  GuardedMemory memory(bytes_of(span, element), placing, bytes_of(view.shift, element));
  if (!problem::is_packed(view)) std::fill(memory.bytes().begin(), memory.bytes().end(), k_gap);
  return memory;
}

GuardedMemory output_memory(const Problem& problem, Placing placing, const View& view) {
  const std::int64_t element = size_bytes(problem.dtype);
  const std::int64_t span =
      problem::span_elements(problem::out_shape(problem), problem::out_view_strides(problem, view));
  GuardedMemory memory(bytes_of(span, element), placing, bytes_of(view.shift, element));
  if (!problem::is_packed(view)) std::fill(memory.bytes().begin(), memory.bytes().end(), k_margin);
  return memory;
}

}  // namespace

std::string_view to_string(Placing value) {
  return value == Placing::scattered ? "scattered" : "flush_end";
}

std::optional<Placing> parse_placing(std::string_view word) {
  for (const Placing value : {Placing::scattered, Placing::flush_end}) {
    if (word == to_string(value)) return value;
  }
  return std::nullopt;
}

Placing draw_placing() {
  return draw_secret<std::uint32_t>() % 2 == 0 ? Placing::scattered : Placing::flush_end;
}

TensorPlace draw_tensor_place(std::size_t size_bytes, Placing placing) {
  const std::size_t slack = placing == Placing::scattered ? k_scatter_pages * page_bytes() : 0;
  TensorPlace place;
  place.room_bytes = round_up(size_bytes + slack, page_bytes());
  const std::size_t steps = (place.room_bytes - size_bytes) / k_alignment_bytes;
  place.offset = placing == Placing::flush_end
                     ? steps * k_alignment_bytes
                     : draw_secret<std::uint32_t>() % (steps + 1) * k_alignment_bytes;
  return place;
}

void fill_margins(std::span<std::byte> room, std::size_t offset, std::size_t size_bytes) {
  for (const auto margin : {room.first(offset), room.subspan(offset + size_bytes)}) {
    std::fill(margin.begin(), margin.end(), k_margin);
  }
}

bool margins_intact(std::span<const std::byte> room, std::size_t offset, std::size_t size_bytes) {
  // Checks the first byte, and that each equals the one before it, many at a time in one pass.
  const auto is_margin = [](std::span<const std::byte> bytes) {
    return bytes.empty() || (bytes[0] == k_margin &&
                             std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
  };
  return is_margin(room.first(offset)) && is_margin(room.subspan(offset + size_bytes));
}

std::span<std::byte> GuardedMemory::reserve(std::size_t room_bytes) {
  void* address = ::mmap(nullptr, room_bytes + 2 * page_bytes(), PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) throw std::bad_alloc();
  return {static_cast<std::byte*>(address), room_bytes + 2 * page_bytes()};
}

std::span<std::byte> GuardedMemory::room() const {
  return m_reserved.subspan(page_bytes(), m_reserved.size() - 2 * page_bytes());
}

GuardedMemory::GuardedMemory(std::size_t size_bytes, Placing placing, std::size_t shift_bytes) {
  if (size_bytes == 0) return;
  const TensorPlace place = draw_tensor_place(size_bytes + shift_bytes, placing);
  m_reserved = reserve(place.room_bytes);
  if (::mprotect(room().data(), place.room_bytes, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(m_reserved.data(), m_reserved.size());
    throw std::bad_alloc();
  }
  const std::size_t begin = place.offset + shift_bytes;
  m_bytes = room().subspan(begin, size_bytes);
  fill_margins(room(), begin, size_bytes);
}

Result<GuardedMemory> GuardedMemory::of_file(int fd, std::size_t offset, std::size_t size_bytes) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) return errno_error("map", "a memory file", errno);
  const auto room_bytes = static_cast<std::size_t>(facts.st_size);
  if (size_bytes == 0 || offset % k_alignment_bytes != 0 || room_bytes % page_bytes() != 0 ||
      offset > room_bytes || size_bytes > room_bytes - offset) {
    return Error{ErrorCode::invalid, "map", "a memory file", "the tensor does not lie in it", ""};
  }
  GuardedMemory memory;
  memory.m_reserved = reserve(room_bytes);
  // All of it will be written, so its pages are mapped at once instead of by single faults.
  if (::mmap(memory.room().data(), room_bytes, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0) == MAP_FAILED) {
    return errno_error("map", "a memory file", errno);
  }
  memory.m_bytes = memory.room().subspan(offset, size_bytes);
  return memory;
}

bool GuardedMemory::margins_intact() const {
  if (m_bytes.empty()) return true;
  const auto inner = room();
  const auto offset = static_cast<std::size_t>(m_bytes.data() - inner.data());
  return worker::margins_intact(inner, offset, m_bytes.size());
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

BufferSet::BufferSet(const Problem& of, std::size_t workspace_bytes, bool with_out, Placing placing,
                     const problem::CallForm& called)
    : problem(of),
      form(called),
      q(input_memory(of, Tensor::q, placing, called.q)),
      k(input_memory(of, Tensor::k, placing, called.k)),
      v(input_memory(of, Tensor::v, placing, called.v)),
      mask(input_memory(of, Tensor::mask, placing, called.mask)),
      workspace(workspace_bytes, placing),
      out(with_out ? output_memory(of, placing, called.out) : GuardedMemory()) {}

void BufferSet::refill(std::uint32_t seed, problem::Draw draw, int threads) {
  const auto fill = [&](Tensor tensor, const View& view, const GuardedMemory& memory) {
    problem::fill_tensor(problem, seed, tensor, draw, problem::view_strides(problem, tensor, view),
                         memory.bytes(), threads);
  };
  fill(Tensor::q, form.q, q);
  fill(Tensor::k, form.k, k);
  fill(Tensor::v, form.v, v);
  if (problem.mask != MaskKind::none) fill(Tensor::mask, form.mask, mask);
}

void BufferSet::put_out(std::span<const std::byte> packed) const {
  problem::copy_rows(problem::out_shape(problem), size_bytes(problem.dtype), packed.data(),
                     problem::out_strides(problem), out.bytes().data(),
                     problem::out_view_strides(problem, form.out));
}

void BufferSet::take_out(std::span<std::byte> packed) const {
  problem::copy_rows(problem::out_shape(problem), size_bytes(problem.dtype), out.bytes().data(),
                     problem::out_view_strides(problem, form.out), packed.data(),
                     problem::out_strides(problem));
}

bool BufferSet::gaps_intact() const {
  if (problem::is_packed(form.out) || out.bytes().empty()) return true;
  std::vector<std::byte> gaps(out.bytes().begin(), out.bytes().end());
  const std::vector<std::byte> blank(problem::out_bytes(problem), k_margin);
  problem::copy_rows(problem::out_shape(problem), size_bytes(problem.dtype), blank.data(),
                     problem::out_strides(problem), gaps.data(),
                     problem::out_view_strides(problem, form.out));
  return std::all_of(gaps.begin(), gaps.end(), [](std::byte byte) { return byte == k_margin; });
}

void BufferSet::read_through(int threads) const {
  worker::read_through({{q.bytes(), k.bytes(), v.bytes(), mask.bytes()}}, threads);
}

const char* BufferSet::overrun() const {
  for (const auto& [memory, name] :
       {std::pair{&q, "q"}, std::pair{&k, "k"}, std::pair{&v, "v"}, std::pair{&mask, "mask"},
        std::pair{&out, "out"}, std::pair{&lse, "lse"}, std::pair{&workspace, "the workspace"}}) {
    if (!memory->margins_intact()) return name;
  }
  if (!gaps_intact()) return "the rows of out";
  return nullptr;
}

}  // namespace wb::worker
