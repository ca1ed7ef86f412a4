// SPDX-License-Identifier: MIT
// The launch of each call's main kernel: how many SMs its blocks can reach, how many waves they
// make and how full the last one is, how many threads are resident, and how often that many blocks
// request K and V. Only with grid and block from a tool or from the recorded graph. Of a persistent
// grid the tiles that its blocks take in turn make the waves, as its launch rule counts them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "analyze/evidence.hpp"
#include "analyze/occupancy.hpp"
#include "analyze/traffic.hpp"
#include "measure/finding.hpp"
#include "problem/attention.hpp"
#include "variant/ptxas_record.hpp"

namespace wb::analyze {

using device::Device;
using measure::Evidence;
using measure::Finding;
using measure::KernelFacts;
using measure::Observation;

std::vector<Finding> analyze_launch(const Evidence& evidence);

namespace {

constexpr std::size_t k_name_bytes = 80;
/// From this share of a call's time on, a kernel is considered to do all the work.
constexpr double k_whole_share = 0.95;

std::optional<Occupancy> occupancy_of(const Device& device, const KernelFacts& kernel) {
  const auto limits = sm_limits(device.architecture);
  const bool is_known = kernel.threads_per_block && kernel.registers &&
                        kernel.static_shared_bytes && kernel.dynamic_shared_bytes;
  if (!limits || !is_known) return std::nullopt;
  auto result = occupancy(*limits, {*kernel.threads_per_block, *kernel.registers,
                                    *kernel.static_shared_bytes + *kernel.dynamic_shared_bytes});
  // The driver knows the device that it runs on; what it says is untrusted, so it must be possible.
  if (!result || !kernel.blocks_per_unit || *kernel.blocks_per_unit < 1) return result;
  const std::int64_t warps_per_block =
      (*kernel.threads_per_block + k_warp_threads - 1) / k_warp_threads;
  const std::int64_t warps = *kernel.blocks_per_unit * warps_per_block;
  if (*kernel.blocks_per_unit > limits->blocks || warps > limits->warps) return result;
  result->blocks = *kernel.blocks_per_unit;
  result->warps = warps;
  result->frac = static_cast<double>(warps) / limits->warps;
  return result;
}

struct Coverage {
  double blocks = 0, units = 0;
  double units_frac = 0;                   ///< of the SMs that can have a block
  std::optional<Occupancy> resident;       ///< per SM
  std::optional<double> waves, full_frac;  ///< full_frac: of the block slots of all waves
  std::optional<double> tiles;         ///< of a persistent grid, where the launch rule counts them
  bool is_perhaps_persistent = false;  ///< as many blocks as the device holds: waves say nothing
};

/// Waves of tiles where the grid is persistent: its blocks stay and take one tile after another.
void count_turns(Coverage& result, const Evidence& evidence, const Observation& observation) {
  const auto rule =
      evidence.blocks_by_rule.find({observation.subject, problem::to_text(observation.problem)});
  if (rule == evidence.blocks_by_rule.end()) {
    const bool fills = std::fmod(result.blocks, result.units) == 0 && *result.waves <= 1;
    const auto row_blocks = static_cast<double>(problem::row_block_count(observation.problem));
    result.is_perhaps_persistent = fills && row_blocks > result.blocks;
  } else if (is_persistent(static_cast<std::int64_t>(result.blocks), rule->second,
                           evidence.device.units)) {
    const bool is_known = rule->second.least == rule->second.most;
    if (is_known) result.tiles = static_cast<double>(rule->second.least);
    result.is_perhaps_persistent = !is_known;
  }
  if (result.is_perhaps_persistent) result.waves = result.full_frac = std::nullopt;
  if (result.tiles) {
    result.waves = *result.tiles / result.blocks;
    result.full_frac = *result.waves / std::ceil(*result.waves);
  }
}

Coverage coverage_of(const Evidence& evidence, const Observation& observation,
                     const KernelFacts& kernel) {
  const Device& device = evidence.device;
  Coverage result;
  result.blocks = static_cast<double>(*kernel.blocks);
  result.units = static_cast<double>(device.units);
  result.units_frac = std::min(1.0, result.blocks / result.units);
  result.resident = occupancy_of(device, kernel);
  if (result.resident && result.resident->blocks > 0) {
    const double places = result.units * static_cast<double>(result.resident->blocks);
    result.waves = result.blocks / places;
    result.full_frac = *result.waves / std::ceil(*result.waves);
    count_turns(result, evidence, observation);
  }
  return result;
}

std::string coverage_words(const Coverage& coverage, const Device& device) {
  const std::string_view units = unit_word(device);
  if (coverage.blocks < coverage.units) {
    return fmt::format("at most {:.0f} % of the {:.0f} {} have work", 100 * coverage.units_frac,
                       coverage.units, units);
  }
  if (!coverage.waves) {
    return fmt::format("{:.3g} for each of the {:.0f} {}{}", coverage.blocks / coverage.units,
                       coverage.units, units,
                       coverage.is_perhaps_persistent ? ", which may take tiles in turn" : "");
  }
  if (coverage.tiles) {
    return fmt::format("they take {:.0f} tiles in turn, {:.3g} each, and are {:.0f} % filled",
                       *coverage.tiles, *coverage.waves, 100 * *coverage.full_frac);
  }
  return fmt::format(
      "{:.3g} waves of {} a {} ({} of {:.0f} % occupancy, limited by {}), their "
      "places {:.0f} % filled",
      *coverage.waves, coverage.resident->blocks, device.backend == "cuda" ? "SM" : "unit",
      "theoretical", 100 * coverage.resident->frac, coverage.resident->limited_by,
      100 * *coverage.full_frac);
}

/// Rows per block if blocks divide the rows of the query heads evenly; nothing when they cannot
/// (fewer blocks than heads, more than rows, heads with unequal shares).
std::optional<std::int64_t> implied_rows(const problem::Problem& problem, std::int64_t blocks) {
  const std::int64_t heads = problem.B * problem.Hq;
  if (blocks < heads || blocks % heads != 0) return std::nullopt;
  const std::int64_t per_head = blocks / heads;
  if (per_head > problem.Sq) return std::nullopt;
  return (problem.Sq + per_head - 1) / per_head;
}

void add_shared_memory(Finding& finding, const Device& device, const KernelFacts& kernel) {
  const auto most = known(device.shared_bytes_per_unit);
  if (!most || !kernel.static_shared_bytes || !kernel.dynamic_shared_bytes) return;
  const auto bytes =
      static_cast<double>(*kernel.static_shared_bytes + *kernel.dynamic_shared_bytes);
  finding.figures["shared_bytes_per_block"] = bytes;
  finding.figures["shared_frac"] = bytes / *most;
  finding.statement += fmt::format("; {} of shared memory a block, {:.3g} % of an SM's",
                                   byte_words(bytes), 100 * bytes / *most);
}

void add_reads(Finding& finding, const Observation& observation, const KernelFacts& kernel) {
  // With other kernels taking part, keys may be split or scores may go through memory. A recorded
  // graph tells no durations, so there only a single launch has a share.
  if (kernel.source == k_recorded_source && !kernel.share_frac) return;
  if (kernel.share_frac && *kernel.share_frac < k_whole_share) return;
  const auto rows = implied_rows(observation.problem, *kernel.blocks);
  if (!rows) return;
  const double requested = kv_requested_bytes(observation.problem, *rows);
  const double redundancy = requested / kv_bytes(observation.problem);
  finding.figures["rows_per_block"] = *rows;
  finding.figures["kv_requested_bytes"] = requested;
  finding.figures["kv_redundancy"] = redundancy;
  std::string rate;
  if (has_time(observation)) {
    const double bytes_per_s = requested / (observation.measurement.median_us * 1e-6);
    finding.figures["kv_requested_bytes_per_s"] = bytes_per_s;
    rate = fmt::format(", {:.3g} GB/s", bytes_per_s / 1e9);
  }
  finding.statement +=
      fmt::format("; if each takes {} row{} of one head, K and V are asked for {:.3g} times ({}{})",
                  *rows, *rows == 1 ? "" : "s", redundancy, byte_words(requested), rate);
}

/// Bounds for the number of working threads: at least one thread per row, and at most the active
/// lanes of issuing warps. Waiting warps are in neither.
void add_active_threads(Finding& finding, const KernelFacts& kernel) {
  if (!kernel.threads_per_block) return;
  const auto threads = static_cast<double>(*kernel.threads_per_block);
  if (const auto rows = finding.figures.find("rows_per_block"); rows != finding.figures.end()) {
    const double at_work = std::min(threads, rows->get<double>());
    finding.figures["row_threads_per_block"] = at_work;
    finding.figures["row_threads_frac"] = at_work / threads;
  }
  const auto seen = kernel.metrics.find("Avg. Active Threads Per Warp []");
  if (seen == kernel.metrics.end() || !(seen->second > 0 && seen->second <= k_warp_threads)) return;
  const double frac = seen->second / static_cast<double>(k_warp_threads);
  finding.figures["active_threads_per_block"] = threads * frac;
  finding.figures["active_threads_frac"] = frac;
  finding.statement += fmt::format(
      "; of its {:.0f} threads {:.3g} ({:.0f} %) were active in warps "
      "that issued",
      threads, threads * frac, 100 * frac);
}

Finding finding_of(const Evidence& evidence, const Observation& observation,
                   const KernelFacts& kernel) {
  const Device& device = evidence.device;
  const Coverage coverage = coverage_of(evidence, observation, kernel);
  Finding finding;
  finding.analysis = "launch";
  finding.problem = problem::label(observation.problem);
  const std::string threads =
      kernel.threads_per_block ? fmt::format(" of {} threads", *kernel.threads_per_block) : "";
  finding.statement =
      fmt::format("{} on {}: {} launches {} block{}{}: {}", observation.subject, finding.problem,
                  variant::cut_in_the_middle(kernel.kernel, k_name_bytes), *kernel.blocks,
                  *kernel.blocks == 1 ? "" : "s", threads, coverage_words(coverage, device));
  finding.figures = {{"subject", observation.subject}, {"kernel", kernel.kernel},
                     {"source", kernel.source},        {"blocks", *kernel.blocks},
                     {"units", device.units},          {"units_frac", coverage.units_frac}};
  if (kernel.threads_per_block) {
    const std::int64_t threads_of_block = *kernel.threads_per_block;
    finding.figures["threads_per_block"] = threads_of_block;
    const std::int64_t lanes =
        (threads_of_block + k_warp_threads - 1) / k_warp_threads * k_warp_threads;
    finding.figures["warp_lanes_frac"] =
        static_cast<double>(threads_of_block) / static_cast<double>(lanes);
  }
  const bool is_occupancy_known = coverage.resident && coverage.resident->blocks > 0;
  if (is_occupancy_known) {
    finding.figures["blocks_per_unit"] = coverage.resident->blocks;
    finding.figures["occupancy_frac"] = coverage.resident->frac;
    finding.figures["hides_latency"] = false;  // unless its manifest says so (derived.hpp)
    finding.figures["limited_by"] = coverage.resident->limited_by;
    finding.figures["blocks_to_fill"] = coverage.resident->blocks * device.units;
  }
  if (coverage.waves) {
    finding.figures["waves"] = *coverage.waves;
    finding.figures["wave_fill_frac"] = *coverage.full_frac;
  }
  if (coverage.tiles) finding.figures["tiles"] = *coverage.tiles;
  add_shared_memory(finding, device, kernel);
  add_reads(finding, observation, kernel);
  add_active_threads(finding, kernel);
  finding.events = observation.events;
  finding.events.insert(finding.events.end(), kernel.events.begin(), kernel.events.end());
  finding.unseen = "which rows and keys a block takes, and which of its threads do the work";
  if (coverage.is_perhaps_persistent) {
    finding.unseen += "; how many tiles its blocks take one after another";
  }
  if (!is_occupancy_known)
    finding.unseen += "; how many blocks an SM holds at once (" + kernel.source +
                      " does not tell registers and shared memory)";
  return finding;
}

/// Calls that were launched but not timed, for a profile without timing.
std::vector<Observation> calls_of(const Evidence& evidence) {
  std::vector<Observation> calls;
  if (!evidence.observations.empty()) return calls;
  for (const KernelFacts& kernel : evidence.kernels) {
    if (!kernel.problem || !kernel.blocks) continue;
    Observation call;
    call.problem = *kernel.problem;
    call.subject = kernel.subject;
    calls.push_back(std::move(call));
  }
  return calls;
}

/// One for each subject without a seen launch.
Finding not_seen(const Evidence& evidence, const Observation& observation) {
  Finding finding;
  finding.analysis = "launch";
  finding.statement = fmt::format(
      "{}: no tool saw grid and block of its kernels, so blocks, waves and resident threads are "
      "not known",
      observation.subject);
  finding.figures = {{"subject", observation.subject}};
  for (const measure::BlindSpot& spot : evidence.blind_spots) {
    if (spot.subject != observation.subject) continue;
    finding.events.insert(finding.events.end(), spot.events.begin(), spot.events.end());
  }
  finding.unseen = "the launch; `sdpa-wb profile` shows it where the machine lets it";
  return finding;
}

}  // namespace

const KernelFacts* main_launch(const Evidence& evidence, const Observation& observation) {
  // The registers of all its threads: a kernel that merges parts has as many threads and few.
  const auto size = [](const KernelFacts& kernel) {
    return static_cast<double>(*kernel.blocks) *
           static_cast<double>(kernel.threads_per_block.value_or(1)) *
           static_cast<double>(std::max<std::int64_t>(kernel.registers.value_or(1), 1));
  };
  const KernelFacts* best = nullptr;
  for (const KernelFacts& kernel : evidence.kernels) {
    if (!kernel.problem || !kernel.blocks || kernel.subject != observation.subject) continue;
    if (problem::to_text(*kernel.problem) != problem::to_text(observation.problem)) continue;
    const bool is_better = best == nullptr || (kernel.share_frac && best->share_frac
                                                   ? *kernel.share_frac > *best->share_frac
                                                   : size(kernel) > size(*best));
    if (is_better) best = &kernel;
  }
  return best;
}

std::vector<Finding> analyze_launch(const Evidence& evidence) {
  std::vector<Finding> findings;
  const std::vector<Observation> untimed = calls_of(evidence);
  if (evidence.device.backend != "cuda" || evidence.device.units <= 0) return findings;
  std::set<std::pair<std::string, std::string>> told;
  std::set<std::string> seen;
  for (const Observation& observation : untimed.empty() ? evidence.observations : untimed) {
    if (!has_time(observation) && untimed.empty()) continue;
    const KernelFacts* kernel = main_launch(evidence, observation);
    if (kernel == nullptr) continue;
    seen.insert(observation.subject);
    if (!told.emplace(observation.subject, problem::to_text(observation.problem)).second) continue;
    findings.push_back(finding_of(evidence, observation, *kernel));
  }
  for (const Observation& observation : evidence.observations) {
    if (!has_time(observation) || !seen.insert(observation.subject).second) continue;
    findings.push_back(not_seen(evidence, observation));
  }
  return findings;
}

}  // namespace wb::analyze
