// SPDX-License-Identifier: MIT
// The ledger: a session's cost, folded from cost_debited events. A missing rate gives `null`, never
// $0. Used by the engine (budget gate), report and status.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "core/error.hpp"
#include "core/json_fwd.hpp"

namespace wb::session {

enum class CostItem { compile_cpu, device, tokens };
std::string_view to_string(CostItem value);
std::optional<CostItem> parse_cost_item(std::string_view word);
/// The unit of this item's quantities: "s" or "tokens".
std::string_view unit_of(CostItem item);

struct Rates {
  std::optional<double> compile_cpu_usd_per_hour, device_usd_per_hour, token_usd_per_million;
};
Json to_json(const Rates& rates);
/// A missing or null rate means "not given". Errors: invalid (negative, not a number, unknown).
Result<Rates> rates_from_json(const Json& json);

/// The price of a quantity (seconds or tokens); nothing when its rate was not given or the quantity
/// is negative or not finite.
std::optional<double> price_usd(const Rates& rates, CostItem item, double quantity);

/// The word of `priced_by` in a cost_debited whose price is a list price.
inline constexpr std::string_view k_priced_by_list = "list_price";

struct CostLine {
  double quantity = 0;        ///< seconds or tokens
  std::optional<double> usd;  ///< nothing once a debit without a rate was added
  std::int64_t debits = 0;
  bool is_listed = false;  ///< by list prices, at least in part
};

struct Ledger {
  std::map<CostItem, CostLine> items;
  void debit(CostItem item, double quantity, std::optional<double> usd, bool is_listed = false);
  /// The sum of all prices; `complete` is false when an item has none.
  struct Total {
    double usd = 0;
    bool complete = true;
    bool is_listed = false;  ///< by list prices, at least in part
  };
  [[nodiscard]] Total total() const;
  /// Seconds or tokens; 0 without a debit.
  [[nodiscard]] double quantity(CostItem item) const;
};
/// {"items": {word: {quantity, unit, usd, debits}}, "total_usd", "complete"}. An unknown price is
/// null, and so is the total when no debited item has a price. What list prices made has also
/// "list_price": true.
Json to_json(const Ledger& ledger);

}  // namespace wb::session
