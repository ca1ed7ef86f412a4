// SPDX-License-Identifier: MIT
#include "worker/cuda/loans.hpp"

#include <fmt/format.h>

#include <tuple>
#include <utility>

namespace wb::worker::cuda {

using problem::Poison;

namespace {

/// A larger copy buffer is freed when the next copy needs less than half of it.
constexpr std::size_t k_kept_copy_bytes = 256u << 20;

}  // namespace

CudaResult<Loans> Loans::create(const Stream& stream, FillPoison fill_poison) {
  WB_TRY(SharedBuffer::supported(*stream.context()));
  // Tests with an allocation, since a container or partition may fail despite the attributes.
  WB_TRY_ASSIGN(const SharedBuffer probe, SharedBuffer::create(stream.context(), 1));
  WB_TRY(probe.share());
  WB_TRY_ASSIGN(Event begin, Event::create(stream.context()));
  WB_TRY_ASSIGN(Event end, Event::create(stream.context()));
  return Loans(stream, std::move(fill_poison), std::move(begin), std::move(end));
}

CudaResult<SharedBuffer> Loans::reserve(const OutputPlace& place,
                                        const std::optional<Poison>& poison) const {
  WB_TRY_ASSIGN(SharedBuffer memory,
                SharedBuffer::create(m_stream->context(), place.reserved_bytes));
  // Clears data of earlier owners and known poison.
  WB_TRY(fill_bytes(*m_stream, memory.address(), std::byte{0}, memory.size_bytes()));
  if (poison) WB_TRY(m_fill_poison(*poison, memory.address() + place.offset, place.size_bytes));
  WB_TRY(m_stream->synchronize());
  return memory;
}

CudaResult<LoanParts> Loans::lend(std::int64_t number, const OutputPlaces& places,
                                  const std::optional<Poison>& out_poison,
                                  const std::optional<Poison>& lse_poison) {
  Loan loan{places, {}, {}, {}};
  const std::optional<Poison> no_poison;
  LoanParts parts;
  for (const auto& [place, memory, poison] : {std::tuple{&places.out, &loan.out, &out_poison},
                                              std::tuple{&places.lse, &loan.lse, &lse_poison},
                                              std::tuple{&places.snap, &loan.snap, &no_poison}}) {
    if (place->size_bytes == 0) continue;
    WB_TRY_ASSIGN(*memory, reserve(*place, *poison));
    WB_TRY_ASSIGN(UniqueFd fd, memory->share());
    parts.fds.push_back(std::move(fd));
    parts.bytes.push_back(memory->size_bytes());
  }
  m_loans.insert_or_assign(number, std::move(loan));
  return parts;
}

CudaResult<void> Loans::provide(DeviceBuffer& copy, std::size_t size_bytes) const {
  const bool is_too_large =
      copy.size_bytes() > k_kept_copy_bytes && size_bytes < copy.size_bytes() / 2;
  if (copy.size_bytes() >= size_bytes && !is_too_large) return {};
  copy = DeviceBuffer();  // frees the old buffer before the new one is made
  WB_TRY_ASSIGN(copy, DeviceBuffer::allocate(m_stream->context(), size_bytes));
  return {};
}

CudaResult<void> Loans::queue_copy(const OutputPlace& place, const SharedBuffer& from,
                                   const DeviceBuffer& to) const {
  if (place.size_bytes == 0) return {};
  const Context& context = *m_stream->context();
  return context.check(
      context.functions().memcpy_on_device(to.address(), from.address() + place.offset,
                                           place.size_bytes, m_stream->handle()),
      "copy", "an output");
}

CudaResult<TakenOutput> Loans::take(std::int64_t number) {
  const auto found = m_loans.find(number);
  if (found == m_loans.end()) {
    return Fault{{ErrorCode::invalid, "take", fmt::format("output {}", number),
                  "this judge has lent no such memory", ""}};
  }
  const Loan& loan = found->second;
  WB_TRY(provide(m_out_copy, loan.places.out.size_bytes));
  WB_TRY(provide(m_lse_copy, loan.places.lse.size_bytes));
  WB_TRY(m_begin.record(*m_stream));
  if (loan.places.snap.size_bytes > 0) {
    WB_TRY(queue_copy(loan.places.snap, loan.snap, m_out_copy));
  } else {
    WB_TRY(queue_copy(loan.places.out, loan.out, m_out_copy));
  }
  WB_TRY(queue_copy(loan.places.lse, loan.lse, m_lse_copy));
  WB_TRY(m_end.record(*m_stream));
  WB_TRY(m_stream->synchronize());
  TakenOutput taken;
  taken.out = m_out_copy.address();
  taken.lse = loan.places.lse.size_bytes > 0 ? m_lse_copy.address() : 0;
  WB_TRY_ASSIGN(taken.device_us, m_end.elapsed_us(m_begin));
  return taken;
}

}  // namespace wb::worker::cuda
