// SPDX-License-Identifier: MIT
// Shares of a peak: whose peak it is. Dense rates of the GPUs in device/gpu_table.cpp, f32 vector
// rates told from those of half precision, sparse ones from dense ones.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "audit/checks.hpp"

namespace wb::audit {
namespace {

constexpr double k_same_peak = 0.06;  ///< printed peaks are rounded: 30 for 30.3, 2000 for 2039

constexpr std::size_t k_most_shares = 200;
constexpr double k_above_all = 105;  ///< percent; a little above may be a clock's

enum class Kind { f32, half, sparse, memory };
struct Peak {
  const NamedGpu* gpu;
  const Device* model;
  Kind kind;
  double value;
};

std::string_view words(Kind kind) {
  switch (kind) {
    case Kind::f32:
      return "f32 vector rate";
    case Kind::half:
      return "dense f16/bf16 rate";
    case Kind::sparse:
      return "f16/bf16 rate with 2:4 sparsity";
    case Kind::memory:
      break;
  }
  return "memory bandwidth";
}

std::vector<Peak> peaks_of(const NamedGpu& gpu) {
  std::vector<Peak> peaks;
  for (const Device& model : gpu.models) {
    if (model.f32_flops_per_s) {
      peaks.push_back({&gpu, &model, Kind::f32, model.f32_flops_per_s->value});
    }
    if (model.f16_flops_per_s) {
      peaks.push_back({&gpu, &model, Kind::half, model.f16_flops_per_s->value});
      peaks.push_back({&gpu, &model, Kind::sparse, 2 * model.f16_flops_per_s->value});
    }
    if (model.memory_bytes_per_s) {
      peaks.push_back({&gpu, &model, Kind::memory, model.memory_bytes_per_s->value});
    }
  }
  return peaks;
}

bool is_near(double a, double b) {
  return std::abs(a - b) <= k_same_peak * b;
}

std::vector<Peak> matching(const std::vector<Peak>& peaks, const Figure& figure) {
  std::vector<Peak> found;
  for (const Peak& peak : peaks) {
    const bool memory = figure.unit == Unit::byte_rate;
    if ((peak.kind == Kind::memory) == memory && is_near(figure.value, peak.value)) {
      found.push_back(peak);
    }
  }
  return found;
}

bool has(const std::vector<Peak>& peaks, Kind kind) {
  return std::any_of(peaks.begin(), peaks.end(), [&](auto& peak) { return peak.kind == kind; });
}

/// What the document says of its number format: f32, half, or nothing.
enum class Precision { unsaid, f32, half, narrow };
Precision precision_of(const Document& document) {
  bool f32 = false, half = false, narrow = false;
  for (const Line& line : document.lines) {
    for (const std::string_view word : {"fp16", "f16", "bf16", "bfloat16", "float16"}) {
      half = half || has_word(line.lower, word);
    }
    for (const std::string_view word : {"fp8", "f8", "int8", "e4m3", "e5m2", "fp4", "nvfp4"}) {
      narrow = narrow || has_word(line.lower, word);
    }
    for (const std::string_view word : {"fp32", "f32", "float32"}) {
      f32 = f32 || has_word(line.lower, word);
    }
  }
  return narrow ? Precision::narrow
         : half ? Precision::half
         : f32  ? Precision::f32
                : Precision::unsaid;
}

bool speaks_of_peak(const std::string& lower) {
  return lower.find("peak") != std::string::npos || lower.find("theoretical") != std::string::npos;
}

/// The only GPU, or the one named on this line.
const NamedGpu* gpu_of(const Facts& facts, const Line& line) {
  for (const NamedGpu& gpu : facts.gpus) {
    if (has_word(line.plain, gpu.word)) return &gpu;
  }
  return facts.gpus.size() == 1 ? &facts.gpus.front() : nullptr;
}

struct Share {
  const Line* line;
  Figure percent, peak;
};

/// "88% of … peak (30 TFLOP/s)" in one line.
std::vector<Share> shares_in(const Facts& facts) {
  std::vector<Share> found;
  for (const Line& line : facts.document.lines) {
    if (!speaks_of_peak(line.lower) || found.size() >= k_most_shares) continue;
    const auto& figures = facts.of(line.number);
    for (std::size_t n = 0; n + 1 < figures.size(); ++n) {
      const Unit unit = figures[n + 1].unit;
      if (figures[n].unit == Unit::percent && !figures[n].is_range &&
          (unit == Unit::flop_rate || unit == Unit::byte_rate)) {
        found.push_back({&line, figures[n], figures[n + 1]});
      }
    }
  }
  return found;
}

/// The highest rate of a table's column that a share may be of.
std::optional<std::pair<int, Figure>> achieved(const Facts& facts, const Share& share) {
  std::optional<std::pair<int, Figure>> best;
  for (const TableFacts& table : facts.tables) {
    for (const std::size_t column : table.of(Role::flop_rate)) {
      for (const Row& row : table.table->rows) {
        const auto figure = table.figure(row, column);
        if (!figure || figure->unit != share.peak.unit) continue;
        const double percent = 100 * figure->value / share.peak.value;
        if (std::abs(percent - share.percent.value) > share.percent.step) continue;
        if (!best || figure->value > best->second.value) best = {row.line, *figure};
      }
    }
  }
  return best;
}

void judge_share(const Facts& facts, const Share& share, Notes& notes) {
  const NamedGpu* gpu = gpu_of(facts, *share.line);
  if (gpu == nullptr) {
    notes.add({.severity = Severity::unknown,
               .line = share.line->number,
               .printed = fmt::format("{} of {}", share.percent.printed, share.peak.printed),
               .computed = "no GPU is named on the line, and not exactly one in the document",
               .meaning = "whose peak this is cannot be told"});
    return;
  }
  const std::vector<Peak> own = matching(peaks_of(*gpu), share.peak);
  const auto done = achieved(facts, share);
  const double rate = done ? done->second.value : share.percent.value / 100 * share.peak.value;
  // The model whose peak was printed; the first where it is none's.
  const Device& model = own.empty() ? gpu->models.front() : *own.front().model;
  const double half = model.f16_flops_per_s->value;
  const std::string source =
      done ? fmt::format("line {}: {}", done->first, show(rate, share.peak.unit))
           : fmt::format("{} of {} is {}", share.percent.printed, share.peak.printed,
                         show(rate, share.peak.unit));
  Finding finding{.line = share.line->number,
                  .printed = fmt::format("{} of {}", share.percent.printed, share.peak.printed),
                  .tolerance = fmt::format("{:.0f} % between a printed peak and the table's",
                                           100 * k_same_peak)};
  if (done) finding.also = {done->first};
  const Precision precision = precision_of(facts.document);
  if (precision == Precision::narrow && share.peak.unit == Unit::flop_rate &&
      !has(own, Kind::half)) {
    finding.severity = Severity::unknown;
    finding.computed =
        fmt::format("the {} has {} in f16, dense", gpu->word, show(half, Unit::flop_rate));
    finding.meaning = "narrower formats have other peaks, which are not known here";
  } else if (has(own, Kind::sparse)) {
    finding.computed = fmt::format("{} is the {} of the {}; {} / {} = {:.0f} % of its dense rate",
                                   share.peak.printed, words(Kind::sparse), gpu->word, source,
                                   show(half, Unit::flop_rate), 100 * rate / half);
    finding.meaning = "dense work cannot reach a sparse peak: the share is told too low by half";
  } else if (has(own, Kind::f32) && !has(own, Kind::half) && precision != Precision::f32) {
    finding.severity = precision == Precision::half ? Severity::contradiction : Severity::doubtful;
    finding.computed =
        fmt::format("{} is the {} of the {}; {} / {} = {:.0f} % of its {}", share.peak.printed,
                    words(Kind::f32), gpu->word, source, show(half, Unit::flop_rate),
                    100 * rate / half, words(Kind::half));
    finding.meaning = precision == Precision::half
                          ? "half precision runs on the tensor cores: this is the wrong peak"
                          : "the number format is not said; in f16 or bf16, as attention runs, "
                            "this is the wrong peak";
  } else if (has(own, Kind::memory) || has(own, Kind::half) || has(own, Kind::f32)) {
    notes.held(share.line->number,
               fmt::format("{} is a peak of the {}", share.peak.printed, gpu->word));
    return;
  } else {
    const NamedGpu all{"any", 0, known_gpus()};
    const std::vector<Peak> others = matching(peaks_of(all), share.peak);
    finding.severity = others.empty() ? Severity::doubtful : Severity::contradiction;
    finding.computed =
        others.empty()
            ? fmt::format("the {} has {} (f32), {} (f16, dense)", gpu->word,
                          show(model.f32_flops_per_s->value, Unit::flop_rate),
                          show(half, Unit::flop_rate))
            : fmt::format("{} is the {} of the {}, not of the {}", share.peak.printed,
                          words(others.front().kind), others.front().model->name, gpu->word);
    finding.meaning =
        others.empty() ? "the peak is none of this GPU's" : "the peak is another GPU's";
  }
  notes.add(std::move(finding));
}

/// A rate above that of the memory may be a cache's.
bool is_about_caches(const Document& document, int line) {
  for (int near = std::max(1, line - 2); near <= line + 1; ++near) {
    if (near > static_cast<int>(document.lines.size())) break;
    const std::string& lower = document.at(near).lower;
    for (const std::string_view word : {"l1", "l2", "cache", "caches", "shared"}) {
      if (has_word(lower, word)) return true;
    }
  }
  return false;
}

/// A rate above every dense peak of the one GPU that is named.
void check_impossible(const Facts& facts, Notes& notes) {
  if (facts.gpus.size() != 1) return;
  const bool narrow = precision_of(facts.document) == Precision::narrow;
  double compute = 0, memory = 0;
  for (const Peak& peak : peaks_of(facts.gpus.front())) {
    if (peak.kind == Kind::memory)
      memory = std::max(memory, peak.value);
    else if (peak.kind != Kind::sparse)
      compute = std::max(compute, peak.value);
  }
  for (const Line& line : facts.document.lines) {
    if (speaks_of_peak(line.lower) || has_word(line.lower, "spec") ||
        has_word(line.lower, "sparse") || is_about_caches(facts.document, line.number)) {
      continue;
    }
    for (const Figure& figure : facts.of(line.number)) {
      const double most = figure.unit == Unit::flop_rate   ? (narrow ? 0 : compute)
                          : figure.unit == Unit::byte_rate ? memory
                                                           : 0;
      if (most == 0 || figure.value <= most * 1.02) continue;
      notes.add({.line = line.number,
                 .printed = figure.printed,
                 .computed = fmt::format("the {}'s dense peak is {}", facts.gpus.front().word,
                                         show(most, figure.unit)),
                 .meaning = "faster than the hardware: the time, the work or the bytes are wrong",
                 .tolerance = "2 %"});
    }
  }
}

/// "150% of peak", where nobody calls that odd.
void check_above(const Facts& facts, Notes& notes) {
  constexpr std::array<std::string_view, 4> k_odd{"anomal", "warning", "cannot", "impossible"};
  for (const Line& line : facts.document.lines) {
    const bool is_told = std::any_of(k_odd.begin(), k_odd.end(), [&](std::string_view word) {
      return line.lower.find(word) != std::string::npos;
    });
    for (const Figure& figure : facts.of(line.number)) {
      const std::size_t peak = line.lower.find("peak", figure.end);
      const bool is_share = figure.unit == Unit::percent && !figure.bounded &&
                            std::string_view(line.lower).substr(figure.end).starts_with(" of ") &&
                            peak < figure.end + 40;
      if (is_told || !is_share || figure.value <= k_above_all) continue;
      notes.add({.severity = Severity::doubtful,
                 .line = line.number,
                 .printed = figure.printed + " of a peak",
                 .computed = "100 % is all that a peak has",
                 .meaning = "the work, the time or the peak is wrong"});
    }
  }
}

}  // namespace

void check_peaks(const Facts& facts, Notes& notes) {
  for (const Share& share : shares_in(facts)) judge_share(facts, share, notes);
  check_impossible(facts, notes);
  check_above(facts, notes);
}

}  // namespace wb::audit
