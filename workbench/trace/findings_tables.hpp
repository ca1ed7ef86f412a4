// SPDX-License-Identifier: MIT
// Private to trace: the tables of the findings page: its sections that are only tables, the cells
// and rows of all, and the text of figures that may be unknown. Names from a profile are quoted and
// cut, so that they cannot break a table.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "core/json_fwd.hpp"
#include "core/text.hpp"

namespace wb::trace {

namespace markdown {

using wb::markdown::head;
using wb::markdown::row;

/// Escapes bars.
std::string cell(std::string text);
std::string name_cell(const std::string& name, std::size_t max_bytes = 80);
/// "not known" when the value is no number (no string).
std::string number(const Json& value, const char* form = "{:.2f}");
std::string percent(const Json& value);
std::string word(const Json& value);
}  // namespace markdown

/// The profiler's times of one call of every operation, on the GPU and on the host.
std::string call_section(const Json& metrics);
/// Every kernel of every operation; for paged attention also the kernels' shares of the whole, with
/// flags.
std::string kernel_section(const Json& metrics);
/// Sizes, heads and tokens of every operation.
std::string workload_section(const Json& metrics);

}  // namespace wb::trace
