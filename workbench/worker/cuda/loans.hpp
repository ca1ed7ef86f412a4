// SPDX-License-Identifier: MIT
// Loans: the memory that subjects write outputs to. It belongs to the judge, which copies its
// content at one moment, so that later writes of a subject have no effect. Judge process only; the
// supervisor's view of a loan is LentOutput (worker/hand_over.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "problem/verdict.hpp"
#include "worker/cuda/buffer_set.hpp"

namespace wb::worker::cuda {

/// A copy of outputs in memory that no subject can access.
struct TakenOutput {
  DeviceAddress out = 0, lse = 0;  ///< lse 0 if the loan has none
  double device_us = 0;            ///< time of the copy, by the device's clock
};

/// Descriptors for the subject, one for each output with a place: out, lse, snap.
struct LoanParts {
  std::vector<UniqueFd> fds;
  std::vector<std::size_t> bytes;  ///< for SharedBuffer::import
};

/// Fills device memory with a poison through a kernel of GpuInputs, on the judge's stream.
using FillPoison =
    std::function<CudaResult<void>(const problem::Poison&, DeviceAddress, std::size_t)>;

class Loans {
 public:
  /// `stream` is the judge's and must outlive this. Errors: environment (memory of this device
  /// cannot be exported).
  static CudaResult<Loans> create(const Stream& stream, FillPoison fill_poison);

  /// Reserves memory under a number that the caller chooses, filled with the poison if one is
  /// given. Errors: limit.
  CudaResult<LoanParts> lend(std::int64_t number, const OutputPlaces& places,
                             const std::optional<problem::Poison>& out_poison,
                             const std::optional<problem::Poison>& lse_poison);
  /// Copies the outputs of a loan (out from its snap copy, if there is one), and waits for that
  /// copy only. The copy is valid until the next one. Errors: invalid (no such loan), limit.
  CudaResult<TakenOutput> take(std::int64_t number);
  /// Releases the memory; it is freed once the subject releases it too. An unknown number is no
  /// error.
  void end(std::int64_t number) { m_loans.erase(number); }
  [[nodiscard]] std::size_t size() const { return m_loans.size(); }

 private:
  struct Loan {
    OutputPlaces places;
    SharedBuffer out, lse, snap;
  };
  Loans(const Stream& stream, FillPoison fill_poison, Event begin, Event end)
      : m_stream(&stream),
        m_fill_poison(std::move(fill_poison)),
        m_begin(std::move(begin)),
        m_end(std::move(end)) {}
  [[nodiscard]] CudaResult<SharedBuffer> reserve(
      const OutputPlace& place, const std::optional<problem::Poison>& poison) const;
  [[nodiscard]] CudaResult<void> provide(DeviceBuffer& copy, std::size_t size_bytes) const;
  [[nodiscard]] CudaResult<void> queue_copy(const OutputPlace& place, const SharedBuffer& from,
                                            const DeviceBuffer& to) const;

  const Stream* m_stream;
  FillPoison m_fill_poison;
  Event m_begin, m_end;
  std::map<std::int64_t, Loan> m_loans;
  DeviceBuffer m_out_copy, m_lse_copy;  // kept between copies, since allocation is slow
};

}  // namespace wb::worker::cuda
