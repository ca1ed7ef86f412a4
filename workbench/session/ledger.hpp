// SPDX-License-Identifier: MIT
// The ledger: what a session cost, folded from cost_debited events. A missing rate is `null`, never
// $0 by silence. Who calls: the engine (budget gate), report, status.
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
/// "s" or "tokens": what a quantity of this item counts.
std::string_view unit_of(CostItem item);

struct Rates {
  std::optional<double> compile_cpu_usd_per_hour, device_usd_per_hour, token_usd_per_million;
};
Json to_json(const Rates& rates);
/// A rate that is missing or null was not given. Errors: invalid (negative, not a number, unknown).
Result<Rates> rates_from_json(const Json& json);

/// The price of a quantity (seconds or tokens), or nothing when its rate was not given or the
/// quantity is negative or not finite.
std::optional<double> price_usd(const Rates& rates, CostItem item, double quantity);

struct CostLine {
  double quantity = 0;        ///< seconds or tokens
  std::optional<double> usd;  ///< nothing as soon as one debit had no rate
  std::int64_t debits = 0;
};

struct Ledger {
  std::map<CostItem, CostLine> items;
  void debit(CostItem item, double quantity, std::optional<double> usd);
  /// The sum of what has a rate; `complete` is false when some item has none.
  struct Total {
    double usd = 0;
    bool complete = true;
  };
  [[nodiscard]] Total total() const;
};
/// {"items": {word: {quantity, unit, usd, debits}}, "total_usd", "complete"}; an unknown price is
/// null, and so is the total when no item that was debited has a price.
Json to_json(const Ledger& ledger);

}  // namespace wb::session
