// SPDX-License-Identifier: MIT
// Executes one machine instruction on the register state, as far as lane values are tracked; any
// other result becomes unknown. Private to analyze.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analyze/lane_values.hpp"

namespace wb::analyze {

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

}  // namespace wb::analyze
