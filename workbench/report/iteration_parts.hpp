// SPDX-License-Identifier: MIT
// Private to report: parts that the session page shares with the iteration page: searches, compiled
// code and kernels that ran (iteration_parts.cpp), verdicts (correctness.cpp), and conditions of a
// GPU (environment.cpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/facts.hpp"

namespace wb::report {

/// The options, counts and times of a search; empty for an iteration without one.
std::string evaluation_section(const session::IterationView& iteration);

/// What ptxas reported about the iteration's own kernels; empty without a report.
std::string ptxas_table(const session::IterationView& iteration);
/// A profile_taken event of torch.profiler: "- kernels of one call of `torch_default` on decode:
/// …".
std::string kernel_names_line(const Facts& facts, const session::Fact& fact);
/// The same for all problems of a rival, as a list below its own line; empty when none was
/// profiled.
std::string rival_kernels(const Facts& facts, const RivalFacts& rival);
std::string verdict_table(const Facts& facts, const session::IterationView& iteration);
/// GPU conditions during the measurements of `rows`, below their tables: clocks, power,
/// temperature, reasons for lowered clocks, other processes. Empty when the log has none.
std::string conditions_words(const std::vector<const Compared*>& rows, std::string_view candidate);

}  // namespace wb::report
