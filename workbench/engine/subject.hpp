// SPDX-License-Identifier: MIT
// A subject, anything that can be loaded (a candidate, the incumbent, a rival), the problems it
// supports and the runs it is judged on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "problem/suite.hpp"
#include "variant/builder.hpp"
#include "variant/edge_draws.hpp"

namespace wb::engine {

struct Context;

struct Subject {
  std::string label;  ///< name@8 hex digits of the artifact id
  variant::Variant variant;
  variant::Configuration configuration;
  variant::Artifact artifact;
  /// For rivals: problems (as text) that it is not timed on, with the reason: it answered
  /// `constraints`, or it was never judged on them.
  std::map<std::string, std::string> refused = {};
};

/// Why this subject does not support the problem (manifest or restriction), or nothing.
std::optional<std::string> not_supported(const Subject& subject, const problem::Problem& problem);
/// Excludes held-out problems for a rival, which is judged only on problems measured from the
/// start; held-out problems serve to judge candidates.
void refuse_held_out(Subject& rival, const problem::Suite& suite);

/// How much a verdict covered. A search times after a screening; confirmation, a reported gain and
/// a change of incumbent need the whole verdict. docs/contracts/measurement.md has what each
/// judges.
enum class VerdictExtent {
  none,       ///< not judged, or failed
  screening,  ///< one draw of each problem, on some blocks: may be timed in a search only
  whole       ///< every draw of each problem
};
std::string_view to_string(VerdictExtent value);
/// A log from before screening existed has no word; its evaluations had the whole verdict.
VerdictExtent parse_verdict_extent(std::string_view word);

/// Row blocks of an output that a screening judges: first and last of a head and random ones. Each
/// timed turn has its last output judged on more blocks, under its own seed.
inline constexpr std::int64_t k_screening_blocks = 8;

/// Small odd-shaped problems beside the suite's: S = 1, odd sizes, Sq != Skv, GQA, causal kinds,
/// layouts and masks, as far as the manifest claims them. For tools that inspect one call of each;
/// a verdict uses drawn runs instead.
std::vector<problem::Problem> edge_problems(const variant::Manifest& manifest,
                                            const problem::Suite& suite);

/// The drawn runs of a verdict on the subject (docs/contracts/measurement.md), from the kernel's
/// random numbers. `count`: how many; by default the number of `extent`.
std::vector<variant::EdgeDraw> drawn_runs(const Context& context, const Subject& subject,
                                          const problem::Suite& suite,
                                          VerdictExtent extent = VerdictExtent::whole,
                                          std::optional<std::int64_t> count = {});

}  // namespace wb::engine
