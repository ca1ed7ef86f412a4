// SPDX-License-Identifier: MIT
// Shared by report and html: a session's cost, rounded once, so that every printed total is the sum
// of the printed parts. All pages take their cost figures from here.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "report/facts.hpp"

namespace wb::report {

/// A quantity as an integer number of steps of 10^-decimals; integers keep totals exact.
struct Steps {
  std::int64_t steps = 0;
};

struct CostCell {
  Steps quantity, usd;
  bool used = false;    ///< something was debited
  bool priced = true;   ///< every debit had a rate
  bool listed = false;  ///< priced by list prices, at least in part
};

struct CostRow {
  std::optional<std::int64_t> iteration;  ///< nothing: outside iterations
  std::array<CostCell, 3> cells;          ///< by CostItem
  Steps wall;                             ///< opening to closing event; seconds
  bool has_wall = false;
  std::vector<std::int64_t> events;
};

class CostGrid {
 public:
  explicit CostGrid(const Facts& facts);
  [[nodiscard]] const std::vector<CostRow>& rows() const { return m_rows; }
  [[nodiscard]] const CostRow& total() const { return m_total; }
  /// "12.3", a sum of the column's parts.
  [[nodiscard]] std::string quantity(session::CostItem item, const CostCell& cell) const;
  [[nodiscard]] std::string wall(const CostRow& row) const;
  /// "$0.0123", "$0.0123 (list price)", "rate not given", or "$0.0123 + device (rate not given)".
  [[nodiscard]] std::string usd(const CostRow& row) const;
  [[nodiscard]] std::string usd(const CostCell& cell) const;
  /// The sum that usd(row) prints, and its number of decimals.
  [[nodiscard]] double known_usd(const CostRow& row) const;
  [[nodiscard]] int usd_decimals() const { return m_usd_decimals; }
  /// "device 41.2 s, compiler 3.1 CPU s: rate not given", and turns that were never debited.
  [[nodiscard]] std::string spend() const;

 private:
  std::vector<CostRow> m_rows;
  CostRow m_total;
  session::UndebitedTurns m_undebited;
  std::array<int, 3> m_decimals{};
  int m_usd_decimals = 2, m_wall_decimals = 0;
};

/// Behind a sum of money: " (list price)" where list prices made it, else nothing.
std::string_view list_mark(bool is_listed);

/// What is priced: "compiler", "device", "tokens"; its title ("agent" for tokens); its unit.
std::string_view item_name(session::CostItem item);
std::string_view item_title(session::CostItem item);
std::string_view item_unit(session::CostItem item);

/// Cost by item with rates and by iteration, with totals that add up; and one iteration's items for
/// its page.
std::string cost_section(const Facts& facts, const CostGrid& grid);
std::string iteration_cost(const session::IterationView& iteration);

}  // namespace wb::report
