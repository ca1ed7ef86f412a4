// SPDX-License-Identifier: MIT
// Single cells of tables of measured times: units in headers, sizes, numbers as people and Python
// write them. Private to analyze.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace wb::analyze {

struct HeaderCell {
  std::string name;    ///< in small letters, without the unit
  double unit_us = 0;  ///< microseconds of 1; 0: the header names no unit of time
};
/// "Ours (ms)", "time_us", "PyTorch [us]"; a rate such as "GB/s" is no time.
HeaderCell read_header_cell(std::string_view text);

/// The key of problem texts that a column's header stands for ("batch" -> "B"), "problem" for one
/// of whole texts, empty for others.
std::string size_token(std::string_view header);

struct Token {
  std::string key, value;  ///< "B" and "4"; "dtype" and "f16"
};
/// Words of "B=4,H=8,S=128 f16", apart at spaces and commas; what is no word of a problem is kept,
/// so that reading the problem names it.
std::vector<Token> problem_tokens(std::string_view text);
/// "Hq=8" as parse_problem() takes it; numbers of Python ("8.0", np.int64(8)) become whole numbers.
/// Errors: invalid (a size that is no whole number).
Result<std::string> problem_word(const Token& token);

/// A positive finite time: a number, np.float64(…) or one with its own unit ("0.5 ms"), in
/// microseconds. Nothing for anything else, "1,5" (is it 1.5 or 15?) among it.
std::optional<double> time_of_cell(std::string_view text, double unit_us);

}  // namespace wb::analyze
