// SPDX-License-Identifier: MIT
// The table of checks: each is a pure function from a document's facts to notes, with what its
// findings may be called at most. To add one, write it in its family's file, declare it here and
// add a row in checks.cpp.
#pragma once

#include <span>
#include <string_view>

#include "audit/facts.hpp"
#include "audit/finding.hpp"

namespace wb::audit {

/// What the findings of a check may be called at most, by where its operands stand.
enum class Basis {
  figures,         ///< all in one table or one equation: a contradiction
  kernel_figures,  ///< the same, but only in a report about kernels on a device
  words            ///< in prose, or in several places: doubtful
};

/// Two rows may share a name: parts of one check whose operands stand in different places.
struct Check {
  std::string_view name;  ///< frozen word
  Basis basis;
  std::string_view doc;  ///< one line: what it recomputes
  void (*run)(const Facts&, Notes&);
  std::string_view reading = {};  ///< what else its figures may mean; empty for Basis::figures
};
std::span<const Check> all_checks();

/// True when the text has enough terms of device kernels to be about them.
bool is_about_kernels(const Document& document);

/// Turns contradictions that the basis of their check does not allow into doubtful findings, with
/// the other reading as the reason.
void hold_to_basis(const Check& check, bool about_kernels, std::span<Finding> findings);

// Sums (check_table_totals.cpp, check_list_totals.cpp, check_repeated.cpp)
void check_table_totals(const Facts& facts, Notes& notes);
/// Rows called mean or average (check_table_means.cpp): a part of check_table_totals().
void check_table_means(const TableFacts& table, Notes& notes);
void check_bracket_totals(const Facts& facts, Notes& notes);
void check_list_totals(const Facts& facts, Notes& notes);
void check_repeated_figures(const Facts& facts, Notes& notes);
// Written arithmetic (check_arithmetic.cpp), changes and steps (check_changes.cpp)
void check_arithmetic(const Facts& facts, Notes& notes);
void check_intensities(const Facts& facts, Notes& notes);
void check_changes(const Facts& facts, Notes& notes);
void check_projections(const Facts& facts, Notes& notes);
void check_stages(const Facts& facts, Notes& notes);
// Ratios (check_ratio_columns.cpp, check_ratios.cpp, check_intervals.cpp, check_quantiles.cpp)
void check_ratio_columns(const Facts& facts, Notes& notes);
void check_quantiles(const Facts& facts, Notes& notes);
void check_intervals(const Facts& facts, Notes& notes);
void check_slowdown_claims(const Facts& facts, Notes& notes);
// Rates (check_throughput.cpp)
void check_throughput(const Facts& facts, Notes& notes);
void check_listed_rates(const Facts& facts, Notes& notes);
void check_confounding(const Facts& facts, Notes& notes);
// Peaks (check_peaks.cpp, check_bandwidth.cpp)
void check_peaks(const Facts& facts, Notes& notes);
void check_peak_columns(const Facts& facts, Notes& notes);
void check_bandwidth(const Facts& facts, Notes& notes);
void check_ridge(const Facts& facts, Notes& notes);
// Scaling (check_scaling.cpp, check_scaling_claims.cpp)
void check_scaling(const Facts& facts, Notes& notes);
void check_scaling_claims(const Facts& facts, Notes& notes);
void check_expected_columns(const Facts& facts, Notes& notes);
void check_references(const Facts& facts, Notes& notes);
// Launches and caches (check_geometry.cpp, check_blocks.cpp)
void check_geometry(const Facts& facts, Notes& notes);
void check_block_counts(const Facts& facts, Notes& notes);
void check_caches(const Facts& facts, Notes& notes);
// Words against figures (check_counts.cpp, check_claims.cpp)
void check_counts(const Facts& facts, Notes& notes);
/// "5 of 6 tests pass" beside the only table of its section with a column of passes: a part of
/// check_counts().
void check_passes(const Facts& facts, Notes& notes);
void check_exactness(const Facts& facts, Notes& notes);
void check_superlatives(const Facts& facts, Notes& notes);
void check_statements(const Facts& facts, Notes& notes);
void check_advice(const Facts& facts, Notes& notes);
// Findings about the attention of a profile (check_principles.cpp)
void check_principles(const Facts& facts, Notes& notes);

}  // namespace wb::audit
