// SPDX-License-Identifier: MIT
// Does a gain stand on fresh inputs? Timed calls see the same inputs again and again; here both
// sides' first calls on inputs that they never saw say what timed calls leave out. Pure; the worker
// takes the calls, the engine asks. Formulas and reasons: docs/contracts/measurement.md, "Fresh
// inputs".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "measure/statistics.hpp"

namespace wb::measure {

/// Pairs in all, over the processes of a comparison, and the time that a side may spend on them.
inline constexpr std::int64_t k_least_first_calls = 6, k_most_first_calls = 200;
inline constexpr double k_first_calls_us = 300'000;

/// One side's calls by the supervisor's clock: on new inputs, and then on the same inputs, which
/// were made again in between just as new ones are. Entry i of each side is of one round: a single
/// call, or on a GPU the mean one of a chain, with what makes its inputs.
struct FirstCalls {
  std::vector<double> fresh_us, again_us;
  std::vector<double> fill_us = {};  ///< of chains: what makes the inputs alone; else empty
};

/// Of a candidate beside another, over all processes of the comparison.
struct FirstCallPairs {
  FirstCalls candidate, other;
  /// What an empty call takes more on the candidate's side than on the other's: compiled beside
  /// Python. What a Python library may need besides, which no empty call tells; 0: of one kind.
  /// Where chains have fill_us, these tell it, and overhead_us only how much they may.
  double overhead_us = 0, allowance_us = 0;
  bool are_chains = false;  ///< of all callers, on a GPU
  bool disturbed = false;   ///< others had the CPUs or the GPU meanwhile: nobody is accused
  /// Python beside compiled code on a GPU, call by call: what their calls take beside the work
  /// scatters by more than short calls last, so by the other side only a clear no counts.
  bool other_is_rough = false;
  std::string missing = {};  ///< why some are, in words; empty: none is

  [[nodiscard]] std::size_t rounds() const { return candidate.fresh_us.size(); }
  /// Chains without calls on both sides, which callers of two kinds take.
  [[nodiscard]] bool has_fills() const;
  void append(const FirstCallPairs& more);
};

/// Time of one call, as timed calls have it.
struct CallTimes {
  double candidate_us = 0, other_us = 0;
};

enum class FreshState {
  stands,
  absent,      ///< wholly below the square root of the gain of timed calls
  unclear,     ///< a large gain, and the interval holds 1
  left_out,    ///< timed calls leave out work that first calls have to do
  unmeasured,  ///< too few calls
};
std::string_view to_string(FreshState value);

struct FreshOutcome {
  FreshState state = FreshState::unmeasured;
  /// On fresh inputs: the other's time over the candidate's, where what its timed calls leave out
  /// was added.
  double speedup = k_unknown;
  Interval interval{k_unknown, k_unknown, 0.99};
  std::int64_t rounds = 0;
  std::string reason;
};

/// Above this gain it is not enough that first calls do not exclude it: they have to show one.
inline constexpr double k_shown_gain = 1.15;

/// `timed`: of the plan that the first calls follow. `judged`: of the plan whose gain is in
/// question, the same or another. A gain is judged only where candidate_us is the smaller.
FreshOutcome judge_first_calls(const FirstCallPairs& calls, const CallTimes& timed,
                               const CallTimes& judged, std::uint64_t seed);

/// The comparison with what fresh inputs say of it. Unless they let it stand: ambiguous over both
/// intervals, without its instances' figures, so that no aggregate wins by it.
Comparison with_first_calls(const Comparison& own, const FreshOutcome& fresh);

Json to_json(const FreshOutcome& fresh);

}  // namespace wb::measure
