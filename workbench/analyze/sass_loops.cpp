// SPDX-License-Identifier: MIT
#include "analyze/disassembly.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "analyze/lanes.hpp"

namespace wb::analyze {
namespace {

/// For a tile of K and one of V loaded and read by the whole block: one barrier before each is
/// read, and one before each is overwritten. Multi-buffered tiles need fewer.
constexpr std::int64_t k_barriers_of_a_step = 4;
/// Inverse share of the products inside loops: at least a quarter.
constexpr std::int64_t k_loop_share = 4;

std::string_view base_of(const SassLine& line) {
  return line.opcode.substr(0, line.opcode.find('.'));
}

bool is_barrier(const SassLine& line) {
  return line.opcode.starts_with("BAR.SYNC") || line.opcode.starts_with("BAR.RED");
}

bool is_matrix(const SassLine& line) {
  const std::string_view base = base_of(line);
  return base.ends_with("MMA") && base.size() > 3;  // HMMA, HGMMA, QMMA, UTCHMMA …
}

bool is_multiply_add(const SassLine& line) {
  const std::string_view base = base_of(line);
  return base == "FFMA" || base == "FFMA2" || base == "HFMA2" || base == "DFMA";
}

/// "DEPBAR.LE SB0, 0x1": how many groups of copies may still be in flight.
std::optional<std::int64_t> copies_left_by(const SassLine& line) {
  if (!line.opcode.starts_with("DEPBAR.LE")) return std::nullopt;
  const auto operands = operands_of(line);
  if (operands.size() < 2 || operands.front() != "SB0") return std::nullopt;
  return immediate(operands[1]);
}

struct Range {
  std::size_t begin = 0, end = 0;  ///< the last instruction jumps back
};

/// Loops by their backward jumps. Several jumps to one target form one loop.
std::optional<std::vector<Range>> loops_of(const std::vector<SassLine>& code) {
  std::map<std::int64_t, std::size_t> place;
  for (std::size_t i = 0; i < code.size(); ++i) place[code[i].address] = i;
  std::map<std::size_t, std::size_t> ends;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const std::string_view base = base_of(code[i]);
    if (base == "BRX" || base == "JMX" || base == "JMP" || base == "BRXU") return std::nullopt;
    if (base != "BRA") continue;
    const auto operands = operands_of(code[i]);
    const auto target = operands.empty() ? std::nullopt : immediate(operands.back());
    if (!target || !place.contains(*target)) return std::nullopt;
    const std::size_t begin = place[*target];
    if (begin < i)
      ends[begin] = std::max(ends[begin], i);  // a jump to itself is the end of the code
  }
  std::vector<Range> loops;
  for (const auto& [begin, end] : ends) loops.push_back({begin, end});
  return loops;
}

template <class IsProduct>
SassSync::Loop counted(const std::vector<SassLine>& code, Range range, IsProduct is_product) {
  SassSync::Loop loop;
  loop.instructions = static_cast<std::int64_t>(range.end - range.begin + 1);
  for (std::size_t i = range.begin; i <= range.end; ++i) {
    if (is_barrier(code[i])) ++loop.barriers;
    if (is_product(code[i])) ++loop.products;
    if (const auto left = copies_left_by(code[i])) {
      ++loop.copy_waits;
      loop.copies_in_flight = std::max(loop.copies_in_flight.value_or(0), *left);
    }
  }
  return loop;
}

bool synchronizes(const SassSync::Loop& loop) {
  return loop.barriers + loop.copy_waits > 0;
}

}  // namespace

SassSync synchronization(const std::vector<SassLine>& code) {
  SassSync sync;
  sync.barriers = std::count_if(code.begin(), code.end(), is_barrier);
  const bool has_matrix = std::any_of(code.begin(), code.end(), is_matrix);
  const auto is_product = has_matrix ? is_matrix : is_multiply_add;
  sync.products = std::count_if(code.begin(), code.end(), is_product);
  const auto loops = loops_of(code);
  sync.is_followed = loops.has_value();
  if (!loops || sync.products == 0) return sync;
  std::vector<bool> in_loop(code.size());
  for (const Range& range : *loops) {
    std::fill(in_loop.begin() + static_cast<std::ptrdiff_t>(range.begin),
              in_loop.begin() + static_cast<std::ptrdiff_t>(range.end) + 1, true);
  }
  std::int64_t looped =
      0;  // work outside loops, such as the last division, does not iterate over keys
  for (std::size_t i = 0; i < code.size(); ++i) looped += in_loop[i] && is_product(code[i]) ? 1 : 0;
  if (looped == 0) return sync;
  for (const Range& range : *loops) {
    const SassSync::Loop loop = counted(code, range, is_product);
    if (loop.products * k_loop_share < looped) continue;
    const bool is_better = !sync.loop || (synchronizes(loop) != synchronizes(*sync.loop)
                                              ? synchronizes(loop)
                                              : loop.instructions < sync.loop->instructions);
    if (is_better) sync.loop = loop;
  }
  return sync;
}

std::string barrier_verdict(const SassSync& sync) {
  if (sync.barriers == 0) return "none";
  if (!sync.is_followed || !sync.loop) return "unknown";
  if (sync.loop->barriers == 0) return "none";
  return sync.loop->barriers <= k_barriers_of_a_step ? "few" : "many";
}

std::string sync_words(const SassSync& sync) {
  if (!sync.loop) {
    return sync.barriers == 0
               ? std::string()
               : fmt::format("; {} barriers, in no loop of products that can be seen",
                             sync.barriers);
  }
  const SassSync::Loop& loop = *sync.loop;
  std::string words;
  if (sync.barriers > 0) {
    words += fmt::format("; {} of {} barriers in the loop of products ({} instructions)",
                         loop.barriers, sync.barriers, loop.instructions);
    if (barrier_verdict(sync) == "many") {
      words +=
          fmt::format(", more than the {} that tiles of K and V loaded by the whole block need",
                      k_barriers_of_a_step);
    }
  }
  if (loop.copies_in_flight) {
    words += *loop.copies_in_flight == 0
                 ? std::string("; that loop waits for all of its async copies: none overlaps it")
                 : fmt::format("; that loop leaves {} group{} of async copies in flight",
                               *loop.copies_in_flight, *loop.copies_in_flight == 1 ? "" : "s");
  }
  return words;
}

}  // namespace wb::analyze
