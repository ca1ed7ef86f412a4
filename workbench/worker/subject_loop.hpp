// SPDX-License-Identifier: MIT
// SubjectLoop: how a compiled subject handles its supervisor's messages
// (docs/contracts/worker_protocol.md, "Between supervisor and subject"). A SubjectBody carries them
// out: on the CPU (subject.cpp) or on a GPU (cuda/cuda_subject.cpp). Subject process only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "measure/launches.hpp"
#include "measure/plan.hpp"
#include "problem/call_form.hpp"
#include "problem/inputs.hpp"
#include "problem/verdict.hpp"
#include "worker/buffers.hpp"
#include "worker/channel.hpp"
#include "worker/failure.hpp"
#include "worker/memory.hpp"

namespace wb::worker {

struct LoadOrder {
  std::string path, build_id;  ///< of a shared library
  std::string builtin;         ///< or the name of a built-in variant
  int threads = 1;
  std::function<void(bool)> leaving = {};  ///< VariantApi::leaving
};

/// On a GPU: the judge's memory for the outputs. Without `out` the subject uses its own memory and
/// copies its outputs out.
struct LentMemory {
  struct Part {
    UniqueFd fd;
    std::size_t bytes = 0;  ///< size of its memory; 0: none
  };
  std::int64_t number = 0;
  Part out, lse;
  Part snap;  ///< copy of out, queued after the last timed call
  [[nodiscard]] bool is_there() const { return out.bytes > 0; }
};

/// One output to be judged: on a GPU, or on a CPU in a form that no turn has (other judged calls on
/// a CPU are those of turns). The memory files hold the poison that the output must replace.
struct RunOrder {
  problem::Problem problem;
  problem::Draw draw = problem::Draw::normal;
  std::uint32_t seed = 0;
  problem::CallForm form;
  Mapping out;
  std::optional<Mapping> lse;
  bool want_lse = false;
  LentMemory lent = {};  ///< instead of out and lse, filled with the poison
};

/// A timed turn or, on a CPU, a judged run; the order does not reveal which.
struct TurnOrder {
  problem::Problem problem;
  std::int64_t placement = 0;
  std::uint32_t seed = 0;
  problem::Draw draw = problem::Draw::normal;
  double settle_us = 0;  ///< 0: no call before the first block
  measure::PlanKind kind = measure::PlanKind::hot;
  bool want_lse = false;
  Placing placing = Placing::scattered;  ///< of the memory that the subject reserves
  /// On a CPU: the supervisor's memory that the variant writes to. Empty: that of the previous
  /// turn, which had the same problem, placement and want_lse.
  GuardedMemory out, lse;
  LentMemory lent = {};  ///< on a GPU: the judge's memory that the variant writes to
  Mapping shown;         ///< on a GPU without lent memory: where show() copies the output to
};
struct TurnAnswer {
  double call_us = 0;  ///< an estimate, from settling
  bool settled = true;
  double refill_us = 0;  ///< time of making fresh inputs
  bool flushes = true;   ///< false: caches are swept by reading, not flushed
  std::vector<measure::KernelLaunch> launches = {};  ///< of one call, where they are known
};

/// Preparation of a timed block, in the order of the members.
struct PrimeOrder {
  std::int64_t calls = 1;                      ///< calls per sample of the next block
  std::optional<std::uint32_t> seed;           ///< of the fresh inputs
  problem::Draw draw = problem::Draw::normal;  ///< of those
  bool warm = false;                           ///< one untimed call
  problem::Poison poison, lse_poison;          ///< of the outputs
  bool flush = false;                          ///< cold caches
};

/// On a GPU: single calls in a row; before each, the device makes inputs of the next seed and
/// poisons the output.
struct ChainOrder {
  std::vector<std::uint32_t> seeds;
  problem::Poison poison;
  bool with_calls = true;  ///< false: everything but the calls, to time the rest
};

/// A timed block: samples of `calls` calls each, back to back; or a chain, which is one sample.
struct GoOrder {
  std::int64_t samples = 1, calls = 1;
  std::optional<ChainOrder> chain = std::nullopt;
};

/// Changes the seed for inputs of the calls before the judged one.
inline constexpr std::uint32_t k_earlier_seed_change = 0x9e3779b9;

/// Repeats `call` as often as the form has calls before the judged one, within a time limit. Stops
/// when one returns false; returns whether all succeeded.
bool make_earlier_calls(const problem::CallForm& form, const std::function<bool()>& call);

/// Failures of all functions: constraints (the variant refuses the problem), runtime.
class SubjectBody {
 public:
  virtual ~SubjectBody() = default;

  virtual Outcome<void> load(const LoadOrder& order) = 0;
  /// Microseconds of the call, by the clock of this process.
  virtual Outcome<double> run(const RunOrder& order) = 0;
  /// Prepares buffers for a problem and placement (existing ones may be reused), fills them with
  /// the order's inputs, and settles.
  virtual Outcome<TurnAnswer> turn(TurnOrder order) = 0;
  virtual Outcome<void> prime(const PrimeOrder& order) = 0;
  /// On a GPU it calls `started` right before the block, which starts the supervisor's clock. On a
  /// CPU that clock runs from the message to the answer. Returns the block's nanoseconds.
  virtual Outcome<std::int64_t> go(const GoOrder& order, const std::function<void()>& started) = 0;
  /// The samples of the last block, in nanoseconds. On a GPU it first copies out the output of the
  /// last call; on a CPU the supervisor has already read it if needed.
  virtual Outcome<std::vector<std::int64_t>> show() = 0;
  /// On a GPU whose judge lends no memory: copies the output out as go() does at its end, so that
  /// the supervisor can time the copy.
  virtual Outcome<void> copy_out() { return {}; }
};

Failure wrote_outside(const char* tensor);

/// Serves until the socket closes. Returns the exit code.
int serve_subject(const Channel& channel, SubjectBody& body);

}  // namespace wb::worker
