// SPDX-License-Identifier: MIT
// Checks of memory that the judge lends: on a GPU (tests/gpu), and on the CPU with a driver that
// plays one (tests/unit/worker). One process is both sides.
#pragma once

#include <algorithm>
#include <vector>

#include "support/catch.hpp"
#include "worker/cuda/loans.hpp"

namespace wb::testing {

template <typename T>
T must(worker::cuda::CudaResult<T> result) {
  INFO((result.ok() ? "" : result.error().message()));
  REQUIRE(result.ok());
  return *std::move(result);
}

inline std::vector<std::byte> device_bytes(const worker::cuda::Stream& stream,
                                           worker::cuda::DeviceAddress from, std::size_t count) {
  std::vector<std::byte> bytes(count);
  REQUIRE(worker::cuda::copy_to_host(stream, bytes, from).ok());
  return bytes;
}

/// A judge, a subject, and a loan of out and lse between them.
struct Loaned {
  explicit Loaned(const worker::cuda::ContextPtr& context)
      : stream(must(worker::cuda::Stream::create(context))),
        loans(must(worker::cuda::Loans::create(
            stream, [this](const problem::Poison& wanted, worker::cuda::DeviceAddress to,
                           std::size_t size_bytes) {
              std::vector<std::byte> bytes(size_bytes);
              wanted.fill(bytes);
              return worker::cuda::copy_to_device(stream, to, bytes);
            }))) {
    using namespace worker::cuda;
    LoanParts parts =
        must(loans.lend(7, output_places(problem, true, false, 1), poison, problem::Poison{6}));
    REQUIRE(parts.fds.size() == 2);
    BorrowedOutputs outputs;
    outputs.out = must(SharedBuffer::import(context, parts.fds[0].get(), parts.bytes[0]));
    outputs.lse = must(SharedBuffer::import(context, parts.fds[1].get(), parts.bytes[1]));
    subject.emplace(
        must(DeviceBufferSet::create(stream, problem, {.with_lse = true}, 1, std::move(outputs))));
  }

  problem::Problem problem = problem::parse_problem("B=2 Hq=3 Sq=33 Skv=65 D=40 f32").value();
  problem::Poison poison{5};
  worker::cuda::Stream stream;
  worker::cuda::Loans loans;
  std::optional<worker::cuda::DeviceBufferSet> subject;
};

inline void check_that_late_writes_do_not_exist(const worker::cuda::ContextPtr& context) {
  using namespace worker::cuda;
  Loaned loaned(context);
  const DeviceBufferSet& subject = *loaned.subject;
  const std::size_t size_bytes = problem::out_bytes(loaned.problem);

  // The poison of the judge's stands where the subject's tensor lies, at a placement of its own.
  std::vector<std::byte> poison(size_bytes);
  loaned.poison.fill(poison);
  CHECK(device_bytes(loaned.stream, subject.out.address(), size_bytes) == poison);
  CHECK(subject.out.address() % 256 == 0);

  const std::vector<std::byte> answer(size_bytes, std::byte{1}), late(size_bytes, std::byte{2});
  REQUIRE(copy_to_device(loaned.stream, subject.out.address(), answer).ok());
  REQUIRE(loaned.stream.synchronize().ok());
  const TakenOutput taken = must(loaned.loans.take(7));
  REQUIRE(copy_to_device(loaned.stream, subject.out.address(), late).ok());
  CHECK(device_bytes(loaned.stream, taken.out, size_bytes) == answer);
  CHECK(taken.lse != 0);
  CHECK(taken.device_us >= 0);
  CHECK(device_bytes(loaned.stream, must(loaned.loans.take(7)).out, size_bytes) == late);
}

inline void check_that_margins_stay(const worker::cuda::ContextPtr& context) {
  using namespace worker::cuda;
  Loaned loaned(context);
  const DeviceBufferSet& subject = *loaned.subject;
  CHECK(must(subject.overrun(loaned.stream)) == nullptr);
  for (const auto* buffer : {&subject.lse, &subject.out}) {
    const DeviceAddress at = buffer->address() + buffer->size_bytes();
    auto beside = device_bytes(loaned.stream, at, 1);
    beside[0] ^= std::byte{1};
    REQUIRE(copy_to_device(loaned.stream, at, beside).ok());
    CHECK(must(subject.overrun(loaned.stream)) != nullptr);
  }
}

inline void check_that_each_side_has_its_hold(const worker::cuda::ContextPtr& context) {
  using namespace worker::cuda;
  Loaned loaned(context);
  CHECK(loaned.loans.size() == 1);
  loaned.loans.end(7);
  loaned.loans.end(7);  // no error
  CHECK(loaned.loans.size() == 0);
  const auto none = loaned.loans.take(7);
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == ErrorCode::invalid);
  // The subject may still write: its context must not be lost when a stage is given up.
  const std::vector<std::byte> bytes(64, std::byte{3});
  CHECK(copy_to_device(loaned.stream, loaned.subject->out.address(), bytes).ok());
  CHECK(device_bytes(loaned.stream, loaned.subject->out.address(), 64) == bytes);

  // Memory of another one is too small for a larger tensor: refused, not written beyond.
  LoanParts parts =
      must(loaned.loans.lend(8, output_places(loaned.problem, false, false, 0), std::nullopt, {}));
  REQUIRE(parts.fds.size() == 1);
  BorrowedOutputs outputs;
  outputs.out = must(SharedBuffer::import(context, parts.fds[0].get(), parts.bytes[0]));
  const problem::Problem larger = problem::parse_problem("B=8 Hq=32 Sq=512 D=64 f32").value();
  const auto refused = DeviceBufferSet::create(loaned.stream, larger, {}, 0, std::move(outputs));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::invalid);
}

}  // namespace wb::testing
