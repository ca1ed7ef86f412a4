// SPDX-License-Identifier: MIT
// How a turn is cut into blocks and samples, and the second witness that checks what a subject
// reports against the supervisor's clock. Pure functions; docs/contracts/measurement.md has the
// rules.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "measure/plan.hpp"

namespace wb::worker {

/// The clock that a subject reads around its calls.
enum class Clock {
  host,   ///< the CPU's: every call returns when its output is written
  device  ///< a GPU's: calls are queued
};

/// A hot sample lasts at least this long, or is one call; on a GPU an eager one too, because calls
/// are queued while others run.
inline constexpr double k_sample_us = 200;
/// The same on a GPU, where each sample also holds what lies between its events and its first and
/// last kernel: 4.5 us on an H200, which draws ratios towards 1.
inline constexpr double k_gpu_sample_us = 1'000;
/// The most calls of one sample on a GPU, since they form one graph.
inline constexpr std::int64_t k_most_graph_calls = 1'000;
/// A block is planned to last this long; blocks that turn out shorter on average are not witnessed.
inline constexpr double k_witness_block_us = 2'000;
/// The same of a Python subject on a CPU. Behind calls that filled the caches its answer takes 30
/// to 70 us (8 behind a ping), its supervisor's CPU as long to wake up, and the first call of a
/// block a fifth more, as the library's threads sleep: a tenth of 2 ms, a hundredth of this.
inline constexpr double k_python_block_us = 20'000;
/// The same on a GPU, where a block's start and end cost up to 0.2 ms of waiting and messages.
inline constexpr double k_gpu_block_us = 5'000;
/// A subject's reported time must be at least this share of the supervisor's.
inline constexpr double k_witness_frac = 0.9;
/// The most samples of one message.
inline constexpr std::int64_t k_max_samples_per_block = 4'000;

/// A chain of first calls lasts about so long on a GPU, so that messages, which come once and
/// scatter by 0.1 ms, are little beside it.
inline constexpr double k_chain_us = 5'000;
/// All launches of a chain are queued before the device starts, two of a call, and the driver takes
/// 500 (cuda/stopwatch.hpp); its inputs stand ready in so much memory.
inline constexpr std::int64_t k_most_chained_calls = 200;
inline constexpr double k_most_chain_bytes = 2e9;

/// Calls of a chain; 0 of a machine whose calls return when they are done. call_us is what settling
/// reported; a non-positive or NaN value counts as tiny. input_bytes: of one call; room_bytes: what
/// the inputs of all may take of the device's memory.
std::int64_t chained_calls(const measure::Plan& plan, double call_us, double input_bytes,
                           double room_bytes, Clock clock);

/// A turn is `blocks` blocks. Before each: perhaps fresh inputs and an untimed call; always a
/// poisoned output (and, cold, flushed caches). Then samples_per_block samples, back to back.
struct BlockPlan {
  std::int64_t calls_per_sample = 1;
  std::int64_t samples_per_block = 1;
  std::int64_t blocks = 1;
  std::int64_t refill_every = 1;  ///< blocks between fresh inputs; the first block always has them
};

/// call_us and refill_us are what settling reported; non-positive or NaN values count as tiny.
/// Inputs are made anew before every block when that costs no more than the timed part itself, else
/// before the first only. Cold: one call per block; fresh inputs at every tenth; on a GPU, where a
/// block costs many times its one call, 64 blocks at most. is_python: of a CPU's subjects.
BlockPlan plan_blocks(const measure::Plan& plan, double call_us, double refill_us, Clock clock,
                      bool is_python = false);

/// True for a cold figure of a Python subject on a CPU in which the end of the block, seen up to
/// 70 us late behind such a call, may be more than a tenth. A cold block is one call, so no other
/// call shares its end.
bool may_end_late(measure::PlanKind kind, Clock clock, bool is_python, double figure_us);

struct BlockTime {
  double samples_us = 0;  ///< sum of the samples
  /// The subject's clock, from just before it says "started" to the end; on a GPU, of the device's
  /// clock, the sum of the samples.
  double reported_us = 0;
  double wall_us = 0;    ///< the supervisor's, from "started" to "done"; late where it woke up late
  double around_us = 0;  ///< the supervisor's, from before "go" to "done": never below reported_us
  /// By the kernel's account: how long the subject's main thread, and the supervisor, were ready
  /// but had no CPU.
  double delay_us = 0, own_delay_us = 0;
  /// Likewise the supervisor before it heard "started": its clock then began that much too late.
  double late_us = 0;
  /// On a GPU, of wall_us: how much longer the judge's copy behind "done" took than on an idle
  /// device: work that was put off, or the machine (1.5 ms behind empty blocks on an H100, cause
  /// unknown). A turn that agrees only without it does not count, and nobody is accused.
  double put_off_us = 0;
};

enum class Witness {
  agrees,
  excused,    ///< agrees only less what the kernel says was waited: such a turn does not count
  too_short,  ///< blocks so short that the messages themselves blur the supervisor's clock
  mismatch
};

/// Compares by the median block. Both clocks run while the subject waits for a CPU within a block,
/// and neither while it wakes up for one, so other work on the CPUs accuses nobody; but a lie that
/// waiting could hide is not believed either. round_trip_us: of an empty message, the allowance for
/// what a message itself takes.
Witness judge_block_times(std::span<const BlockTime> blocks, double round_trip_us);

/// More than three tenths of the blocks' time was waiting for a CPU, or lies between the start
/// message and the samples: other work disturbs the turn, or the subject hides time there.
bool too_much_waiting(std::span<const BlockTime> blocks);

/// No clock here resolves more, and logs keep every sample. Any number, also one that a subject
/// made up.
double six_digits(double value);

/// At most `max_samples` of them, evenly spread, in order.
std::vector<double> thinned(const std::vector<double>& samples, std::int64_t max_samples);

}  // namespace wb::worker
