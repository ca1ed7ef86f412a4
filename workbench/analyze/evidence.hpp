// SPDX-License-Identifier: MIT
// Evidence from the records of tools and of the compiler, for those who gather it (from a live
// session, a log, files), and the questions that several analyses ask of it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fwd.hpp"
#include "measure/finding.hpp"
#include "variant/ptxas_record.hpp"

namespace wb::analyze {

/// Adds a profile_taken payload (docs/contracts/events.md): kernels from a profiler (ncu,
/// torch.profiler), else a blind spot with its reason; other tools' answers add nothing. Malformed
/// records are skipped.
void add_profile(measure::Evidence& evidence, const Json& payload, std::int64_t event);

/// Adds launches in the form of read_ncu_report(), of one call of a subject on a problem.
void add_launches(measure::Evidence& evidence, const Json& launches, const std::string& subject,
                  const problem::Problem& problem, const std::string& source,
                  const std::vector<std::int64_t>& events);

/// Source of facts from launches_recorded events.
inline constexpr std::string_view k_recorded_source = "graph";

/// Adds the launches of a launches_recorded payload, unless a tool saw that subject on that
/// problem, which tells more, or they were added before. Malformed ones are skipped.
void add_recorded_launches(measure::Evidence& evidence, const Json& payload, std::int64_t event);

/// Adds ptxas' facts about a build's kernels.
void add_ptxas(measure::Evidence& evidence, const variant::PtxasRecord& record,
               const std::string& subject, const std::vector<std::int64_t>& events);

// Asked by the analyses
// ----------------------------------------------------------------------------------

[[nodiscard]] bool has_time(const measure::Observation& observation);

/// The compute peak that holds for a subject on a problem: of the units that it uses.
struct ComputeRoof {
  std::optional<device::DeviceFact> flops_per_s;  ///< nothing: not known
  std::string units;                              ///< "f32", "tf32"
  double products = 1;                            ///< of those units for one of the problem's
  std::string words;                              ///< "f32 compute peak"
};
/// By the evidence's split products; else of the problem's dtype, or of faster units if the time
/// beats that peak (roofline_share.cpp).
[[nodiscard]] ComputeRoof compute_roof(const measure::Evidence& evidence,
                                       const measure::Observation& observation);

/// From this share of a call's time on, an empty call is its main part: the call takes about two
/// thirds, so the kernel inside takes half as long as what surrounds it.
inline constexpr double k_call_dominates_frac = 0.65;

/// The shortest time that a problem can take on the device, and what sets it.
struct TimeBound {
  double us = 0;
  std::string kind;  ///< "compute", "memory" or "launch"
  std::string
      words;  ///< "the f16 compute peak", "the memory bandwidth", "an empty call of 0.52 us"
};
/// The longest of: its FLOPs at compute_roof(), its bytes at the memory's rate where the plan's
/// times depend on memory (no device here has a known rate of its L2), and an empty call where one
/// was timed. Nothing where neither rate is known (roofline_share.cpp).
[[nodiscard]] std::optional<TimeBound> time_bound(const measure::Evidence& evidence,
                                                  const measure::Observation& observation);

/// Bytes of the last-level cache, if known.
[[nodiscard]] std::optional<double> last_level_cache_bytes(const device::Device& device);

[[nodiscard]] std::optional<double> known(const std::optional<device::DeviceFact>& fact);

/// Whether a plan's times can depend on main memory: cold always; hot and eager only if the
/// problem's tensors exceed the last-level cache. Nothing when unknown.
[[nodiscard]] std::optional<bool> shows_memory(measure::PlanKind plan, const device::Device& device,
                                               const problem::Work& demanded);

/// Whether a grid of so many blocks is persistent: it fills the device, and its blocks stay and
/// take one tile after another. `tiles`: by the kernel's launch rule.
[[nodiscard]] bool is_persistent(std::int64_t blocks, const measure::BlockBounds& tiles,
                                 std::int64_t units);

/// How many blocks a call has, and how that is known.
struct CallBlocks {
  enum class Source { launch, rule, rows };
  std::int64_t least = 0, most = 0;
  /// rows: nothing tells; counted as blocks of 64 query rows, as tiled kernels have them.
  Source source = Source::rows;
  /// "a launch of 64 blocks", "32 to 64 blocks by its launch rule", "8 heads x 512 rows".
  std::string words;
};
/// By the largest recorded launch, else by the kernel's launch rule. Where the rule has more than
/// were launched, the grid is persistent, and the tiles that its blocks take in turn count.
[[nodiscard]] CallBlocks blocks_of(const measure::Evidence& evidence,
                                   const measure::Observation& observation);

/// The largest number of blocks of the launches that tools saw of that subject on that problem.
[[nodiscard]] std::optional<std::int64_t> most_blocks(const measure::Evidence& evidence,
                                                      const measure::Observation& observation);

/// The main launch of a call: the one with the largest share of kernel time, else with the most
/// threads, weighed by their registers where they are known.
/// Null when no tool saw one (launch.cpp).
[[nodiscard]] const measure::KernelFacts* main_launch(const measure::Evidence& evidence,
                                                      const measure::Observation& observation);

/// True when the others are compared with this subject.
[[nodiscard]] bool is_reference(const measure::Evidence& evidence, std::string_view subject);

/// True when the evidence is about this subject: it was timed, or no subject was.
[[nodiscard]] bool is_observed(const measure::Evidence& evidence, std::string_view subject);

/// The plan to report when plans say much the same: hot if there is one.
[[nodiscard]] bool is_told_plan(const measure::Evidence& evidence, measure::PlanKind plan);

/// The name of a device's independent units.
[[nodiscard]] std::string_view unit_word(const device::Device& device);

/// "32 KiB", "1.5 MiB": bytes of caches and tensors.
[[nodiscard]] std::string byte_words(double bytes);

}  // namespace wb::analyze
