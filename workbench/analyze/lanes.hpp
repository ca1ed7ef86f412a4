// SPDX-License-Identifier: MIT
// Follows the 32 lanes of a warp through machine code, to find bank conflicts of shared memory: if
// an access's address follows from the thread index by integer arithmetic, the banks of its lanes
// are computed; else it is unknown. It stays beside ncu because nothing else decides this cause
// where counters are forbidden, and because ncu's rules only ever report a conflict: that there is
// none (rows are padded already) follows from the code alone
// (tests/unit/advise/diagnosis_test.cpp). Private to analyze; called by the reader of
// disassemblies.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace wb::analyze {

/// value(lane) = base + lanes[lane], with lanes[0] = 0. The base is a constant, or an unknown
/// multiple of `align`.
struct LaneValue {
  std::array<std::int64_t, 32> lanes{};
  std::optional<std::int64_t> base;
  std::int64_t align = 1;  ///< a power of two; for a known base the largest that divides it

  friend bool operator==(const LaneValue&, const LaneValue&) = default;
};
using Known = std::optional<LaneValue>;

inline constexpr std::int64_t k_most_align = std::int64_t{1} << 40;

/// The value where two control-flow paths join.
Known meet(const Known& a, const Known& b);

/// One instruction of a listing: "@!P0 LDS.64 R6, [R7+0x80]" at its address.
struct SassLine {
  std::int64_t address = 0;
  bool is_predicated = false;
  std::string_view opcode, operands;  ///< "LDS.64" and "R6, [R7+0x80]"
};

inline constexpr std::size_t k_registers = 256;
using LaneState = std::array<Known, k_registers>;  ///< by register

std::vector<std::string_view> operands_of(const SassLine& line);
/// Parses "0x3f" and "-0x1".
std::optional<std::int64_t> immediate(std::string_view operand);
/// The address of "[R2.X4+UR4+0x40]".
Known address_of(std::string_view operand, const LaneState& state);
void step(const SassLine& line, LaneState& state);

struct SharedBanks {
  /// Passes over the minimum for an access of that width -> number of accesses (LDS, STS) in the
  /// code.
  std::map<int, std::int64_t> ways;
  std::int64_t unknown = 0;  ///< accesses with unknown or inactive lanes
};

/// Assumes one-dimensional blocks of whole warps. In a kernel that reads threadIdx.y or z or jumps
/// to computed addresses, all accesses are unknown. Values are tracked through loops; a value with
/// several possible lane patterns is unknown.
SharedBanks shared_banks(const std::vector<SassLine>& code);

}  // namespace wb::analyze
