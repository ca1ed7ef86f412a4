// SPDX-License-Identifier: MIT
// Loans: the memory that subjects write their outputs to. It belongs to the judge, who takes a copy
// of what stands there at one moment: what a subject writes later does not exist. Judge process
// only; what the supervisor keeps of a loan is a LentOutput (worker/lent_output.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "problem/verdict.hpp"
#include "worker/cuda/buffer_set.hpp"

namespace wb::worker::cuda {

/// A copy of outputs in memory that no subject has.
struct TakenOutput {
  DeviceAddress out = 0, lse = 0;  ///< lse 0 where the loan has none
  double device_us = 0;            ///< of the copy, by the device's clock
};

/// What goes to the subject, one for each output that has a place: out, lse, snap.
struct LoanParts {
  std::vector<UniqueFd> fds;
  std::vector<std::size_t> bytes;  ///< for SharedBuffer::import
};

/// Fills device memory with a poison: a kernel of GpuInputs. Queued on the judge's stream.
using FillPoison =
    std::function<CudaResult<void>(const problem::Poison&, DeviceAddress, std::size_t)>;

class Loans {
 public:
  /// `stream`, which must outlive it, is the judge's.
  /// Errors: environment (memory of this device cannot be handed on).
  static CudaResult<Loans> create(const Stream& stream, FillPoison fill_poison);

  /// Reserves memory under a number of the caller's. The places hold the poison, if one is given.
  /// Errors: limit.
  CudaResult<LoanParts> lend(std::int64_t number, const OutputPlaces& places,
                             const std::optional<problem::Poison>& out_poison,
                             const std::optional<problem::Poison>& lse_poison);
  /// Copies the outputs of a loan (out as it was copied to snap, if there is one), and waits for
  /// that alone. The copy stands until the next one. Errors: invalid (no such loan), limit.
  CudaResult<TakenOutput> take(std::int64_t number);
  /// Gives the memory back, as far as the subject has, too. An unknown number is no error.
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
  DeviceBuffer m_out_copy, m_lse_copy;  // kept from copy to copy: making them takes long
};

}  // namespace wb::worker::cuda
