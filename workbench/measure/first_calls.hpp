// SPDX-License-Identifier: MIT
// Whether a gain holds on fresh inputs. Timed calls reuse the same inputs; the first calls of both
// sides on unseen inputs show what timed calls leave out. Pure functions: the worker makes the
// calls, the engine asks. Formulas and reasons: docs/contracts/fresh_inputs.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fwd.hpp"
#include "measure/figures.hpp"

namespace wb::measure {

/// Limits for the pairs over all processes of a comparison, and for one side's time.
inline constexpr std::int64_t k_least_first_calls = 6, k_most_first_calls = 200;
inline constexpr double k_first_calls_us = 300'000;

/// One side's call times by the supervisor's clock: on new inputs, then again on the same inputs,
/// which are rewritten in between as new ones are. Entry i of both sides is from one round: a
/// single call, or on a GPU the mean call of a chain including the fill of its inputs.
struct FirstCalls {
  std::vector<double> fresh_us, again_us;
  std::vector<double> fill_us = {};  ///< of chains: the input fill alone; else empty
};

/// First calls of a candidate and another subject, over all processes of the comparison.
struct FirstCallPairs {
  FirstCalls candidate, other;
  /// overhead_us: how much longer an empty call takes on the candidate's side (compiled beside
  /// Python). allowance_us: further overhead of a Python library that an empty call does not show;
  /// 0 when both sides are of one kind. With fill_us, the fills measure the overhead and
  /// overhead_us only bounds it.
  double overhead_us = 0, allowance_us = 0;
  bool are_chains = false;  ///< chains of calls on a GPU, for all callers
  /// Other processes used the CPUs or the GPU meanwhile, so no side is accused.
  bool disturbed = false;
  /// Python beside compiled code on a GPU, timed call by call: the overhead scatters by more than
  /// short calls last, so only a clear loss against the other side counts.
  bool other_is_rough = false;
  std::string missing = {};  ///< why calls are missing; empty when none is

  [[nodiscard]] std::size_t rounds() const { return candidate.fresh_us.size(); }
  /// True for chains with fills on both sides, as subjects of two kinds have.
  [[nodiscard]] bool has_fills() const;
  void append(const FirstCallPairs& more);
};

/// Time of one call in the timed turns.
struct CallTimes {
  double candidate_us = 0, other_us = 0;
};

enum class FreshState {
  stands,
  absent,      ///< wholly below the square root of the timed gain
  unclear,     ///< a large gain, and the interval contains 1
  left_out,    ///< timed calls leave out work that first calls must do
  unmeasured,  ///< too few calls
};
std::string_view to_string(FreshState value);

struct FreshOutcome {
  FreshState state = FreshState::unmeasured;
  /// Speedup on fresh inputs: the other's time over the candidate's, including what its timed calls
  /// leave out.
  double speedup = k_unknown;
  Interval interval{k_unknown, k_unknown, 0.99};
  std::int64_t rounds = 0;
  std::string reason;
};

/// Gains above this must be shown by first calls; below, it suffices that first calls do not
/// exclude them.
inline constexpr double k_shown_gain = 1.15;

/// `timed`: times of the plan that the first calls follow. `judged`: times of the plan whose gain
/// is in question, which may be another. A gain is judged only where candidate_us is smaller than
/// other_us.
FreshOutcome judge_first_calls(const FirstCallPairs& calls, const CallTimes& timed,
                               const CallTimes& judged, std::uint64_t seed);

/// The comparison after the check on fresh inputs. Unless the gain stands it becomes ambiguous over
/// both intervals, without its instances' figures, so that no aggregate wins by it.
Comparison with_first_calls(const Comparison& own, const FreshOutcome& fresh);

Json to_json(const FreshOutcome& fresh);

}  // namespace wb::measure
