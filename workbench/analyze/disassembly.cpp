// SPDX-License-Identifier: MIT
#include "analyze/disassembly.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "analyze/lanes.hpp"
#include "core/ascii.hpp"
#include "core/json.hpp"
#include "variant/ptxas_record.hpp"

namespace wb::analyze {

using measure::Finding;

namespace {

constexpr std::size_t k_most_kernels = 6;
constexpr int k_word_bits = 32, k_widest_bits = 128;

/// Parses "/*00e0*/  @!P0 LDG.E.128 R4, desc[UR4][R8.64] ; /* … */". Nothing for lines without an
/// instruction, such as continued encodings.
std::optional<SassLine> instruction_of(std::string_view line) {
  SassLine result;
  line = ascii::trimmed(line);
  if (!line.starts_with("/*")) return std::nullopt;
  const auto close = line.find("*/", 2);
  if (close == std::string_view::npos) return std::nullopt;
  std::from_chars(line.data() + 2, line.data() + close, result.address, 16);
  line = ascii::trimmed(line.substr(close + 2));
  if (line.starts_with("{")) line = ascii::trimmed(line.substr(1));
  if (line.starts_with("@")) {
    const auto end = line.find_first_of(" \t");
    if (end == std::string_view::npos) return std::nullopt;
    result.is_predicated = true;
    line = ascii::trimmed(line.substr(end));
  }
  const bool is_word = !line.empty() && line.front() >= 'A' && line.front() <= 'Z';
  if (!is_word) return std::nullopt;
  line = ascii::trimmed(line.substr(0, line.find(';')));
  const auto end = std::min(line.find_first_of(" \t"), line.size());
  result.opcode = line.substr(0, end);
  result.operands = ascii::trimmed(line.substr(end));
  return result;
}

void end_kernel(std::vector<SassKernel>& kernels, std::vector<SassLine>& code) {
  if (!kernels.empty()) {
    SharedBanks banks = shared_banks(code);
    kernels.back().shared_ways = std::move(banks.ways);
    kernels.back().shared_unknown = banks.unknown;
    kernels.back().sync = synchronization(code);
  }
  code.clear();
}

bool has_part(std::string_view opcode, std::string_view part) {
  const auto at = opcode.find(part);
  if (at == std::string_view::npos) return false;
  const auto end = at + part.size();
  return opcode[at - (at > 0 ? 1 : 0)] == '.' && (end == opcode.size() || opcode[end] == '.');
}

/// Of one thread; a word where the opcode names no width.
int bits_of(std::string_view opcode) {
  if (has_part(opcode, "128")) return k_widest_bits;
  if (has_part(opcode, "64")) return 64;
  if (has_part(opcode, "U16") || has_part(opcode, "S16")) return 16;
  if (has_part(opcode, "U8") || has_part(opcode, "S8")) return 8;
  return k_word_bits;
}

void count(SassKernel& kernel, std::string_view opcode) {
  const std::string_view base = opcode.substr(0, opcode.find('.'));
  const auto is = [base](auto... words) { return ((base == words) || ...); };
  ++kernel.instructions;
  if (is("LDG")) ++kernel.global_loads[bits_of(opcode)];
  if (is("STG")) ++kernel.global_stores[bits_of(opcode)];
  if (is("LDS")) ++kernel.shared_loads[bits_of(opcode)];
  if (is("STS")) ++kernel.shared_stores[bits_of(opcode)];
  if (is("LDL")) ++kernel.local_loads;
  if (is("STL")) ++kernel.local_stores;
  if (is("LDGSTS")) ++kernel.async_copies;
  if (is("UTMALDG", "UTMASTG", "UBLKCP")) ++kernel.bulk_copies;
  if (is("LDSM", "LDSMT")) ++kernel.matrix_loads;
  if (is("HMMA", "IMMA", "DMMA", "QMMA", "OMMA", "BMMA")) ++kernel.matrix;
  if (is("HGMMA", "IGMMA", "QGMMA", "BGMMA", "UTCHMMA", "UTCQMMA", "UTCIMMA", "UTCOMMA")) {
    ++kernel.warpgroup_matrix;
  }
  if (is("FFMA", "FFMA2", "HFMA2", "DFMA")) ++kernel.fma;
  if (is("RED", "REDG", "ATOM", "ATOMG")) ++kernel.atomics;
}

std::int64_t sum_of(const std::map<int, std::int64_t>& widths) {
  std::int64_t sum = 0;
  for (const auto& [bits, instructions] : widths) sum += instructions;
  return sum;
}

/// Bits per thread; 32 when the opcode names no width.
std::string width_words(const std::map<int, std::int64_t>& widths) {
  std::string words;
  for (auto width = widths.rbegin(); width != widths.rend(); ++width) {
    words += fmt::format("{}{} of {}{}", words.empty() ? "" : ", ", width->second, width->first,
                         words.empty() ? " bits" : "");
  }
  return words;
}

std::string product_words(const SassKernel& kernel) {
  std::string words;
  const auto say = [&](std::int64_t number, const char* what) {
    if (number > 0) words += fmt::format("{}{} {}", words.empty() ? "" : ", ", number, what);
  };
  say(kernel.warpgroup_matrix, "matrix instructions of a warpgroup");
  say(kernel.matrix, "matrix instructions of a warp");
  if (!words.empty()) return words;
  return kernel.fma > 0 ? fmt::format("no matrix instructions, {} FMA", kernel.fma)
                        : std::string("no matrix instructions and no FMA");
}

std::string load_words(const SassKernel& kernel) {
  std::string words;
  if (kernel.bulk_copies > 0) words += fmt::format("{} bulk copies (TMA), ", kernel.bulk_copies);
  if (kernel.async_copies > 0) words += fmt::format("{} async copies, ", kernel.async_copies);
  const std::int64_t loads = sum_of(kernel.global_loads);
  if (loads == 0) return words + "no plain global loads";
  return words + fmt::format("global loads {}", width_words(kernel.global_loads));
}

/// Empty when no access with known addresses has a conflict.
std::string bank_words(const SassKernel& kernel) {
  std::int64_t known = 0, conflicts = 0;
  int worst = 1;
  for (const auto& [ways, accesses] : kernel.shared_ways) {
    known += accesses;
    if (ways > 1) conflicts += accesses;
    worst = std::max(worst, ways);
  }
  if (conflicts == 0) return {};
  return fmt::format(
      "; shared memory: {} of {} accesses with known addresses conflict, {} ways at worst (in "
      "blocks of one dimension)",
      conflicts, known, worst);
}

Json widths_json(const std::map<int, std::int64_t>& widths) {
  Json json = Json::object();
  for (const auto& [bits, instructions] : widths) json[fmt::to_string(bits)] = instructions;
  return json;
}

Finding finding_of(const SassKernel& kernel) {
  Finding finding;
  finding.analysis = "sass";
  finding.statement =
      fmt::format("{}{}: {}; {}", kernel.kernel,
                  kernel.architecture.empty() ? "" : " (" + kernel.architecture + ")",
                  product_words(kernel), load_words(kernel));
  if (kernel.local_loads + kernel.local_stores > 0) {
    finding.statement += fmt::format(
        "; local memory: {} loads, {} stores (spills, or an array with a computed index)",
        kernel.local_loads, kernel.local_stores);
  }
  finding.statement += bank_words(kernel) + sync_words(kernel.sync);
  const std::int64_t loads = sum_of(kernel.global_loads);
  const auto widest = kernel.global_loads.find(k_widest_bits);
  finding.figures = {{"kernel", kernel.kernel},
                     {"instructions", kernel.instructions},
                     {"global_loads_by_bits", widths_json(kernel.global_loads)},
                     {"global_stores_by_bits", widths_json(kernel.global_stores)},
                     {"shared_loads_by_bits", widths_json(kernel.shared_loads)},
                     {"shared_stores_by_bits", widths_json(kernel.shared_stores)},
                     {"local_loads", kernel.local_loads},
                     {"local_stores", kernel.local_stores},
                     {"async_copies", kernel.async_copies},
                     {"bulk_copies", kernel.bulk_copies},
                     {"shared_accesses_by_ways", widths_json(kernel.shared_ways)},
                     {"shared_accesses_unknown", kernel.shared_unknown},
                     {"matrix_loads", kernel.matrix_loads},
                     {"matrix", kernel.matrix},
                     {"warpgroup_matrix", kernel.warpgroup_matrix},
                     {"fma", kernel.fma},
                     {"atomics", kernel.atomics},
                     {"barriers", kernel.sync.barriers},
                     {"barrier_verdict", barrier_verdict(kernel.sync)}};
  finding.figures["global_loads"] = loads;
  if (const auto& loop = kernel.sync.loop) {
    finding.figures["loop_instructions"] = loop->instructions;
    finding.figures["loop_products"] = loop->products;
    finding.figures["loop_barriers"] = loop->barriers;
    if (loop->copies_in_flight) finding.figures["copies_in_flight"] = *loop->copies_in_flight;
  }
  if (!kernel.shared_ways.empty()) {
    finding.figures["worst_shared_ways"] = kernel.shared_ways.rbegin()->first;
  }
  if (loads > 0) {
    const std::int64_t wide = widest == kernel.global_loads.end() ? 0 : widest->second;
    finding.figures["widest_load_frac"] = static_cast<double>(wide) / static_cast<double>(loads);
  }
  finding.unseen =
      "how often each instruction runs, and whether neighboring threads load "
      "neighboring addresses";
  if (!kernel.sync.is_followed) {
    finding.unseen += "; loops and their barriers: jumps go to places that the code does not name";
  } else if (kernel.sync.barriers > 0) {
    finding.unseen += "; how long threads wait at barriers, and waits on barriers in shared memory";
  }
  if (kernel.shared_unknown > 0) {
    finding.unseen += fmt::format(
        "; bank conflicts of {} accesses to shared memory, whose addresses "
        "the code does not give away",
        kernel.shared_unknown);
  }
  return finding;
}

}  // namespace

Result<std::vector<SassKernel>> read_sass(std::string_view text) {
  constexpr std::string_view k_function = "Function :", k_target = ".target";
  std::vector<SassKernel> kernels;
  std::string architecture;
  std::vector<SassLine> code;  // of the last kernel
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = ascii::trimmed(text.substr(at, end - at));
    at = end + 1;
    if (line.starts_with(k_target)) {
      architecture = ascii::trimmed(line.substr(k_target.size()));
    } else if (line.starts_with("code for ")) {
      architecture = ascii::trimmed(line.substr(9));
    } else if (line.starts_with(k_function)) {
      end_kernel(kernels, code);
      kernels.emplace_back();
      kernels.back().kernel = variant::kernel_name(ascii::trimmed(line.substr(k_function.size())));
      kernels.back().architecture = architecture;
    } else if (!kernels.empty()) {
      const auto instruction = instruction_of(line);
      if (!instruction) continue;
      count(kernels.back(), instruction->opcode);
      code.push_back(*instruction);
    }
  }
  end_kernel(kernels, code);
  std::erase_if(kernels, [](const SassKernel& kernel) { return kernel.instructions == 0; });
  if (!kernels.empty()) return kernels;
  return Error{ErrorCode::parse, "read the disassembly", "SASS",
               "it has no function with machine code",
               "give what `sdpa-wb show KERNEL --sass` or `cuobjdump --dump-sass` prints"};
}

std::vector<Finding> sass_findings(const std::vector<SassKernel>& kernels) {
  std::vector<const SassKernel*> order;
  for (const SassKernel& kernel : kernels) order.push_back(&kernel);
  std::stable_sort(order.begin(), order.end(), [](const SassKernel* a, const SassKernel* b) {
    return a->instructions > b->instructions;
  });
  std::vector<Finding> findings;
  for (const SassKernel* kernel : order) {
    if (findings.size() == k_most_kernels) break;
    findings.push_back(finding_of(*kernel));
  }
  if (order.size() > k_most_kernels) {
    findings.back().unseen +=
        fmt::format("; {} smaller kernels of the listing", order.size() - k_most_kernels);
  }
  return findings;
}

}  // namespace wb::analyze
