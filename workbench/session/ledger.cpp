// SPDX-License-Identifier: MIT
#include "session/ledger.hpp"
#include "core/json.hpp"
#include "core/json_fields.hpp"

#include <array>
#include <cmath>

namespace wb::session {
namespace {

constexpr std::array k_items{CostItem::compile_cpu, CostItem::device, CostItem::tokens};
constexpr double k_seconds_per_hour = 3600.0;
constexpr double k_tokens_per_rate = 1e6;

std::optional<double> read_rate(ObjectReader& reader, std::string_view key) {
  const Json* member = reader.member(key);
  if (member == nullptr || member->is_null()) return std::nullopt;
  const double rate = reader.real(key);
  if (!(rate >= 0)) {
    reader.fail(key, "a rate must not be negative");
    return std::nullopt;
  }
  return rate;
}

}  // namespace

std::string_view to_string(CostItem value) {
  switch (value) {
    case CostItem::compile_cpu:
      return "compile_cpu";
    case CostItem::device:
      return "device";
    case CostItem::tokens:
      return "tokens";
  }
  return "unknown";
}

std::optional<CostItem> parse_cost_item(std::string_view word) {
  for (const CostItem item : k_items) {
    if (word == to_string(item)) return item;
  }
  return std::nullopt;
}

std::string_view unit_of(CostItem item) {
  return item == CostItem::tokens ? "tokens" : "s";
}

Json to_json(const Rates& rates) {
  return Json{{"compile_cpu_usd_per_hour", or_null(rates.compile_cpu_usd_per_hour)},
              {"device_usd_per_hour", or_null(rates.device_usd_per_hour)},
              {"token_usd_per_million", or_null(rates.token_usd_per_million)}};
}

Result<Rates> rates_from_json(const Json& json) {
  ObjectReader reader(json, "the rates");
  Rates rates;
  rates.compile_cpu_usd_per_hour = read_rate(reader, "compile_cpu_usd_per_hour");
  rates.device_usd_per_hour = read_rate(reader, "device_usd_per_hour");
  rates.token_usd_per_million = read_rate(reader, "token_usd_per_million");
  WB_TRY(reader.finish());
  return rates;
}

std::optional<double> price_usd(const Rates& rates, CostItem item, double quantity) {
  if (!(quantity >= 0) || !std::isfinite(quantity)) return std::nullopt;
  const auto price = [&](const std::optional<double>& rate, double per) -> std::optional<double> {
    if (!rate) return std::nullopt;
    return *rate * quantity / per;
  };
  switch (item) {
    case CostItem::compile_cpu:
      return price(rates.compile_cpu_usd_per_hour, k_seconds_per_hour);
    case CostItem::device:
      return price(rates.device_usd_per_hour, k_seconds_per_hour);
    case CostItem::tokens:
      return price(rates.token_usd_per_million, k_tokens_per_rate);
  }
  return std::nullopt;
}

void Ledger::debit(CostItem item, double quantity, std::optional<double> usd, bool is_listed) {
  CostLine& line = items[item];
  const bool known_so_far = line.debits == 0 || line.usd.has_value();
  line.usd = known_so_far && usd ? std::optional(line.usd.value_or(0.0) + *usd) : std::nullopt;
  line.quantity += quantity;
  ++line.debits;
  line.is_listed = line.usd && (line.is_listed || is_listed);
}

double Ledger::quantity(CostItem item) const {
  const auto found = items.find(item);
  return found == items.end() ? 0.0 : found->second.quantity;
}

Ledger::Total Ledger::total() const {
  Total total;
  for (const auto& [item, line] : items) {
    if (line.usd) {
      total.usd += *line.usd;
      total.is_listed = total.is_listed || line.is_listed;
    } else {
      total.complete = false;
    }
  }
  return total;
}

Json to_json(const Ledger& ledger) {
  Json items = Json::object();
  bool any_price = ledger.items.empty();
  for (const auto& [item, line] : ledger.items) {
    any_price = any_price || line.usd.has_value();
    Json& entry = items[std::string(to_string(item))];
    entry = Json{{"quantity", line.quantity},
                 {"unit", unit_of(item)},
                 {"usd", or_null(line.usd)},
                 {"debits", line.debits}};
    if (line.is_listed) entry["list_price"] = true;
  }
  const Ledger::Total total = ledger.total();
  Json json{{"items", items},
            {"total_usd", any_price ? Json(total.usd) : Json()},
            {"complete", total.complete}};
  if (total.is_listed) json["list_price"] = true;
  return json;
}

}  // namespace wb::session
