// SPDX-License-Identifier: MIT
// List prices: what an hour of a GPU or of a CPU core costs in public, each with source and date
// (kernels/list_prices.json, which is built in). They price what a session names no rate for, and
// whatever they price says so.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "session/ledger.hpp"

namespace wb::session {

struct ListPrice {
  std::string of;  ///< "NVIDIA H200", "16 CPU cores"
  double usd_per_hour = 0;
  std::string source, date;  ///< the seller's page, and when its price was read
};

struct PriceTable {
  struct Gpu {
    std::vector<std::string> words;  ///< of the driver's name, in any case
    ListPrice price;
  };
  ListPrice cpu_hour;  ///< of one core
  std::vector<Gpu> gpu_hours;
};
/// Errors: parse; invalid (a missing, unknown or wrong member, a price that is not positive);
/// too_new.
Result<PriceTable> parse_price_table(std::string_view text);
const PriceTable& shipped_prices();

/// `device` as in environment_recorded. A CPU costs its cores; a slice of a GPU, a laptop's and an
/// unknown one have no price.
std::optional<ListPrice> price_of_device(const PriceTable& table, const Json& device);

/// Member `list_prices` of session_opened: {"device", "compile_cpu"}, each {of, usd_per_hour,
/// source, date} or null.
Json list_prices_json(const PriceTable& table, const Json& device);

/// What a session's hours cost. A price is set where the rate of its item comes from it.
struct Prices {
  Rates rates;
  std::optional<ListPrice> device, compile_cpu;
  [[nodiscard]] bool is_listed(CostItem item) const;
  /// The ledger with a list price for each line that has no price, where there is one.
  [[nodiscard]] Ledger priced(Ledger ledger) const;
};
/// A session's own rates first, then the list prices that its session_opened holds. One of an older
/// version holds none: then those shipped now for `device`, if it is not null.
Prices prices_of(const Json& opened, const Json& device);

/// The text of kernels/list_prices.json as it was at the build. Private to list_prices.cpp.
std::string_view list_prices_text();

}  // namespace wb::session
