// SPDX-License-Identifier: MIT
// SubjectLoop: what every compiled subject does with its supervisor's messages
// (docs/contracts/worker_protocol.md, "Between supervisor and subject"). A SubjectBody does what
// they ask: one on the CPU (subject.cpp), one on a GPU (cuda/cuda_subject.cpp). Subject process
// only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/invalidity.hpp"
#include "measure/plan.hpp"
#include "problem/call_form.hpp"
#include "problem/inputs.hpp"
#include "problem/verdict.hpp"
#include "worker/buffers.hpp"
#include "worker/channel.hpp"
#include "worker/memory.hpp"

namespace wb::worker {

struct LoadOrder {
  std::string path, build_id;  ///< of a shared library
  std::string builtin;         ///< or the name of a built-in variant
  int threads = 1;
  std::function<void(bool)> leaving = {};  ///< VariantApi::leaving
};

/// On a GPU: memory of the judge's for the outputs. Without `out` the subject has memory of its own
/// and shows what stands there.
struct LentMemory {
  struct Part {
    UniqueFd fd;
    std::size_t bytes = 0;  ///< that it stands for; 0: there is none
  };
  std::int64_t number = 0;
  Part out, lse;
  Part snap;  ///< where out is copied to in the order of the stream, behind the last timed call
  [[nodiscard]] bool is_there() const { return out.bytes > 0; }
};

/// One output to be judged, on a GPU, or called in a form that no turn has (on a CPU other judged
/// calls are those of turns). The memory files hold the poison that the output must replace.
struct RunOrder {
  problem::Problem problem;
  problem::Draw draw = problem::Draw::normal;
  std::uint32_t seed = 0;
  problem::CallForm form;
  Mapping out;
  std::optional<Mapping> lse;
  bool want_lse = false;
  LentMemory lent = {};  ///< instead of out and lse, with the poison in it
};

/// Of a timed turn or, on a CPU, of a judged run: nothing here says which.
struct TurnOrder {
  problem::Problem problem;
  std::int64_t placement = 0;
  std::uint32_t seed = 0;
  problem::Draw draw = problem::Draw::normal;
  double settle_us = 0;  ///< 0: no call before the first block
  measure::PlanKind kind = measure::PlanKind::hot;
  bool want_lse = false;
  Placing placing = Placing::scattered;  ///< of what the subject's side reserves
  /// On a CPU: memory of the supervisor that the variant itself writes to. Empty: that of the turn
  /// before, whose problem, placement and want_lse were the same.
  GuardedMemory out, lse;
  LentMemory lent = {};  ///< on a GPU: memory of the judge that the variant itself writes to
  Mapping shown;         ///< on a GPU without lent memory: where show() puts the output
};
struct TurnAnswer {
  double call_us = 0;  ///< about, from settling
  bool settled = true;
  double refill_us = 0;  ///< what fresh inputs take
  bool flushes = true;   ///< false: caches are swept, not flushed
};

/// Before a timed block, in this order.
struct PrimeOrder {
  std::int64_t calls = 1;             ///< of a sample of the block to come, to get ready for
  std::optional<std::uint32_t> seed;  ///< fresh inputs
  problem::Draw draw = problem::Draw::normal;  ///< of those
  bool warm = false;                           ///< one untimed call
  problem::Poison poison, lse_poison;          ///< of the outputs
  bool flush = false;                          ///< cold caches
};

/// On a GPU: single calls one behind the other, before each of which the device makes inputs of the
/// next seed and poisons the output.
struct ChainOrder {
  std::vector<std::uint32_t> seeds;
  problem::Poison poison;
  bool with_calls = true;  ///< false: all but the calls, for what that takes
};

/// A timed block: samples back to back, of `calls` calls each; or a chain, which is one sample.
struct GoOrder {
  std::int64_t samples = 1, calls = 1;
  std::optional<ChainOrder> chain = std::nullopt;
};

/// Of the inputs of calls before the one that is judged.
inline constexpr std::uint32_t k_earlier_seed_change = 0x9e3779b9;

/// Calls `call` as often as the form has calls before the judged one, while there is time for it.
/// Stops at the first that does not return true; returns whether all did.
bool make_earlier_calls(const problem::CallForm& form, const std::function<bool()>& call);

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
  /// On a GPU it calls `started` right before the block: the supervisor's clock then runs too. On a
  /// CPU that clock runs from the message to the answer. Gives the block's nanoseconds.
  virtual Outcome<std::int64_t> go(const GoOrder& order, const std::function<void()>& started) = 0;
  /// The samples of the last block, in nanoseconds. On a GPU it first copies the output of the last
  /// call out; on a CPU the supervisor has read that already where it wanted to.
  virtual Outcome<std::vector<std::int64_t>> show() = 0;
  /// On a GPU whose judge lends no memory: copies the output out as go() does at its end, so that
  /// the supervisor learns what that takes.
  virtual Outcome<void> copy_out() { return {}; }
};

Failure runtime_failure(std::string message);
Failure wrote_outside(const char* tensor);

/// Serves until the socket closes. Returns the exit code.
int serve_subject(const Channel& channel, SubjectBody& body);

}  // namespace wb::worker
