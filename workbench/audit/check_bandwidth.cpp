// SPDX-License-Identifier: MIT
// Checks shares of a bandwidth and thresholds of "compute-bound" against the rates and GPUs that
// the document states, and whether it names the GPU that ran.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "audit/checks.hpp"

namespace wb::audit {
namespace {

/// Whether the peak for a share is unclear. "7,600 GB/s peak bandwidth (95% of the GPU's)" states a
/// rate that was reached but not the peak. With several rates, the line may be about any of them.
bool is_unsure(const Facts& facts, const std::vector<int>& rate_lines, int peak_line) {
  const auto& beside = facts.of(peak_line);
  return rate_lines.size() > 1 || std::any_of(beside.begin(), beside.end(), [](auto& figure) {
           return figure.unit == Unit::percent;
         });
}

/// Checks "only 4.7% of peak bandwidth" against the rate and the peak stated before it, and whether
/// the document says which GPU ran.
void check_line(const Facts& facts, const Line& line, Notes& notes) {
  const auto& figures = facts.of(line.number);
  const bool about = line.lower.find("bandwidth") != std::string::npos &&
                     line.lower.find("peak") != std::string::npos;
  if (!about || figures.size() != 1 || figures[0].unit != Unit::percent) return;
  const Figure* rate = nullptr;
  const Figure* peak = nullptr;
  int rate_line = 0, peak_line = 0;
  std::vector<int> rate_lines;
  const auto index = static_cast<std::size_t>(line.number - 1);
  for (std::size_t up = index; up-- > 0 && up + 16 > index;) {
    const Line& above = facts.document.lines[up];
    for (const Figure& figure : facts.of(above.number)) {
      if (figure.unit != Unit::byte_rate) continue;
      const bool names = std::any_of(facts.gpus.begin(), facts.gpus.end(),
                                     [&](auto& gpu) { return has_word(above.plain, gpu.word); });
      if (names && peak == nullptr) peak = &figure, peak_line = above.number;
      if (!names && rate == nullptr) rate = &figure, rate_line = above.number;
      if (!names) rate_lines.push_back(above.number);
    }
  }
  if (rate == nullptr || peak == nullptr) return;
  const auto ratio = divide(rate->operand(), peak->operand());
  if (!ratio) return;
  const Interval percent = *ratio * Interval{100, 100};
  const std::string formula =
      fmt::format("{} / {} = {}", rate->printed, peak->printed, show(percent, Unit::percent));
  if (!figures[0].result().meets(percent)) {
    notes.add({.severity = is_unsure(facts, rate_lines, peak_line) ? Severity::doubtful
                                                                   : Severity::contradiction,
               .line = line.number,
               .printed = figures[0].printed,
               .computed = formula,
               .meaning = "the share does not follow from the rate and the peak above it",
               .tolerance = tolerance_of(figures[0]),
               .also = {rate_line, peak_line}});
  } else {
    notes.held(line.number, formula + ", printed " + figures[0].printed);
  }
  // "A100/H100" and "modern GPUs" are examples, not the GPU that ran.
  static constexpr std::array<std::string_view, 6> k_ran{"device",   "gpu",     "hardware",
                                                         "platform", "machine", "measured on"};
  const bool said =
      std::any_of(facts.document.lines.begin(), facts.document.lines.end(), [&](const Line& one) {
        const auto label = label_of(one.plain);
        const bool labeled =
            label && std::find(k_ran.begin(), k_ran.end(), label->label) != k_ran.end();
        const bool names = std::any_of(facts.gpus.begin(), facts.gpus.end(),
                                       [&](auto& gpu) { return has_word(one.plain, gpu.word); });
        const bool ran = one.lower.find("measured on") != std::string::npos ||
                         one.lower.find("ran on") != std::string::npos;
        return names && (labeled || ran || one.plain.starts_with("# "));
      });
  if (said) return;
  std::string others;
  for (const device::Device& device : device::known_gpus()) {
    const double share = 100 * rate->value / device.memory_bytes_per_s->value;
    if (share < 2 * figures[0].value || share > 100) continue;
    others += fmt::format("{}{:.0f} % on a {}", others.empty() ? "" : ", ", share, device.name);
  }
  notes.add({.severity = Severity::doubtful,
             .line = line.number,
             .printed = figures[0].printed + " of peak bandwidth",
             .computed = fmt::format("{} is {} of {}, but the document names no GPU that ran; it "
                                     "would be {}",
                                     rate->printed, figures[0].printed, peak->printed,
                                     others.empty() ? "another share elsewhere" : others),
             .meaning = "a share of a GPU that is only an example says nothing of the one that ran",
             .tolerance = tolerance_of(figures[0]),
             .also = {peak_line}});
}

}  // namespace

void check_bandwidth(const Facts& facts, Notes& notes) {
  for (const Line& line : facts.document.lines) check_line(facts, line, notes);
}

void check_ridge(const Facts& facts, Notes& notes) {
  if (facts.gpus.empty()) return;
  for (const Line& line : facts.document.lines) {
    if (line.lower.find("compute-bound") == std::string::npos &&
        line.lower.find("compute bound") == std::string::npos) {
      continue;
    }
    for (const Figure& figure : facts.of(line.number)) {
      if (figure.unit != Unit::intensity || !figure.bounded) continue;
      std::string ridges;
      bool fits = false;
      for (const NamedGpu& gpu : facts.gpus) {
        Interval single{1e300, 0}, half{1e300, 0};
        for (const device::Device& model : gpu.models) {
          const double bytes = model.memory_bytes_per_s->value;
          const double f32 = model.f32_flops_per_s->value / bytes;
          const double f16 = model.f16_flops_per_s->value / bytes;
          single = {std::min(single.low, f32), std::max(single.high, f32)};
          half = {std::min(half.low, f16), std::max(half.high, f16)};
        }
        const Interval around{0.85 * figure.value, 1.15 * figure.value};
        fits = fits || around.meets(single) || around.meets(half);
        ridges += fmt::format("{}{}: {:.0f} to {:.0f} (f32), {:.0f} to {:.0f} (f16, dense)",
                              ridges.empty() ? "" : "; ", gpu.word, single.low, single.high,
                              half.low, half.high);
      }
      if (fits) {
        notes.held(line.number,
                   fmt::format("{} FLOP/byte is a ridge point: {}", show(figure.value), ridges));
        continue;
      }
      notes.add({.severity = Severity::doubtful,
                 .line = line.number,
                 .printed = "> " + figure.printed + " to be compute-bound",
                 .computed = "peak / bandwidth: " + ridges,
                 .meaning = "the threshold is no GPU's ridge point; it depends on device and "
                            "number format",
                 .tolerance = "15 %"});
    }
  }
}

}  // namespace wb::audit
