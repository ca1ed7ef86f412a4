// SPDX-License-Identifier: MIT
// Checks for launches that no GPU accepts: a fourth grid index, too many threads, too large a grid,
// too much shared memory.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "audit/checks.hpp"
#include "core/ascii.hpp"
#include "core/json.hpp"

namespace wb::audit {
namespace {

constexpr double k_max_threads = 1024;    // per block; CUDA Programming Guide, compute capabilities
constexpr double k_max_warps_block = 32;  // 1024 / 32
constexpr double k_max_warps_sm = 64;     // highest limit of all compute capabilities
constexpr double k_max_grid_x = 2147483647;  // 2^31 - 1
constexpr double k_max_grid_yz = 65535;

/// The parts of the tuple "(a, b, c)" that begins at `open`.
std::vector<std::string> tuple_at(std::string_view plain, std::size_t open) {
  std::vector<std::string> parts;
  int depth = 0;
  std::string part;
  for (std::size_t at = open; at < plain.size(); ++at) {
    const char c = plain[at];
    if (c == '(' && ++depth == 1) continue;
    if (c == ')' && --depth == 0) {
      parts.push_back(trimmed(part));
      return parts;
    }
    if (c == ',' && depth == 1) {
      parts.push_back(trimmed(part));
      part.clear();
    } else {
      part += c;
    }
  }
  return {};
}

/// Whether the part is prose and not an expression: "dirty tracking", "vary n_blocks", a set of
/// values, but not "batch x heads".
bool is_prose(const std::string& part) {
  const std::string text = trimmed(part);
  if (text.find_first_of("{}?[]") != std::string::npos) return true;
  const bool letters = std::all_of(text.begin(), text.end(), [](char c) {
    return ascii::is_alnum(c) || c == ' ' || c == '-' || c == '_';
  });
  return letters && text.find(' ') != std::string::npos && text.find(" x ") == std::string::npos;
}

/// The tuples that follow `word`: "Grid: (1, 1, 2)", "dim3 block(32, 64)", "grid = (2, 3)".
std::vector<std::pair<std::size_t, std::vector<std::string>>> tuples_of(const Line& line,
                                                                        std::string_view word) {
  std::vector<std::pair<std::size_t, std::vector<std::string>>> found;
  for (auto at = find_word(line.lower, word); at; at = find_word(line.lower, word, *at + 1)) {
    // A search grid is a list of values and not a launch.
    const std::string before = trimmed(std::string_view(line.lower).substr(0, *at));
    if (before.ends_with("search") || before.ends_with("parameter") || before.ends_with("tuning")) {
      continue;
    }
    const std::size_t open = line.plain.find_first_not_of(" :=", *at + word.size());
    if (open == std::string::npos || line.plain[open] != '(') continue;
    auto parts = tuple_at(line.plain, open);
    // "Grid (cells, wide-char handling)" describes a screen and not a launch.
    if (!parts.empty() && std::none_of(parts.begin(), parts.end(), is_prose)) {
      found.emplace_back(open, std::move(parts));
    }
  }
  return found;
}

std::optional<double> whole_number(const std::string& text) {
  const auto figure = figure_at(text, 0);
  if (!figure || figure->end != text.size() || figure->unit != Unit::none || figure->is_range) {
    return std::nullopt;
  }
  return figure->value;
}

bool any_names(const Document& document, std::span<const std::string_view> words) {
  return std::any_of(document.lines.begin(), document.lines.end(), [&](const Line& line) {
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
      const std::size_t at = line.lower.find(word);
      return at != std::string::npos && (at == 0 || !ascii::is_alpha(line.lower[at - 1]));
    });
  });
}

/// Whether the document names a programming model whose grids have any number of dimensions.
bool names_other_model(const Document& document) {
  static constexpr std::array<std::string_view, 5> k_words{"pallas", "tpu", "mosaic", "npu",
                                                           "cerebras"};
  return any_names(document, k_words);
}

bool names_cuda(const Document& document) {
  static constexpr std::array<std::string_view, 9> k_words{
      "cuda", "hip", "blockidx", "threadidx", "dim3", "triton", "nvidia", "warp", "gpu"};
  return any_names(document, k_words);
}

bool names_launches(const Document& document) {
  static constexpr std::array<std::string_view, 3> k_words{"blockidx", "threadidx", "dim3"};
  return any_names(document, k_words);
}

/// Whether the parts are typical of launches: "(heads, batch, q_tiles, kv_tiles)".
bool is_launch(const std::vector<std::string>& parts) {
  return std::any_of(parts.begin(), parts.end(), [](const std::string& part) {
    const std::string lower = lower_of(part);
    return lower.find("head") != std::string::npos || lower.find("batch") != std::string::npos ||
           lower.find("tile") != std::string::npos || lower.find("block") != std::string::npos;
  });
}

class FourthIndex {
 public:
  FourthIndex(bool cuda, bool launches) : m_cuda(cuda), m_launches(launches) {}
  void see(const Line& line) {
    for (const std::string_view word : {"blockidx.w", "griddim.w", "threadidx.w", "blockdim.w"}) {
      const std::size_t at = line.lower.find(word);
      if (at != std::string::npos) add(line, line.plain.substr(at, word.size()));
    }
    // Grids in physics can have five dimensions, so the text must be about a launch.
    static constexpr std::array<std::string_view, 8> k_launches{
        "launch", "kernel", "cuda", "hip", "block", "thread", "dim3", "triton"};
    const bool launches =
        m_launches || std::any_of(k_launches.begin(), k_launches.end(), [&](auto word) {
          return line.lower.find(word) != std::string::npos;
        });
    for (const std::string_view word : {"4d grid", "5d grid", "4-d grid", "4d launch"}) {
      const std::size_t at = line.lower.find(word);
      if (m_cuda && launches && at != std::string::npos)
        add(line, line.plain.substr(at, word.size()));
    }
    for (const std::string_view word : {"grid", "dim3"}) {
      for (const auto& [open, parts] : tuples_of(line, word)) {
        if (parts.size() >= 4 && ((m_cuda && launches) || is_launch(parts))) {
          add(line, line.plain.substr(open, line.plain.find(')', open) + 1 - open));
        }
      }
    }
  }
  void tell(Notes& notes) const {
    if (m_lines.empty()) return;
    Finding finding{.line = m_lines.front(),
                    .printed = m_printed,
                    .computed = "a CUDA or HIP grid has three dimensions: x, y, z",
                    .meaning = "a fourth index does not exist: fold it into one of the three"};
    finding.also.assign(m_lines.begin() + 1, m_lines.end());
    notes.add(std::move(finding));
  }

 private:
  void add(const Line& line, std::string_view printed) {
    if (!m_lines.empty() && m_lines.back() == line.number) return;
    if (m_lines.empty()) m_printed = printed;
    m_lines.push_back(line.number);
  }
  bool m_cuda;      ///< the document is about CUDA or HIP
  bool m_launches;  ///< the document mentions launches
  std::vector<int> m_lines;
  std::string m_printed;
};

void over(int line, const std::string& printed, double value, double most, std::string_view what,
          Notes& notes, Severity severity = Severity::contradiction) {
  notes.add({.severity = severity,
             .line = line,
             .printed = printed,
             .computed = fmt::format("{} > {}", show(value), show(most)),
             .meaning = fmt::format("{}: such a launch fails", what)});
}

void check_threads(const Facts& facts, const Line& line, Notes& notes) {
  // "blocks (128, 64)" may be tiles of an output.
  const bool launch = line.lower.find("dim3") != std::string::npos ||
                      !tuples_of(line, "grid").empty() ||
                      line.lower.find("thread") != std::string::npos ||
                      line.lower.find("blockdim") != std::string::npos;
  for (const std::string_view word : {"block", "blocks", "blockdim", "threads"}) {
    if (!launch) break;
    for (const auto& [open, parts] : tuples_of(line, word)) {
      double threads = 1;
      // "Platform threads (10000): 2 s" is about CPU threads.
      bool numbers = parts.size() <= 3 && (word != "threads" || parts.size() > 1);
      for (const std::string& part : parts) {
        const auto number = whole_number(part);
        numbers = numbers && number;
        threads *= number.value_or(1);
      }
      if (numbers && threads > k_max_threads) {
        over(line.number, line.plain.substr(open, line.plain.find(')', open) + 1 - open), threads,
             k_max_threads, "no block has more than 1024 threads", notes);
      }
    }
  }
  static constexpr std::array<std::string_view, 5> k_each{
      "threads per block", "threads/block", "threads a block", "thread blocks of", "threads each"};
  const auto label = label_of(line.lower);
  const bool block_size = label && (label->label == "block size" || label->label == "threads");
  const bool constant = line.lower.find("threads_per_block") != std::string::npos ||
                        line.lower.find("block_threads") != std::string::npos;
  for (const Figure& figure : facts.of(line.number)) {
    if (figure.unit != Unit::none || figure.value != std::floor(figure.value)) continue;
    const std::string rest = trimmed(std::string_view(line.lower).substr(figure.end));
    const bool said = std::any_of(k_each.begin(), k_each.end(),
                                  [&](auto words) { return rest.starts_with(words); });
    const bool sized = block_size && rest.starts_with("threads");
    const std::string before = trimmed(line.lower.substr(0, figure.begin));
    const bool set = constant && before.ends_with("=") &&
                     (before.find("threads_per_block") != std::string::npos ||
                      before.find("block_threads") != std::string::npos);
    if ((said || sized || set) && figure.high > k_max_threads) {
      over(line.number, figure.printed + " threads", figure.high, k_max_threads,
           "no block has more than 1024 threads", notes);
    }
    if (rest.starts_with("warps per block") && figure.high > k_max_warps_block) {
      over(line.number, figure.printed + " warps per block", figure.high, k_max_warps_block,
           "1024 threads are 32 warps", notes);
    }
    if (rest.starts_with("warps per sm") && figure.high > k_max_warps_sm) {
      over(line.number, figure.printed + " warps per SM", figure.high, k_max_warps_sm,
           "no SM holds more than 64 warps", notes);
    }
  }
}

void check_grid(const Line& line, Notes& notes) {
  for (const auto& [open, parts] : tuples_of(line, "grid")) {
    if (parts.size() > 3) continue;
    double blocks = 1;
    bool numbers = true;
    for (std::size_t n = 0; n < parts.size(); ++n) {
      const auto number = whole_number(parts[n]);
      numbers = numbers && number;
      if (!number) continue;
      blocks *= *number;
      const double most = n == 0 ? k_max_grid_x : k_max_grid_yz;
      if (*number > most) {
        over(line.number, parts[n], *number, most,
             n == 0 ? "the grid's x has a limit" : "the grid's y and z end at 65535", notes);
      }
    }
    // "(1, 1, 2) = 2 blocks".
    const std::size_t close = line.plain.find(')', open);
    const std::string rest = trimmed(std::string_view(line.plain).substr(close + 1));
    const bool result = rest.starts_with("=") || rest.starts_with("->");
    if (!numbers || !result) continue;
    const std::string tail = trimmed(std::string_view(rest).substr(rest[0] == '=' ? 1 : 2));
    const auto told = figure_at(tail, 0);
    if (!told) continue;
    std::string_view unit = std::string_view(tail).substr(told->end);
    while (unit.starts_with(' ')) unit.remove_prefix(1);
    if (!lower_of(unit).starts_with("block")) continue;
    unit.remove_prefix(unit.starts_with("blocks") || unit.starts_with("Blocks") ? 6 : 5);
    // "= 3 blocks/SM x 132 SMs" and "= 3 blocks per SM" continue the arithmetic.
    const std::string more = trimmed(unit);
    if (!more.empty() && std::string_view("/x*+-").find(more[0]) != std::string_view::npos)
      continue;
    if (more.starts_with("per ") || more.starts_with("a ") || more.starts_with("on each")) continue;
    const std::string formula =
        fmt::format("{} = {}", line.plain.substr(open, close + 1 - open), show(blocks));
    if (told->value == blocks) {
      notes.held(line.number, formula + ", printed " + told->printed);
    } else {
      notes.add({.line = line.number,
                 .printed = told->printed + " blocks",
                 .computed = formula,
                 .meaning = "the number of blocks is not the product of the grid"});
    }
  }
}

/// Whether the line or a neighbouring one says itself that it is too large: "needs 1.1 MiB of
/// shared memory per block, more than any GPU has".
bool says_too_large(const Facts& facts, int number) {
  static constexpr std::array<std::string_view, 14> k_words{
      "cannot",   "can't",   "refused", "refuses", "exceed",      "exceeds",      "exceeding",
      "exceeded", "ceiling", "limit",   "fails",   "doesn't fit", "does not fit", "too large"};
  const int last = static_cast<int>(facts.document.lines.size());
  for (int at = std::max(1, number - 2); at <= std::min(last, number + 2); ++at) {
    const std::string& lower = facts.document.at(at).lower;
    if (std::any_of(k_words.begin(), k_words.end(),
                    [&](auto word) { return has_word(lower, word); })) {
      return true;
    }
  }
  return false;
}

void check_shared(const Facts& facts, const Line& line, Notes& notes) {
  if (line.lower.find("shared mem") == std::string::npos &&
      line.lower.find("smem") == std::string::npos) {
    return;
  }
  if (line.lower.find("per block") == std::string::npos &&
      line.lower.find("a block") == std::string::npos &&
      line.lower.find("/block") == std::string::npos) {
    return;
  }
  double most = 0;
  std::string whose;
  const bool one = facts.gpus.size() == 1;
  for (const device::Device& device : one ? facts.gpus.front().models : device::known_gpus()) {
    if (device.shared_bytes_per_unit && device.shared_bytes_per_unit->value > most) {
      most = device.shared_bytes_per_unit->value;
      whose = one ? "the most of a " + facts.gpus.front().word : "the most of any GPU known here";
    }
  }
  const auto& figures = facts.of(line.number);
  for (std::size_t n = 0; n < figures.size(); ++n) {
    const Figure& figure = figures[n];
    // Of several sizes on the line, the size per block stands next to the words "a block"; others
    // may belong to a cache.
    const std::size_t until = n + 1 < figures.size() ? figures[n + 1].begin : line.lower.size();
    const std::string_view behind =
        std::string_view(line.lower).substr(figure.end, until - figure.end);
    const bool is_its = figures.size() == 1 || behind.find("block") != std::string_view::npos;
    const bool again = behind.find(',') < behind.find("block");
    if (figure.unit == Unit::bytes && !figure.bounded && figure.high > most * 1.02 && is_its &&
        !again) {
      over(line.number, figure.printed + " of shared memory a block", figure.high, most, whose,
           notes,
           says_too_large(facts, line.number) ? Severity::doubtful : Severity::contradiction);
    }
  }
}

}  // namespace

void check_geometry(const Facts& facts, Notes& notes) {
  FourthIndex fourth(names_cuda(facts.document), names_launches(facts.document));
  const bool others = names_other_model(facts.document);
  for (const Line& line : facts.document.lines) {
    if (!others) fourth.see(line);
    check_threads(facts, line, notes);
    check_grid(line, notes);
    check_shared(facts, line, notes);
  }
  fourth.tell(notes);
}

}  // namespace wb::audit
