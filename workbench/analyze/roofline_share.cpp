// SPDX-License-Identifier: MIT
// The share of the device's peak that a subject reaches on a problem, for the peak of the problem's
// dtype (or of faster units, if it exceeds that or splits its products over them), and the headroom
// down to the time at the peak or of an empty call, whichever is longer. One finding per
// observation.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/evidence.hpp"
#include "measure/finding.hpp"
#include "measure/roofline.hpp"

namespace wb::analyze {

using device::Device;
using measure::Evidence;
using measure::Finding;
using measure::Observation;

std::vector<Finding> analyze_roofline_share(const Evidence& evidence);

namespace {

/// The problem's dtype, unless the time beats its peak: an honest f32 kernel may split its products
/// over faster units.
Dtype units_of(const Device& device, const Observation& observation, double flops_per_s) {
  const auto share_of = [&](Dtype units) {
    const auto peak = known(device::peak_flops_per_s(device, units));
    return peak ? flops_per_s / *peak : 0;
  };
  const Dtype own = observation.problem.dtype;
  if (share_of(own) <= 1 + measure::k_roofline_tolerance_frac) return own;
  for (const Dtype other : {Dtype::f16, Dtype::bf16}) {
    const double share = share_of(other);
    if (share > 0 && share < share_of(own)) return other;
  }
  return own;
}

double rate_of(const Observation& observation) {
  return problem::work(observation.problem).flops / (observation.measurement.median_us * 1e-6);
}

/// The roof of a subject whose f32 products are split; nothing where it has none, or beats it, so
/// that what was said of its products is wrong.
std::optional<ComputeRoof> split_roof(const Evidence& evidence, const Observation& observation) {
  const auto split = evidence.split_products.find(observation.subject);
  if (split == evidence.split_products.end() || observation.problem.dtype != Dtype::f32) {
    return std::nullopt;
  }
  const auto& [units, products] = split->second;
  const auto peak = device::split_peak_flops_per_s(evidence.device, split->second);
  const double most = 1 + measure::k_roofline_tolerance_frac;
  if (!known(peak) || rate_of(observation) > most * peak->value) return std::nullopt;
  return ComputeRoof{peak, units, products,
                     products > 1
                         ? fmt::format("{} compute peak at {:g} products for one", units, products)
                         : units + " compute peak"};
}

}  // namespace

ComputeRoof compute_roof(const Evidence& evidence, const Observation& observation) {
  if (auto split = split_roof(evidence, observation)) return *std::move(split);
  const Dtype units = units_of(evidence.device, observation, rate_of(observation));
  const std::string word(to_string(units));
  return {device::peak_flops_per_s(evidence.device, units), word, 1, word + " compute peak"};
}

namespace {

struct Shares {
  std::optional<double> flops, bytes;  ///< of the peak, if the plan can show it
  ComputeRoof roof;
  std::string unseen;
};

Shares shares_of(const Evidence& evidence, const Observation& observation,
                 const problem::Work& demanded) {
  const Device& device = evidence.device;
  Shares shares;
  const double time_s = observation.measurement.median_us * 1e-6;
  shares.roof = compute_roof(evidence, observation);
  if (const auto peak = known(shares.roof.flops_per_s)) {
    shares.flops = demanded.flops / time_s / *peak;
  } else {
    shares.unseen = fmt::format("the {} compute peak of this device is not known",
                                to_string(observation.problem.dtype));
  }
  const auto note = [&](std::string_view words) {
    shares.unseen += (shares.unseen.empty() ? "" : "; ");
    shares.unseen += words;
  };
  const auto bandwidth = known(device.memory_bytes_per_s);
  const auto memory_shown = shows_memory(observation.plan, device, demanded);
  if (!bandwidth) {
    note("the memory bandwidth of this device is not known");
  } else if (memory_shown.value_or(true)) {
    shares.bytes = demanded.min_bytes / time_s / *bandwidth;
    if (!memory_shown) note("whether the tensors fit in a cache (its size is not known)");
  } else {
    note("the share of memory bandwidth: the tensors fit in the last-level cache and stay there");
  }
  return shares;
}

bool is_by_bytes(const Shares& shares) {
  return shares.bytes.value_or(0) > shares.flops.value_or(0);
}

TimeBound bound_of(const Evidence& evidence, const Observation& observation, const Shares& shares) {
  const bool by_bytes = is_by_bytes(shares);
  const double share = by_bytes ? *shares.bytes : shares.flops.value_or(0);
  const double us = share * observation.measurement.median_us;
  // No kernel takes less than an empty one, however small the problem.
  if (evidence.call_overhead_us > us) {
    return {evidence.call_overhead_us, "launch",
            fmt::format("an empty call of {:.3g} us", evidence.call_overhead_us)};
  }
  return {us, by_bytes ? "memory" : "compute",
          "the " + (by_bytes ? std::string("memory bandwidth") : shares.roof.words)};
}

/// The time over its bound. Below an empty call there is no room, and none is negative.
double headroom_over(const TimeBound& bound, const Observation& observation) {
  const double ratio = observation.measurement.median_us / bound.us;
  return bound.kind == "launch" ? std::max(ratio, 1.0) : ratio;
}

std::string statement_of(const Observation& observation, const Shares& shares, double share,
                         bool by_bytes, const TimeBound& bound, const Evidence& evidence) {
  const Device& device = evidence.device;
  const std::string what = by_bytes ? "memory bandwidth" : shares.roof.words;
  const auto& peak = by_bytes ? device.memory_bytes_per_s : shares.roof.flops_per_s;
  std::string_view source = peak->source;
  // What is about the matrix units; the latter in older logs.
  for (const std::string_view about : {", dense", ", tensor rates halved"}) {
    if (by_bytes && source.ends_with(about)) source.remove_suffix(about.size());
  }
  std::string words = fmt::format("{} on {} ({}): {:.3g} % of the {} ({})", observation.subject,
                                  problem::label(observation.problem), to_string(observation.plan),
                                  100 * share, what, source);
  if (share > 1 + measure::k_roofline_tolerance_frac) {
    return words + ": above the peak, so the peak or the time is wrong";
  }
  const std::string_view own = to_string(observation.problem.dtype);
  const bool is_split = evidence.split_products.contains(observation.subject);
  if (!by_bytes && shares.roof.units != own && !(is_split && shares.roof.products > 1)) {
    words +=
        fmt::format(", as it beats the {} peak; splitting costs several products for one", own);
  }
  words += fmt::format(", headroom {:.3g}x (bound: {})", headroom_over(bound, observation),
                       bound.kind == "launch" ? bound.words : "that peak");
  if (shares.flops && shares.bytes) {
    words += by_bytes ? fmt::format("; {:.3g} % of the compute peak", 100 * *shares.flops)
                      : fmt::format("; {:.3g} % of the memory bandwidth", 100 * *shares.bytes);
  }
  return words;
}

/// For 16-bit problems on a GPU: the rate over the FMA units' peak (that of f32). Above 1 the
/// products must have run on the matrix units.
void add_fma_share(Finding& finding, const Device& device, Dtype dtype, double flops_per_s) {
  if (device.backend != "cuda" || dtype == Dtype::f32) return;
  if (const auto peak = known(device::peak_flops_per_s(device, Dtype::f32))) {
    finding.figures["fma_share_frac"] = flops_per_s / *peak;
  }
}

}  // namespace

std::optional<TimeBound> time_bound(const Evidence& evidence, const Observation& observation) {
  if (!has_time(observation)) return std::nullopt;
  const Shares shares = shares_of(evidence, observation, problem::work(observation.problem));
  // An empty call alone bounds hardly anything where no peak of the device is known.
  if (!shares.flops && !shares.bytes) return std::nullopt;
  const TimeBound bound = bound_of(evidence, observation, shares);
  return bound.us > 0 ? std::optional(bound) : std::nullopt;
}

std::vector<Finding> analyze_roofline_share(const Evidence& evidence) {
  std::vector<Finding> findings;
  for (const Observation& observation : evidence.observations) {
    if (!has_time(observation)) continue;
    const problem::Work demanded = problem::work(observation.problem);
    const Shares shares = shares_of(evidence, observation, demanded);
    if (!shares.flops && !shares.bytes) continue;
    const bool by_bytes = is_by_bytes(shares);
    const double share = by_bytes ? *shares.bytes : shares.flops.value_or(0);
    const double time_s = observation.measurement.median_us * 1e-6;
    Finding finding;
    finding.analysis = "roofline_share";
    finding.problem = problem::label(observation.problem);
    const TimeBound bound = bound_of(evidence, observation, shares);
    finding.statement = statement_of(observation, shares, share, by_bytes, bound, evidence);
    finding.figures = {{"subject", observation.subject},
                       {"plan", to_string(observation.plan)},
                       {"time_us", observation.measurement.median_us},
                       {"achieved_flops_per_s", demanded.flops / time_s},
                       {"achieved_bytes_per_s", demanded.min_bytes / time_s},
                       {"share_frac", share},
                       {"headroom_ratio", headroom_over(bound, observation)},
                       {"bound", bound.kind},
                       {"bound_us", bound.us},
                       {"bound_words", bound.words},
                       {"peak", by_bytes ? "memory" : "compute"}};
    if (shares.flops) {
      finding.figures["flop_share_frac"] = *shares.flops;
      finding.figures["peak_flops_per_s"] = shares.roof.flops_per_s->value;
      finding.figures["peak_dtype"] = shares.roof.units;
      if (shares.roof.products > 1) finding.figures["peak_products"] = shares.roof.products;
    }
    if (evidence.call_overhead_us > 0) {
      finding.figures["empty_call_frac"] =
          evidence.call_overhead_us / observation.measurement.median_us;
    }
    add_fma_share(finding, evidence.device, observation.problem.dtype, demanded.flops / time_s);
    if (shares.bytes) {
      finding.figures["byte_share_frac"] = *shares.bytes;
      finding.figures["peak_bytes_per_s"] = evidence.device.memory_bytes_per_s->value;
    }
    finding.events = observation.events;
    finding.unseen = shares.unseen;
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace wb::analyze
