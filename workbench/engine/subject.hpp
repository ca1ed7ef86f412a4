// SPDX-License-Identifier: MIT
// A subject, anything that can be loaded: a candidate, the incumbent, a rival. Which problems it
// takes and what it is judged on.
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
  /// Of a rival: problems (their texts) that it is not timed on, and why: it answered them with
  /// `constraints`, or never was judged on them.
  std::map<std::string, std::string> refused = {};
};

/// Why this subject does not take the problem (manifest or restriction), or nothing.
std::optional<std::string> not_supported(const Subject& subject, const problem::Problem& problem);
/// Rivals are judged on what is measured from the start on; what is held out tells candidates
/// apart.
void refuse_held_out(Subject& rival, const problem::Suite& suite);

/// How much a verdict covered. A search screens what it times; nothing is confirmed, reported as a
/// gain or made the incumbent without the whole verdict. docs/contracts/measurement.md has what
/// each judges.
enum class Proof {
  none,       ///< not judged, or it failed
  screening,  ///< one draw of each problem, on some blocks: may be timed in a search, no more
  whole       ///< every draw of each problem
};
std::string_view to_string(Proof value);
/// Logs from before there was screening have no word: every evaluation had the whole verdict.
Proof parse_proof(std::string_view word);

/// Whole row blocks of an output that a screening judges, first and last of a head and drawn ones.
/// Each timed turn has its last output judged on more, under a seed of its own.
inline constexpr std::int64_t k_screening_blocks = 8;

/// Small odd-shaped problems next to the suite's: S = 1, odd sizes, Sq != Skv, GQA, causal kinds,
/// layouts and masks, as far as the manifest claims them. For tools that look at one call of each;
/// a verdict has drawn runs.
std::vector<problem::Problem> edge_problems(const variant::Manifest& manifest,
                                            const problem::Suite& suite);

/// The drawn runs of a verdict on the subject (docs/contracts/measurement.md), by the kernel's
/// random numbers. `count`: how many; by default as many as `extent` has.
std::vector<variant::EdgeDraw> drawn_runs(const Context& context, const Subject& subject,
                                          const problem::Suite& suite, Proof extent = Proof::whole,
                                          std::optional<std::int64_t> count = {});

}  // namespace wb::engine
