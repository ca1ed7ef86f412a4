// SPDX-License-Identifier: MIT
// A register's values over the lanes, and what one instruction does to them.
#include <algorithm>
#include <charconv>

#include "analyze/lanes.hpp"
#include "core/ascii.hpp"

namespace wb::analyze {
namespace {

constexpr std::int64_t k_most_lane = std::int64_t{1} << 31;

std::int64_t align_of(std::int64_t value) {
  return value == 0 ? k_most_align : std::min(k_most_align, value & -value);
}

LaneValue constant(std::int64_t value) {
  return {{}, value, align_of(value)};
}

/// Equal in all lanes, otherwise unknown.
LaneValue uniform() {
  return {{}, std::nullopt, 1};
}

/// threadIdx.x: a multiple of 32 plus the lane.
LaneValue lane_index() {
  LaneValue value{{}, std::nullopt, 32};
  for (std::size_t lane = 0; lane < value.lanes.size(); ++lane) {
    value.lanes[lane] = static_cast<std::int64_t>(lane);
  }
  return value;
}

Known checked(LaneValue value) {
  for (const std::int64_t lane : value.lanes) {
    if (lane > k_most_lane || lane < -k_most_lane) return std::nullopt;
  }
  if (value.base && (*value.base > k_most_lane || *value.base < -k_most_lane)) {
    value.base.reset();
    value.align = 1;
  }
  return value;
}

Known sum(const Known& a, const Known& b) {
  if (!a || !b) return std::nullopt;
  LaneValue value;
  for (std::size_t i = 0; i < value.lanes.size(); ++i) value.lanes[i] = a->lanes[i] + b->lanes[i];
  if (a->base && b->base) {
    value = {value.lanes, *a->base + *b->base, align_of(*a->base + *b->base)};
  } else {
    value.align = std::min(a->align, b->align);
  }
  return checked(value);
}

/// A product with a known factor.
Known product(const Known& a, std::int64_t factor) {
  if (!a || factor > k_most_lane || factor < -k_most_lane) return std::nullopt;
  LaneValue value;
  for (std::size_t i = 0; i < value.lanes.size(); ++i) value.lanes[i] = a->lanes[i] * factor;
  if (a->base) {
    value = {value.lanes, *a->base * factor, align_of(*a->base * factor)};
  } else {
    value.align = factor == 0 ? k_most_align : std::min(k_most_align, a->align * align_of(factor));
    if (factor == 0) value.base = 0;
  }
  return checked(value);
}

/// Applies `change` to each lane's value; `change` must not depend on bits above the lanes' own, so
/// that an unknown base stays separate. `base_after`: the base's alignment afterwards; 0: the base
/// is dropped.
template <typename Change>
Known changed(const Known& a, const Change& change, std::int64_t base_after) {
  if (!a) return std::nullopt;
  LaneValue value;
  std::array<std::int64_t, 32> whole{};
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const std::int64_t own = a->base.value_or(0) + a->lanes[i];
    if (own < 0 || (!a->base && own >= a->align)) return std::nullopt;
    whole[i] = change(own);
  }
  for (std::size_t i = 0; i < whole.size(); ++i) value.lanes[i] = whole[i] - whole[0];
  if (a->base || base_after == 0) {
    value.base = whole[0];
    value.align = align_of(whole[0]);
  } else {
    value.align = std::min(base_after, align_of(whole[0]));
  }
  return checked(value);
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> operands;
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    operands.push_back(ascii::trimmed(text.substr(0, comma)));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return operands;
}

std::optional<std::int64_t> hex_number(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  if (!text.starts_with("0x")) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return is_negative ? -value : value;
}

/// 12 for "R12" and "R12.reuse"; nothing for other words, including RZ.
std::optional<int> register_of(std::string_view text) {
  text = text.substr(0, text.find('.'));
  if (!text.starts_with('R') || text == "RZ") return std::nullopt;
  int number = 0;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole && number >= 0 && number < static_cast<int>(k_registers) ? std::optional(number)
                                                                           : std::nullopt;
}

bool is_predicate(std::string_view text) {
  if (text.starts_with('!')) text.remove_prefix(1);
  if (text.starts_with('U')) text.remove_prefix(1);
  return text.size() == 2 && text[0] == 'P' &&
         (text[1] == 'T' || (text[1] >= '0' && text[1] <= '9'));
}

Known value_of(std::string_view text, const LaneState& state) {
  const bool is_negative = text.starts_with('-');
  if (const auto number = hex_number(text)) return constant(*number);
  if (is_negative) text.remove_prefix(1);
  Known value;
  if (text.starts_with("RZ") || text.starts_with("URZ")) {
    value = constant(0);
  } else if (text.starts_with("UR") || text.starts_with("c[")) {
    value = uniform();
  } else if (const auto number = register_of(text)) {
    value = state[static_cast<std::size_t>(*number)];
  }
  return is_negative ? product(value, -1) : value;
}

std::optional<std::int64_t> whole(const Known& value) {
  if (!value || !value->base) return std::nullopt;
  const bool is_same = value->lanes == std::array<std::int64_t, 32>{};
  return is_same ? value->base : std::nullopt;
}

Known multiply_add(const Known& a, const Known& b, const Known& c) {
  if (const auto factor = whole(b)) return sum(product(a, *factor), c);
  if (const auto factor = whole(a)) return sum(product(b, *factor), c);
  return std::nullopt;
}

Known shifted_right(const Known& a, std::int64_t bits) {
  if (!a || bits < 0 || bits > 31) return std::nullopt;
  const std::int64_t unit = std::int64_t{1} << bits;
  if (!a->base && a->align < unit) return std::nullopt;
  return changed(
      a, [=](std::int64_t value) { return value >> bits; }, a->align / unit);
}

/// a & b, a | b and a ^ b with a constant; other tables of LOP3 are not tracked.
Known logic(const Known& a, const Known& b, std::int64_t table) {
  const auto mask = whole(b);
  if (!a || !mask || *mask < 0) return std::nullopt;
  switch (table) {
    case 0xc0:
      return changed(
          a, [&](std::int64_t value) { return value & *mask; }, *mask < a->align ? 0 : a->align);
    case 0xfc:
      return *mask < a->align || a->base
                 ? changed(
                       a, [&](std::int64_t value) { return value | *mask; }, a->align)
                 : std::nullopt;
    case 0x3c:
      return *mask < a->align || a->base
                 ? changed(
                       a, [&](std::int64_t value) { return value ^ *mask; }, a->align)
                 : std::nullopt;
    default:
      return std::nullopt;
  }
}

/// The value that a tracked instruction writes to its first register.
Known result_of(std::string_view opcode, const std::vector<std::string_view>& inputs,
                const LaneState& state) {
  const auto in = [&](std::size_t i) {
    return i < inputs.size() ? value_of(inputs[i], state) : Known(constant(0));
  };
  const auto shift = [&](std::size_t i) { return whole(in(i)).value_or(-1); };
  if (opcode == "S2R" || opcode == "S2R.32") {
    if (inputs.empty()) return std::nullopt;
    if (inputs[0] == "SR_TID.X" || inputs[0] == "SR_LANEID") return lane_index();
    const bool is_of_block = inputs[0].starts_with("SR_CTAID") || inputs[0] == "SR_CgaCtaId";
    return is_of_block ? Known(uniform()) : std::nullopt;
  }
  if (opcode == "MOV") return in(0);
  if (opcode == "IADD3" || opcode == "IADD" || opcode == "VIADD") {
    return sum(sum(in(0), in(1)), in(2));
  }
  const bool is_product = opcode == "IMAD" || opcode == "IMAD.SHL.U32" || opcode == "IMAD.IADD" ||
                          opcode == "IMAD.MOV.U32" || opcode == "IMAD.U32" || opcode == "IMAD.MOV";
  if (is_product) return multiply_add(in(0), in(1), in(2));
  if (opcode == "LEA" && shift(2) >= 0 && shift(2) < 31) {
    return sum(product(in(0), std::int64_t{1} << shift(2)), in(1));
  }
  if (opcode == "SHF.L.U32" && shift(1) >= 0 && shift(1) < 31) {
    return product(in(0), std::int64_t{1} << shift(1));
  }
  if (opcode == "SHF.R.U32.HI" || opcode == "SHF.R.S32.HI") return shifted_right(in(2), shift(1));
  if (opcode == "LOP3.LUT" && inputs.size() >= 4 && whole(in(2)) == 0) {
    return logic(in(0), in(1), hex_number(inputs[3]).value_or(-1));
  }
  return std::nullopt;
}

/// An upper bound of the registers that an instruction writes.
std::size_t width_of(std::string_view opcode) {
  static constexpr std::array<std::string_view, 22> k_single{
      "FADD", "FMUL", "FFMA", "FSEL", "FMNMX", "HFMA2", "HADD2", "HMUL2", "MUFU", "SEL", "PRMT",
      "POPC", "SHFL", "IMAD", "LOP3", "SHF",   "LEA",   "IADD3", "MOV",   "LDG",  "LDS", "LDC"};
  if (opcode.find("GMMA") != std::string_view::npos || opcode.starts_with("LDT")) {
    return k_registers;  // of a whole warpgroup
  }
  const bool is_wide = opcode.find("128") != std::string_view::npos;
  const bool is_double =
      opcode.find("64") != std::string_view::npos || opcode.find("WIDE") != std::string_view::npos;
  const std::string_view base = opcode.substr(0, opcode.find('.'));
  const bool is_single = std::find(k_single.begin(), k_single.end(), base) != k_single.end();
  if (is_wide || !is_single) return 4;
  return is_double ? 2 : 1;
}

}  // namespace

Known meet(const Known& a, const Known& b) {
  if (!a || !b || a->lanes != b->lanes) return std::nullopt;
  if (a->base == b->base) return a->align < b->align ? a : b;
  return LaneValue{a->lanes, std::nullopt, std::min(a->align, b->align)};
}

std::vector<std::string_view> operands_of(const SassLine& line) {
  return split(line.operands);
}

std::optional<std::int64_t> immediate(std::string_view operand) {
  return hex_number(operand);
}

void step(const SassLine& line, LaneState& state) {
  if (line.opcode.starts_with("CALL")) return state.fill(std::nullopt);
  if (line.opcode.find("SETP") != std::string_view::npos) return;  // it writes predicates only
  std::vector<std::string_view> operands = split(line.operands);
  std::erase_if(operands, is_predicate);
  if (operands.empty()) return;
  const auto to = register_of(operands.front());
  if (!to) return;
  const auto first = static_cast<std::size_t>(*to);
  const std::vector<std::string_view> inputs(operands.begin() + 1, operands.end());
  Known result = result_of(line.opcode, inputs, state);
  if (result) {
    state[first] = line.is_predicated ? meet(state[first], result) : result;
    return;
  }
  const std::size_t end = std::min(first + width_of(line.opcode), state.size());
  for (std::size_t i = first; i < end; ++i) state[i].reset();
}

Known address_of(std::string_view text, const LaneState& state) {
  if (!text.starts_with('[') || !text.ends_with(']')) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  Known address = constant(0);
  while (!text.empty()) {
    const auto plus = std::min(text.find('+'), text.size());
    const std::string_view part = ascii::trimmed(text.substr(0, plus));
    Known value = value_of(part, state);
    const auto scale = part.find(".X");
    if (scale != std::string_view::npos) {
      const std::string_view factor = part.substr(scale + 2);
      value = product(value, factor == "4" ? 4 : factor == "8" ? 8 : factor == "16" ? 16 : 0);
      if (factor != "4" && factor != "8" && factor != "16") value.reset();
    }
    address = sum(address, value);
    text.remove_prefix(std::min(plus + 1, text.size()));
  }
  return address;
}

}  // namespace wb::analyze
