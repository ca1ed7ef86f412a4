// SPDX-License-Identifier: MIT
#include "analyze/derived.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "analyze/compiled_code.hpp"
#include "analyze/evidence.hpp"
#include "analyze/occupancy.hpp"
#include "analyze/traffic.hpp"
#include "core/json.hpp"
#include "measure/launches.hpp"
#include "variant/restriction.hpp"

namespace wb::analyze {

using measure::Evidence;
using measure::Finding;
using measure::KernelFacts;

namespace {

/// The launches that the log has of the subject on that problem.
std::vector<const KernelFacts*> recorded_on(const Evidence& evidence, const std::string& subject,
                                            const problem::Problem& problem) {
  std::vector<const KernelFacts*> launches;
  const std::string text = problem::to_text(problem);
  for (const KernelFacts& kernel : evidence.kernels) {
    if (kernel.source != k_recorded_source || kernel.subject != subject || !kernel.problem)
      continue;
    if (problem::to_text(*kernel.problem) == text) launches.push_back(&kernel);
  }
  return launches;
}

/// How it is known that a problem launches a kernel of the build.
enum class LaunchProof { none, by_name, by_launch };

LaunchProof proof_of(const std::vector<const KernelFacts*>& recorded, const std::string& kernel,
                     const problem::Problem& problem) {
  const auto has = [&](std::string_view name) {
    return std::any_of(recorded.begin(), recorded.end(),
                       [&](const KernelFacts* one) { return one->kernel == name; });
  };
  if (recorded.empty() || has(measure::k_nameless_launch)) {
    return may_serve(kernel, problem) ? LaunchProof::by_name : LaunchProof::none;
  }
  return has(kernel) ? LaunchProof::by_launch : LaunchProof::none;
}

/// Whether a problem of the input launches that kernel of its build.
bool is_used(const DerivedInput& input, const Evidence& evidence, const std::string& kernel) {
  return input.problems.empty() ||
         std::any_of(
             input.problems.begin(), input.problems.end(), [&](const problem::Problem& problem) {
               return proof_of(recorded_on(evidence, input.subject, problem), kernel, problem) !=
                      LaunchProof::none;
             });
}

std::int64_t spill_size(const variant::KernelResources& kernel) {
  return std::max(kernel.spill_store_bytes, kernel.spill_load_bytes);
}

/// The kernel of the build that spills most of those that the problem launches.
std::optional<Finding> spill_finding(const DerivedInput& input, const Evidence& evidence,
                                     const problem::Problem& problem) {
  if (!input.ptxas) return std::nullopt;
  const auto recorded = recorded_on(evidence, input.subject, problem);
  const variant::KernelResources* worst = nullptr;
  LaunchProof proof = LaunchProof::none;
  for (const variant::KernelResources& kernel : input.ptxas->kernels) {
    if (spill_size(kernel) == 0) continue;
    const LaunchProof found = proof_of(recorded, kernel.kernel, problem);
    if (found == LaunchProof::none) continue;
    if (worst != nullptr && spill_size(kernel) <= spill_size(*worst)) continue;
    worst = &kernel;
    proof = found;
  }
  if (worst == nullptr) return std::nullopt;
  const bool is_seen = proof == LaunchProof::by_launch;
  Finding finding;
  finding.analysis = "spills";
  finding.problem = problem::label(problem);
  finding.statement = fmt::format(
      "{} of {}, {} {}, stores {} and loads {} bytes of spilled registers a thread", worst->kernel,
      input.subject, is_seen ? "which is launched on" : "by its name a kernel for", finding.problem,
      worst->spill_store_bytes, worst->spill_load_bytes);
  finding.figures = {{"subject", input.subject},
                     {"kernel", worst->kernel},
                     {"registers", worst->registers},
                     {"spill_store_bytes", worst->spill_store_bytes},
                     {"spill_load_bytes", worst->spill_load_bytes},
                     {"spill_bytes", spill_size(*worst)},
                     {"seen_by", is_seen ? "launch" : "name"}};
  finding.events = input.build_events;
  if (is_seen) {
    const auto& events = recorded.front()->events;
    finding.events.insert(finding.events.end(), events.begin(), events.end());
  }
  finding.unseen = "how often the spilled registers are stored and loaded";
  return finding;
}

/// Whether a kernel that the input's problems launch spills more than a little; nothing where the
/// record does not tell.
std::optional<bool> spills_much(const DerivedInput& input, const Evidence& evidence) {
  if (!input.ptxas || input.ptxas->kernels.empty()) return std::nullopt;
  for (const variant::KernelResources& kernel : input.ptxas->kernels) {
    if (spill_size(kernel) <= k_small_spill_bytes) continue;
    if (is_used(input, evidence, kernel.kernel)) return true;
  }
  if (input.ptxas->spilling_left_out > 0) return std::nullopt;
  return false;
}

/// The share of an SM's warps that the registers of the hungriest kernel in use allow.
std::optional<double> register_occupancy(const DerivedInput& input, const Evidence& evidence) {
  const auto limits = sm_limits(evidence.device.architecture);
  if (!limits) return std::nullopt;
  std::optional<double> least;
  for (const KernelFacts& kernel : evidence.kernels) {
    if (kernel.source != "ptxas" || kernel.subject != input.subject || !kernel.registers) continue;
    if (!is_used(input, evidence, kernel.kernel)) continue;
    const double frac = static_cast<double>(most_warps(*limits, *kernel.registers)) / limits->warps;
    least = std::min(least.value_or(frac), frac);
  }
  return least;
}

/// Manifests from before techniques had conditions list all that the kernel can do. There a
/// parameter of 0 tells that this configuration does not.
constexpr std::array<std::pair<std::string_view, const char*>, 4> k_switches{
    {{"async_copy", "ASYNC_COPY"},
     {"vectorized_loads", "VECTOR_LOADS"},
     {"bank_conflict_padding", "PADDING"},
     {"split_kv", "SPLIT_KEYS"}}};

std::vector<std::string> techniques_of(const DerivedInput& input) {
  std::vector<std::string> techniques =
      variant::techniques_in(*input.manifest, input.configuration);
  for (const auto& [technique, parameter] : k_switches) {
    const auto value = input.configuration.find(parameter);
    if (value == input.configuration.end() || value->second != 0) continue;
    std::erase(techniques, technique);
  }
  std::erase_if(techniques, [&](const std::string& technique) {
    return !variant::can_act(technique, to_string(input.manifest->backend), input.problems);
  });
  return techniques;
}

std::optional<Finding> configuration_finding(const DerivedInput& input, const Evidence& evidence) {
  const std::vector<std::string> techniques = techniques_of(input);
  if (techniques.empty()) return std::nullopt;
  const auto has = [&](std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
      return std::find(techniques.begin(), techniques.end(), word) != techniques.end();
    });
  };
  const bool matrix = has({"tensor_core_mma", "tensor_core_wgmma"});
  Finding finding;
  finding.analysis = "configuration";
  finding.statement =
      fmt::format("derived, not measured: by its manifest and configuration {} uses {}",
                  input.subject, fmt::join(techniques, ", "));
  finding.figures = {{"subject", input.subject},
                     {"has_matrix_units", matrix},
                     {"has_wide_copies", has({"vectorized_loads", "async_copy", "tma_copy"})},
                     {"has_bank_layout", has({"bank_conflict_padding", "bank_conflict_swizzle"})},
                     {"splits_keys", has({"split_kv"})},
                     {"hides_latency", hides_latency(input)}};
  if (const auto does = spills_much(input, evidence)) finding.figures["spills"] = *does;
  if (const auto frac = register_occupancy(input, evidence)) {
    finding.figures["register_occupancy_frac"] = *frac;
  }
  finding.unseen = "whether the code does what its manifest says";
  return finding;
}

/// The least share of the waves' places that is filled, for every number of waves from `least` on.
double least_fill(double least, double most) {
  if (std::abs(least - most) < 1e-9) return least / std::ceil(least);
  const double whole = std::floor(least);
  return whole >= 1 ? whole / (whole + 1) : 0.0;
}

/// What is dealt out: blocks, or the tiles that the blocks of a persistent grid take in turn.
struct Dealt {
  std::int64_t least = 0, most = 0;
  double places = 0;  ///< for how many at once; 0: not known
};

void add_waves(Finding& finding, const Dealt& dealt, double units) {
  const auto least = static_cast<double>(dealt.least), most = static_cast<double>(dealt.most);
  const double places = dealt.places;
  // With one block an SM where nothing tells; more make fewer waves.
  finding.figures["waves_most"] = most / (places > 0 ? places : units);
  if (!(places > 0)) return;
  finding.figures["waves_least"] = least / places;
  finding.figures["wave_fill_least_frac"] = least_fill(least / places, most / places);
  if (dealt.least == dealt.most) {
    finding.figures["wave_fill_most_frac"] = least / places / std::ceil(least / places);
  }
}

/// K and V as often as the finest tile asks for them, and the other tensors, over what the memory
/// could bring in the measured time.
void add_demand(Finding& finding, const DerivedInput& input, const Evidence& evidence,
                const problem::Problem& problem, double requested) {
  const auto bandwidth = known(evidence.device.memory_bytes_per_s);
  if (!bandwidth) return;
  for (const measure::Observation& one : evidence.observations) {
    if (one.subject != input.subject || !has_time(one)) continue;
    if (problem::to_text(one.problem) != problem::to_text(problem)) continue;
    const double bytes = requested + tensor_bytes(problem) - kv_bytes(problem);
    finding.figures["requested_share_most_frac"] =
        bytes / (one.measurement.median_us * 1e-6) / *bandwidth;
    finding.events.insert(finding.events.end(), one.events.begin(), one.events.end());
    return;
  }
}

std::optional<Finding> launch_finding(const DerivedInput& input, const Evidence& evidence,
                                      const problem::Problem& problem) {
  if (evidence.device.units <= 0) return std::nullopt;
  auto found = bounds_of(*input.rule, input.configuration, problem, evidence.device.units);
  if (!found) return std::nullopt;
  catalogue::LaunchBounds& bounds = *found;
  measure::Observation call;
  call.problem = problem;
  call.subject = input.subject;
  const KernelFacts* seen = main_launch(evidence, call);
  Dealt tiles{bounds.blocks_least, bounds.blocks_most};
  const bool takes_turns =
      seen != nullptr &&
      is_persistent(*seen->blocks, {tiles.least, tiles.most}, evidence.device.units);
  if (seen != nullptr) {
    bounds.blocks_least = bounds.blocks_most = *seen->blocks;
    if (seen->threads_per_block) {
      bounds.threads_least = bounds.threads_most = *seen->threads_per_block;
    }
  }
  const auto units = static_cast<double>(evidence.device.units);
  const auto share = [units](std::int64_t blocks) {
    return std::min(1.0, static_cast<double>(blocks) / units);
  };
  const auto range = [](std::int64_t least, std::int64_t most) {
    return least == most ? fmt::to_string(least) : fmt::format("{} to {}", least, most);
  };
  Finding finding;
  finding.analysis = "launch_rule";
  finding.problem = problem::label(problem);
  const std::string blocks = fmt::format("{} {}", range(bounds.blocks_least, bounds.blocks_most),
                                         evidence.device.backend == "cuda" ? "blocks" : "tasks");
  // Where the number of blocks is known the kernel chose among its tiles, and the rule does not say
  // which one it took.
  const bool is_one = bounds.rows_least == bounds.rows_most;
  const std::string rows = fmt::format("{} query row{}", range(bounds.rows_least, bounds.rows_most),
                                       bounds.rows_most == 1 ? "" : "s");
  const std::string where = fmt::format("{} {} on {}", evidence.device.units,
                                        unit_word(evidence.device), finding.problem);
  finding.statement =
      seen != nullptr
          ? fmt::format("{} launches {} for {}; derived, not measured: by its launch rule {} {}",
                        input.subject, blocks, where,
                        takes_turns ? fmt::format("they take {} tiles in turn, of",
                                                  range(tiles.least, tiles.most))
                                    : std::string("each takes"),
                        rows)
          : fmt::format(
                "derived, not measured: by its launch rule {} has {}{} for {}", input.subject,
                blocks,
                is_one || bounds.blocks_least < bounds.blocks_most ? " of " + rows : std::string(),
                where);
  finding.figures = {{"subject", input.subject},
                     {"blocks_least", bounds.blocks_least},
                     {"blocks_most", bounds.blocks_most},
                     {"units", evidence.device.units},
                     {"units_least_frac", share(bounds.blocks_least)},
                     {"units_most_frac", share(bounds.blocks_most)},
                     {"rows_least", bounds.rows_least},
                     {"rows_most", bounds.rows_most},
                     {"covers_heads", bounds.covers_heads},
                     {"walks_in_series", bounds.parts_most == 1}};
  const double requested = kv_requested_bytes(problem, bounds.rows_least);
  finding.figures["kv_redundancy_most"] = requested / kv_bytes(problem);
  finding.figures["kv_redundancy_least"] =
      kv_requested_bytes(problem, bounds.rows_most) / kv_bytes(problem);
  if (bounds.threads_least > 0) {
    const auto whole = [](std::int64_t threads) { return threads % k_warp_threads == 0; };
    finding.figures["whole_warps"] = whole(bounds.threads_least) && whole(bounds.threads_most);
    finding.figures["working_frac"] = bounds.working_frac;
  }
  if (seen != nullptr) finding.events = seen->events;
  if (takes_turns) {
    tiles.places = static_cast<double>(*seen->blocks);
    finding.figures["tiles_least"] = tiles.least;
    finding.figures["tiles_most"] = tiles.most;
  } else {
    const std::int64_t resident =
        seen != nullptr && seen->blocks_per_unit ? *seen->blocks_per_unit : input.rule->resident;
    tiles = {bounds.blocks_least, bounds.blocks_most, units * static_cast<double>(resident)};
  }
  add_waves(finding, tiles, units);
  add_demand(finding, input, evidence, problem, requested);
  finding.unseen = seen != nullptr ? "which rows and keys a block takes"
                                   : "the launch itself, which no tool saw";
  return finding;
}

}  // namespace

void add_rule_facts(Evidence& evidence, const std::string& subject,
                    const variant::Manifest& manifest, const variant::Configuration& configuration,
                    const catalogue::LaunchRule* rule) {
  const auto completed = variant::complete_configuration(manifest, configuration);
  const variant::Configuration& whole = completed.ok() ? *completed : configuration;
  bool has_f32 = false;
  for (const measure::Observation& one : evidence.observations) {
    if (one.subject != subject) continue;
    has_f32 = has_f32 || one.problem.dtype == Dtype::f32;
    if (rule == nullptr || evidence.device.units <= 0) continue;
    const auto bounds = bounds_of(*rule, whole, one.problem, evidence.device.units);
    if (!bounds) continue;
    evidence.blocks_by_rule[{subject, problem::to_text(one.problem)}] = {bounds->blocks_least,
                                                                         bounds->blocks_most};
  }
  if (!has_f32 || evidence.device.backend != "cuda") return;
  const auto split = catalogue::split_products(manifest, configuration, rule);
  if (split) evidence.split_products[subject] = *split;
}

bool hides_latency(const DerivedInput& input) {
  if (input.manifest == nullptr) return false;
  const std::vector<std::string> techniques = techniques_of(input);
  const auto has = [&](std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
      return std::find(techniques.begin(), techniques.end(), word) != techniques.end();
    });
  };
  return has({"tensor_core_mma", "tensor_core_wgmma"}) &&
         has({"async_copy", "tma_copy", "multi_stage_pipeline"});
}

std::vector<Finding> derived_findings(const DerivedInput& input, const Evidence& evidence) {
  std::vector<Finding> findings;
  if (input.manifest == nullptr) return findings;
  if (auto found = configuration_finding(input, evidence)) findings.push_back(*std::move(found));
  for (const problem::Problem& problem : input.problems) {
    if (auto found = spill_finding(input, evidence, problem)) {
      findings.push_back(*std::move(found));
    }
  }
  if (input.rule == nullptr) return findings;
  for (const problem::Problem& problem : input.problems) {
    if (auto found = launch_finding(input, evidence, problem)) {
      findings.push_back(*std::move(found));
    }
  }
  return findings;
}

}  // namespace wb::analyze
