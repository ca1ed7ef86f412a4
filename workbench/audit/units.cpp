// SPDX-License-Identifier: MIT
// The table of units, and figures printed with them.
#include "audit/figure.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace wb::audit {
namespace {

// clang-format off
constexpr std::array<UnitWord, 60> k_units{{
    {"FLOPs/byte", Unit::intensity, 1}, {"FLOP/byte", Unit::intensity, 1},
    {"flops/byte", Unit::intensity, 1}, {"FLOP/B", Unit::intensity, 1},
    {"PFLOP/s", Unit::flop_rate, 1e15}, {"TFLOP/s", Unit::flop_rate, 1e12},
    {"GFLOP/s", Unit::flop_rate, 1e9}, {"MFLOP/s", Unit::flop_rate, 1e6},
    {"TFLOPs/s", Unit::flop_rate, 1e12}, {"GFLOPs/s", Unit::flop_rate, 1e9},
    {"PFLOPS", Unit::flop_rate, 1e15}, {"TFLOPS", Unit::flop_rate, 1e12},
    {"GFLOPS", Unit::flop_rate, 1e9}, {"MFLOPS", Unit::flop_rate, 1e6},
    {"TFLOPs", Unit::flops, 1e12}, {"TFLOP", Unit::flops, 1e12}, {"GFLOPs", Unit::flops, 1e9},
    {"GFLOP", Unit::flops, 1e9}, {"MFLOPs", Unit::flops, 1e6}, {"MFLOP", Unit::flops, 1e6},
    {"FLOPs", Unit::flops, 1}, {"FLOP", Unit::flops, 1}, {"TB/s", Unit::byte_rate, 1e12},
    {"GB/s", Unit::byte_rate, 1e9}, {"MB/s", Unit::byte_rate, 1e6},
    {"KB/s", Unit::byte_rate, 1e3}, {"TiB/s", Unit::byte_rate, 1099511627776.0},
    {"GiB/s", Unit::byte_rate, 1073741824.0}, {"TB", Unit::bytes, 1e12, true},
    {"GB", Unit::bytes, 1e9, true}, {"MB", Unit::bytes, 1e6, true},
    {"KB", Unit::bytes, 1e3, true}, {"kB", Unit::bytes, 1e3, true},
    {"TiB", Unit::bytes, 1099511627776.0}, {"GiB", Unit::bytes, 1073741824.0},
    {"MiB", Unit::bytes, 1048576.0}, {"KiB", Unit::bytes, 1024.0}, {"bytes", Unit::bytes, 1},
    {"byte", Unit::bytes, 1}, {"ns", Unit::time, 1e-9}, {"us", Unit::time, 1e-6},
    {"ms", Unit::time, 1e-3}, {"seconds", Unit::time, 1}, {"second", Unit::time, 1},
    {"secs", Unit::time, 1}, {"sec", Unit::time, 1}, {"s", Unit::time, 1},
    {"minutes", Unit::time, 60}, {"minute", Unit::time, 60}, {"mins", Unit::time, 60},
    {"min", Unit::time, 60}, {"hours", Unit::time, 3600}, {"hour", Unit::time, 3600},
    {"hrs", Unit::time, 3600}, {"hr", Unit::time, 3600}, {"h", Unit::time, 3600},
    {"%", Unit::percent, 1}, {"percent", Unit::percent, 1}, {"USD", Unit::money, 1},
    {"dollars", Unit::money, 1},
}};
// clang-format on

}  // namespace

std::span<const UnitWord> unit_words() {
  return k_units;
}

std::string show(double value) {
  if (value != 0 && (std::abs(value) >= 1e7 || std::abs(value) < 1e-4)) {
    return fmt::format("{:.3g}", value);
  }
  if (value == std::floor(value)) return fmt::format("{:.0f}", value);
  if (std::abs(value) >= 1000) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

std::string show(double value, Unit unit) {
  struct Step {
    double least, scale;
    std::string_view word;
  };
  const auto scaled = [&](std::initializer_list<Step> steps) {
    for (const Step& step : steps) {
      if (std::abs(value) >= step.least) {
        return fmt::format("{} {}", show(value / step.scale), step.word);
      }
    }
    return show(value);
  };
  switch (unit) {
    case Unit::time:
      return scaled({{5400, 3600, "h"},
                     {90, 60, "min"},
                     {1, 1, "s"},
                     {1e-3, 1e-3, "ms"},
                     {1e-6, 1e-6, "us"},
                     {0, 1e-9, "ns"}});
    case Unit::flops:
      return scaled(
          {{1e12, 1e12, "TFLOP"}, {1e9, 1e9, "GFLOP"}, {1e6, 1e6, "MFLOP"}, {0, 1, "FLOP"}});
    case Unit::flop_rate:
      return scaled({{1e12, 1e12, "TFLOP/s"}, {1e9, 1e9, "GFLOP/s"}, {0, 1, "FLOP/s"}});
    case Unit::bytes:
      return scaled({{1e9, 1e9, "GB"}, {1e6, 1e6, "MB"}, {1e3, 1e3, "KB"}, {0, 1, "bytes"}});
    case Unit::byte_rate:
      return scaled({{1e12, 1e12, "TB/s"}, {1e9, 1e9, "GB/s"}, {0, 1e6, "MB/s"}});
    case Unit::intensity:
      return show(value) + " FLOP/byte";
    case Unit::percent:
      return show(value) + " %";
    case Unit::factor:
      return show(value) + "x";
    case Unit::money:
      return fmt::format("${:.2f}", value);
    case Unit::money_rate:
      return fmt::format("${:.2f}/h", value);
    case Unit::none:
      break;
  }
  return show(value);
}

std::string show(const Interval& interval, Unit unit) {
  const std::string low = show(interval.low, unit), high = show(interval.high, unit);
  return low == high ? low : low + " to " + high;
}

std::string full(const Figure& figure) {
  if (figure.printed.empty() || figure.printed.back() < '0' || figure.printed.back() > '9')
    return figure.printed;
  for (const UnitWord& entry : k_units) {
    if (entry.unit == figure.unit && entry.scale == figure.scale && entry.unit != Unit::money) {
      return fmt::format("{} {}", figure.printed, entry.word);
    }
  }
  return figure.printed;
}

std::string tolerance_of(const Figure& figure) {
  std::string text = "±" + show(figure.step / figure.scale) + " (its last digit)";
  if (figure.approximate) text += " and 10 %, as it is called approximate";
  return text;
}

}  // namespace wb::audit
