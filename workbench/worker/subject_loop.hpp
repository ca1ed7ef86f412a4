// SPDX-License-Identifier: MIT
// SubjectLoop: what every compiled subject does with its supervisor's messages
// (docs/worker_protocol.md, "Between supervisor and subject"). A SubjectBody does what they ask:
// one on the CPU (subject.cpp), one on a GPU (cuda/cuda_subject.cpp). Subject process only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/invalidity.hpp"
#include "measure/plan.hpp"
#include "problem/inputs.hpp"
#include "problem/verdict.hpp"
#include "worker/channel.hpp"
#include "worker/memory.hpp"

namespace wb::worker {

struct LoadOrder {
  std::string path, build_id;  ///< of a shared library
  std::string builtin;         ///< or the name of a built-in variant
  int threads = 1;
};

/// One output to be judged. The memory files hold the poison that the output must replace.
struct RunOrder {
  Problem problem;
  Draw draw = Draw::normal;
  std::uint32_t seed = 0;
  Mapping out;
  std::optional<Mapping> lse;
};

struct TurnOrder {
  Problem problem;
  std::int64_t placement = 0;
  std::uint32_t seed = 0;
  double settle_us = 0;
  PlanKind kind = PlanKind::hot;
  Mapping shown;  ///< where show() puts the output
};
struct TurnAnswer {
  double call_us = 0;  ///< about, from settling
  bool settled = false;
  double refill_us = 0;  ///< what fresh inputs take
  bool flushes = true;   ///< false: caches are swept, not flushed
};

/// Before a timed block, in this order.
struct PrimeOrder {
  std::int64_t calls = 1;             ///< of a sample of the block to come, to get ready for
  std::optional<std::uint32_t> seed;  ///< fresh inputs
  bool warm = false;                  ///< one untimed call
  Poison poison;                      ///< of the output
  bool flush = false;                 ///< cold caches
};

/// A timed block: samples back to back, of `calls` calls each.
struct GoOrder {
  std::int64_t samples = 1, calls = 1;
};

/// Failures of all of them: constraints (the variant refuses the problem), runtime.
class SubjectBody {
 public:
  virtual ~SubjectBody() = default;

  virtual Outcome<void> load(const LoadOrder& order) = 0;
  /// Microseconds of the call, by the clock of this process.
  virtual Outcome<double> run(const RunOrder& order) = 0;
  /// Sets the stage for a problem and placement, in buffers that may stand already, fills it with
  /// the order's inputs, and settles on them.
  virtual Outcome<TurnAnswer> turn(TurnOrder order) = 0;
  virtual Outcome<void> prime(const PrimeOrder& order) = 0;
  /// Calls `started` right before the block: the supervisor's clock then runs too. Gives the
  /// block's nanoseconds.
  virtual Outcome<std::int64_t> go(const GoOrder& order, const std::function<void()>& started) = 0;
  /// Copies the output of the last call out at once: what a variant does after its return comes too
  /// late. Gives the samples of the last block, in nanoseconds.
  virtual Outcome<std::vector<std::int64_t>> show() = 0;
};

Failure runtime_failure(std::string message);
Failure wrote_outside(const char* tensor);

/// Serves until the socket closes. Returns the exit code.
int serve_subject(const Channel& channel, SubjectBody& body);

}  // namespace wb::worker
