// SPDX-License-Identifier: MIT
// Shared by report, html and the engine's advice: a candidate's figures beside its opponents: which
// rival is SDPA on each problem (fastest_rival.cpp), and tables of one subject beside one opponent
// (comparison_table.cpp).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/facts.hpp"

namespace wb::report {

/// The comparison with the fastest standing rival on the problem under the plan, which pages call
/// SDPA. If a standing rival has no figure, that rival's comparison, since it may be the fastest.
/// nullptr: no rival stands.
const Compared* fastest_rival(const Facts& facts, const ComparisonIndex& index,
                              const std::string& problem, const std::string& plan);

struct Page;  // phrases.hpp
/// The fastest rivals of the recommended choice: the only one with its versions, or "the fastest
/// rival of each (`torch_cudnn`, …)".
std::string rival_words(const Page& page);
/// Those of the incumbent under all plans, as the heading of a column.
std::string sdpa_column(const Page& page);
/// The incumbent against SDPA under one plan: rival_cell() when one rival is the fastest on every
/// problem, else the geometric mean over problems.
std::string sdpa_cell(const Page& page, const std::string& plan);
/// True when a rival stands beside the incumbent under the objective's plan; with a figure.
bool is_rival_compared(const Page& page);
bool has_rival_figure(const Page& page);
/// One row per problem: the fastest rival and the candidate's result against it, and the geometric
/// mean. Empty with fewer than two rivals.
std::string sdpa_table(const Facts& facts, const ComparisonIndex& index,
                       std::string_view candidate);
/// One table per opponent, with what is missing and how to read it. `candidate` names the subject:
/// "incumbent"; `explain` adds explanations of terms. Empty without comparisons.
std::string comparison_tables(const Facts& facts, const ComparisonIndex& index,
                              std::string_view candidate, bool explain = true);

}  // namespace wb::report
