// SPDX-License-Identifier: MIT
#include "session/list_prices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "core/ascii.hpp"
#include "core/json.hpp"

namespace wb::session {
namespace {

constexpr std::int64_t k_price_table_version = 1;
constexpr std::string_view k_price_table = "kernels/list_prices.json";

ListPrice read_price(ObjectReader& reader) {
  ListPrice price;
  price.of = reader.string("of");
  price.usd_per_hour = reader.real("usd");
  price.source = reader.string("source");
  price.date = reader.string("date");
  (void)reader.string("read_in");  // for readers of the file
  if (!(price.usd_per_hour > 0)) reader.fail("usd", "a price must be more than 0");
  return price;
}

Result<PriceTable::Gpu> read_gpu(const Json& json, std::size_t number) {
  ObjectReader reader(json, fmt::format("{}: GPU {}", k_price_table, number));
  PriceTable::Gpu gpu;
  gpu.words = reader.strings_or("words", {});
  gpu.price = read_price(reader);
  if (gpu.words.empty()) reader.fail("words", "it names no word of the device's name");
  WB_TRY(reader.finish());
  return gpu;
}

std::vector<std::string> words_of_name(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (ascii::is_alnum(c)) {
      words.back() += ascii::lower(c);
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

bool has_word(const std::vector<std::string>& words, std::string_view word) {
  std::string wanted;
  for (const char c : word) wanted += ascii::lower(c);
  return std::find(words.begin(), words.end(), wanted) != words.end();
}

Json price_json(const std::optional<ListPrice>& price) {
  if (!price) return nullptr;
  return {{"of", price->of},
          {"usd_per_hour", price->usd_per_hour},
          {"source", price->source},
          {"date", price->date}};
}

/// A price as it stands in a log; nothing where it is null or is no price.
std::optional<ListPrice> price_in(const Json& recorded, const char* key) {
  if (!recorded.is_object() || !recorded.contains(key)) return std::nullopt;
  ObjectReader reader(recorded[key], "a list price");
  ListPrice price;
  price.of = reader.string("of");
  price.usd_per_hour = reader.real("usd_per_hour");
  price.source = reader.string_or("source", "");
  price.date = reader.string_or("date", "");
  if (!reader.finish(true).ok() || !(price.usd_per_hour > 0)) return std::nullopt;
  return price;
}

}  // namespace

Result<PriceTable> parse_price_table(std::string_view text) {
  WB_TRY_ASSIGN(const Json root, parse_json(text, std::string(k_price_table)));
  ObjectReader reader(root, std::string(k_price_table));
  const std::int64_t version = reader.integer("version", 1, std::int64_t{1} << 31);
  reader.string_or("about", "");  // for readers of the file
  const Json* cpu = reader.member("cpu_hour");
  const Json* gpus = reader.member("gpu_hours");
  WB_TRY(reader.finish(/*allow_unknown=*/version > k_price_table_version));
  if (version > k_price_table_version) {
    return Error{
        ErrorCode::too_new, "read", std::string(k_price_table),
        fmt::format("it has version {}, this program knows {}", version, k_price_table_version),
        "use a newer sdpa-wb"};
  }
  if (cpu == nullptr || gpus == nullptr || !gpus->is_array()) {
    return Error{ErrorCode::invalid, "read", std::string(k_price_table),
                 "it has no \"cpu_hour\" or no list \"gpu_hours\"", "correct the file"};
  }
  PriceTable table;
  ObjectReader core(*cpu, fmt::format("{}: cpu_hour", k_price_table));
  table.cpu_hour = read_price(core);
  WB_TRY(core.finish());
  for (const Json& entry : *gpus) {
    WB_TRY_ASSIGN(PriceTable::Gpu gpu, read_gpu(entry, table.gpu_hours.size() + 1));
    table.gpu_hours.push_back(std::move(gpu));
  }
  return table;
}

const PriceTable& shipped_prices() {
  static const PriceTable table = [] {
    auto parsed = parse_price_table(list_prices_text());
    if (!parsed) throw std::logic_error(parsed.error().message());
    return *std::move(parsed);
  }();
  return table;
}

std::optional<ListPrice> price_of_device(const PriceTable& table, const Json& device) {
  if (!device.is_object()) return std::nullopt;
  ObjectReader reader(device, "the device");
  const std::string backend = reader.string_or("backend", ""), name = reader.string_or("name", "");
  const auto units = reader.integer_or("units", 0, 0, std::int64_t{1} << 31);
  if (!reader.finish(true).ok()) return std::nullopt;
  if (backend == "cpu") {
    if (units < 1) return std::nullopt;
    ListPrice price = table.cpu_hour;
    price.of = units == 1 ? "one CPU core" : fmt::format("{} CPU cores", units);
    price.usd_per_hour *= static_cast<double>(units);
    return price;
  }
  const auto words = words_of_name(name);
  if (has_word(words, "mig") || has_word(words, "laptop")) return std::nullopt;
  for (const PriceTable::Gpu& gpu : table.gpu_hours) {
    const bool is_it = std::all_of(gpu.words.begin(), gpu.words.end(),
                                   [&](const std::string& word) { return has_word(words, word); });
    if (is_it) return gpu.price;
  }
  return std::nullopt;
}

Json list_prices_json(const PriceTable& table, const Json& device) {
  return {{"device", price_json(price_of_device(table, device))},
          {"compile_cpu", price_json(table.cpu_hour)}};
}

bool Prices::is_listed(CostItem item) const {
  return item == CostItem::device        ? device.has_value()
         : item == CostItem::compile_cpu ? compile_cpu.has_value()
                                         : false;
}

Ledger Prices::priced(Ledger ledger) const {
  for (auto& [item, line] : ledger.items) {
    if (line.usd || !is_listed(item)) continue;
    line.usd = price_usd(rates, item, line.quantity);
    line.is_listed = line.usd.has_value();
  }
  return ledger;
}

Prices prices_of(const Json& opened, const Json& device) {
  Prices prices;
  if (const auto own = opened.find("rates"); own != opened.end()) {
    if (auto rates = rates_from_json(*own)) prices.rates = *rates;
  }
  const auto recorded = opened.find("list_prices");
  Json list;
  if (recorded != opened.end()) {
    list = *recorded;
  } else if (!device.is_null()) {
    list = list_prices_json(shipped_prices(), device);
  }
  if (!prices.rates.device_usd_per_hour) {
    prices.device = price_in(list, "device");
    if (prices.device) prices.rates.device_usd_per_hour = prices.device->usd_per_hour;
  }
  if (!prices.rates.compile_cpu_usd_per_hour) {
    prices.compile_cpu = price_in(list, "compile_cpu");
    if (prices.compile_cpu) {
      prices.rates.compile_cpu_usd_per_hour = prices.compile_cpu->usd_per_hour;
    }
  }
  return prices;
}

}  // namespace wb::session
