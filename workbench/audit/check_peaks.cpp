// SPDX-License-Identifier: MIT
// Checks shares of a peak against the dense rates in device/gpu_table.cpp. It distinguishes f32
// vector rates from half-precision rates and dense from sparse ones.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "audit/checks.hpp"
#include "core/ascii.hpp"

namespace wb::audit {

using device::Device;

namespace {

constexpr double k_same_peak = 0.06;  ///< printed peaks are rounded: 30 for 30.3, 2000 for 2039

constexpr std::size_t k_most_shares = 200;
constexpr double k_above_all = 105;  ///< percent; slightly more may come from a higher clock

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

/// The number format that the document states.
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

/// The document's only GPU, or the one named on this line.
const NamedGpu* gpu_of(const Facts& facts, const Line& line) {
  for (const NamedGpu& gpu : facts.gpus) {
    if (has_word(line.plain, gpu.word)) return &gpu;
  }
  return facts.gpus.size() == 1 ? &facts.gpus.front() : nullptr;
}

struct Share {
  const Line* line;
  Figure percent, peak;
  std::optional<Figure> reached = {};  ///< the rate before the share, "200 GB/s (80 % of …)"
};

/// The shares of a peak that one line states completely: "88% of … peak (30 TFLOP/s)".
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
        if (n > 0 && figures[n - 1].unit == unit) found.back().reached = figures[n - 1];
      }
    }
  }
  return found;
}

/// The highest rate in a table's column that the share may refer to, with its line.
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
  // The model whose peak was printed, or the first if none matches.
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
  } else if (share.peak.unit == Unit::byte_rate) {
    // Boards with the same name differ in their memory, so another board's peak raises only a
    // doubt.
    const double memory = model.memory_bytes_per_s->value;
    const Figure& top = share.reached ? *share.reached : share.peak;
    const double reached = share.reached ? top.value : rate;
    finding.severity = Severity::doubtful;
    finding.computed =
        fmt::format("the {} has {} of memory bandwidth; {} / {} = {:.0f} %", gpu->word,
                    show(memory, Unit::byte_rate), show(reached, Unit::byte_rate),
                    show(memory, Unit::byte_rate), 100 * reached / memory);
    finding.meaning = "the peak is not this GPU's: the share is of another one";
  } else {
    const NamedGpu all{"any", 0, device::known_gpus()};
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

/// Whether the line is about caches, whose rates may exceed the memory's.
bool is_about_caches(const Document& document, int line) {
  for (int near = std::max(1, line - 2); near <= line + 1; ++near) {
    if (near > static_cast<int>(document.lines.size())) break;
    const std::string& lower = document.at(near).lower;
    for (const std::string_view word :
         {"l1", "l2", "l3", "cache", "caches", "cached", "shared", "register", "registers", "smem",
          "sram", "tmem", "lds", "on-chip", "onchip", "nvlink", "effective",
          "speedup-equivalent"}) {
      if (has_word(lower, word)) return true;
    }
  }
  return false;
}

/// Whether the text names GPUs with unknown peaks or several GPUs working together.
bool names_others(std::string_view lower) {
  static constexpr std::array<std::string_view, 44> k_others{
      "v100",   "t4",     "a10", "a10g",  "a30",   "a40",       "a6000",  "a5000",  "l40",
      "l40s",   "l20",    "h20", "h800",  "a800",  "gh200",     "gb200",  "gb300",  "b300",
      "b100",   "p100",   "k80", "mi100", "mi210", "mi250",     "mi250x", "mi300a", "mi325x",
      "mi350x", "mi355x", "rtx", "gtx",   "titan", "tpu",       "gaudi",  "orin",   "jetson",
      "ascend", "m1",     "m2",  "m3",    "m4",    "blackwell", "radeon", "arc"};
  return std::any_of(k_others.begin(), k_others.end(),
                     [&](auto word) { return has_word(lower, word); });
}
bool names_several(std::string_view lower) {
  static constexpr std::array<std::string_view, 13> k_several{
      "gpus", "devices", "nodes", "cluster", "aggregate", "aggregated", "multi-gpu",
      "2x",   "4x",      "8x",    "x8",      "x4",        "x2"};
  return std::any_of(k_several.begin(), k_several.end(),
                     [&](auto word) { return has_word(lower, word); });
}

/// Whether the line, or a line above it in its section, mentions several GPUs ("8-GPU",
/// "multi-node"), so that a rate may be their sum.
bool is_of_several(const Document& document, int number) {
  constexpr int k_lines = 24;
  const int section = document.at(number).section;
  for (int at = number; at >= std::max(1, number - k_lines); --at) {
    const Line& line = document.at(at);
    if (line.section != section) break;
    if (names_several(line.lower) || line.lower.find("multi-node") != std::string::npos)
      return true;
    for (auto gpu = line.lower.find("-gpu"); gpu != std::string::npos;
         gpu = line.lower.find("-gpu", gpu + 1)) {
      if (gpu > 0 && ascii::is_digit(line.lower[gpu - 1])) return true;
    }
  }
  return names_several(document.path_of(section));
}

/// Whether the text itself calls the figure odd or a forecast.
bool calls_odd(std::string_view lower) {
  static constexpr std::array<std::string_view, 16> k_odd{
      "implausib", "impossib", "unfaithful", "exceed", "artifact", "artefact",
      "invalid",   "bogus",    "bug",        "wrong",  "anomal",   "cannot",
      "warning",   "unrealis", "above the",  "virtual"};
  return std::any_of(k_odd.begin(), k_odd.end(),
                     [&](auto word) { return lower.find(word) != std::string::npos; });
}

/// The highest dense rates of a GPU.
struct Most {
  double compute = 0, memory = 0;
};
Most most_of(const NamedGpu& gpu) {
  Most most;
  for (const Peak& peak : peaks_of(gpu)) {
    double& kind = peak.kind == Kind::memory ? most.memory : most.compute;
    if (peak.kind != Kind::sparse) kind = std::max(kind, peak.value);
  }
  return most;
}

/// Whether it is clear what ran: exactly one GPU is named in the whole document.
bool is_sure(const Facts& facts) {
  return facts.gpus.size() == 1 &&
         std::none_of(facts.document.lines.begin(), facts.document.lines.end(),
                      [](const Line& line) { return names_others(line.lower); });
}

void add_impossible(const Facts& facts, int line, const Figure& figure, double most,
                    Severity severity, Notes& notes) {
  notes.add({.severity = severity,
             .line = line,
             .printed = full(figure),
             .computed = fmt::format("the {}'s dense peak is {}", facts.gpus.front().word,
                                     show(most, figure.unit)),
             .meaning = figure.unit == Unit::byte_rate && severity == Severity::doubtful
                            ? "faster than the memory: from a cache, or the time or the bytes are "
                              "wrong"
                            : "faster than the hardware: the time, the work or the bytes are wrong",
             .tolerance = "2 %"});
}

/// Reports a rate above every dense peak of the only named GPU.
void check_impossible(const Facts& facts, Notes& notes) {
  if (facts.gpus.size() != 1) return;
  const bool narrow = precision_of(facts.document) == Precision::narrow;
  const bool sure = is_sure(facts);
  const Most top = most_of(facts.gpus.front());
  for (const Line& line : facts.document.lines) {
    const bool named = has_word(line.plain, facts.gpus.front().word) && !names_others(line.lower);
    if ((!sure && !named) || line.in_table || speaks_of_peak(line.lower) ||
        has_word(line.lower, "spec") || has_word(line.lower, "sparse") ||
        has_word(line.lower, "sparsity") || calls_odd(line.lower) || names_several(line.lower) ||
        is_about_caches(facts.document, line.number)) {
      continue;
    }
    for (const Figure& figure : facts.of(line.number)) {
      const double most = figure.unit == Unit::flop_rate   ? (narrow ? 0 : top.compute)
                          : figure.unit == Unit::byte_rate ? top.memory
                                                           : 0;
      if (most == 0 || figure.bounded || figure.value <= most * 1.02) continue;
      // If the line does not name the GPU, a rate in bytes may be that of a link or a cache.
      const bool doubt =
          (figure.unit == Unit::byte_rate && !named) || is_of_several(facts.document, line.number);
      add_impossible(facts, line.number, figure, most,
                     doubt ? Severity::doubtful : Severity::contradiction, notes);
    }
  }
}

/// Whether the row is one of a kernel: it tells a size of its problem or a time below a second. A
/// step of a training takes longer, and its rate may be of many devices.
bool is_of_kernel(const TableFacts& table, const Row& row) {
  const std::vector<std::size_t> times = table.of(Role::time);
  const auto is_long = [&](std::size_t column) {
    const auto time = table.figure(row, column);
    return time && time->value >= 1;
  };
  if (std::any_of(times.begin(), times.end(), is_long)) return false;
  return table.has_shapes || !times.empty();
}

/// The same check for table columns of rates, which refer to the GPU that the document names.
void check_impossible_rows(const Facts& facts, Notes& notes) {
  if (!is_sure(facts) || precision_of(facts.document) == Precision::narrow) return;
  const Most top = most_of(facts.gpus.front());
  for (const TableFacts& table : facts.tables) {
    const std::string around =
        table.table->caption + " " + facts.document.path_of(table.table->section);
    if (speaks_of_peak(around) || names_several(around) || calls_odd(around)) continue;
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      const Column& facts_of = table.columns[column];
      const std::string header = lower_of(table.table->headers[column]);
      const bool rate = facts_of.role == Role::flop_rate;
      if ((!rate && facts_of.unit != Unit::byte_rate) || speaks_of_peak(header) ||
          names_several(header) || header.find("sparse") != std::string::npos ||
          header.find("cache") != std::string::npos || has_word(header, "l2")) {
        continue;
      }
      const double most = rate ? top.compute : top.memory;
      for (const Row& row : table.table->rows) {
        const auto figure = table.figure(row, column);
        const std::string& lower = facts.document.at(row.line).lower;
        if (!figure || figure->bounded || figure->value <= most * 1.02 || speaks_of_peak(lower) ||
            has_word(lower, "sparse") || has_word(lower, "int4") || calls_odd(lower) ||
            names_several(lower) ||
            (figure->unit != Unit::flop_rate && figure->unit != Unit::byte_rate) ||
            (!rate && is_about_caches(facts.document, row.line))) {
          continue;
        }
        const bool sure =
            rate && is_of_kernel(table, row) && !is_of_several(facts.document, row.line);
        add_impossible(facts, row.line, *figure, most,
                       sure ? Severity::contradiction : Severity::doubtful, notes);
      }
    }
  }
}

/// Reports "150% of peak" unless the text calls it odd.
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

void check_peak_columns(const Facts& facts, Notes& notes) {
  check_impossible_rows(facts, notes);
}

}  // namespace wb::audit
