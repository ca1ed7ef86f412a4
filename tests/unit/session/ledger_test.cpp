// SPDX-License-Identifier: MIT
#include "session/ledger.hpp"

#include <limits>

#include "core/files.hpp"
#include "core/json.hpp"
#include "session/list_prices.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

using namespace wb;
using namespace wb::session;

namespace {
Rates all_rates() {
  return {0.36, 3.6, 2.0};
}
constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();
}  // namespace

TEST_CASE("a price is rate times quantity, or nothing", "[session][ledger]") {
  CHECK(price_usd(all_rates(), CostItem::compile_cpu, 100).value() == Approx(0.01));
  CHECK(price_usd(all_rates(), CostItem::device, 100).value() == Approx(0.1));
  CHECK(price_usd(all_rates(), CostItem::tokens, 500'000).value() == Approx(1.0));
  CHECK(price_usd(all_rates(), CostItem::device, 0).value() == 0.0);
  for (const CostItem item : {CostItem::compile_cpu, CostItem::device, CostItem::tokens}) {
    CHECK_FALSE(price_usd(Rates{}, item, 10));
    CHECK_FALSE(price_usd(Rates{}, item, 0));  // never $0 by silence
    CHECK_FALSE(price_usd(all_rates(), item, -1));
    CHECK_FALSE(price_usd(all_rates(), item, k_nan));
    CHECK_FALSE(price_usd(all_rates(), item, std::numeric_limits<double>::infinity()));
  }
}

TEST_CASE("totals add up when every debit has a price", "[session][ledger]") {
  Ledger ledger;
  ledger.debit(CostItem::device, 10, 0.25);
  ledger.debit(CostItem::device, 30, 0.75);
  ledger.debit(CostItem::compile_cpu, 5, 0.5);
  CHECK(ledger.items.at(CostItem::device).quantity == 40);
  CHECK(ledger.items.at(CostItem::device).usd.value() == Approx(1.0));
  CHECK(ledger.items.at(CostItem::device).debits == 2);
  CHECK(ledger.total().usd == Approx(1.5));
  CHECK(ledger.total().complete);
  CHECK(Ledger().total().complete);
  const Json json = to_json(ledger);
  CHECK(json["total_usd"] == Json(1.5));
  CHECK(json["complete"] == true);
  CHECK(json["items"]["device"]["unit"] == "s");
}

TEST_CASE("a missing rate stays visible and never becomes zero dollars", "[session][ledger]") {
  Ledger ledger;
  ledger.debit(CostItem::tokens, 1000, std::nullopt);
  CHECK_FALSE(ledger.items.at(CostItem::tokens).usd);
  CHECK_FALSE(ledger.total().complete);
  CHECK(to_json(ledger)["total_usd"].is_null());
  CHECK(to_json(ledger)["items"]["tokens"]["usd"].is_null());
  CHECK(to_json(ledger)["items"]["tokens"]["unit"] == "tokens");

  ledger.debit(CostItem::device, 10, 0.5);
  CHECK(ledger.total().usd == Approx(0.5));
  CHECK_FALSE(ledger.total().complete);
  CHECK(to_json(ledger)["total_usd"] == Json(0.5));
  CHECK(to_json(ledger)["complete"] == false);

  // One debit without a rate takes the price from its whole line, whatever comes before or after.
  ledger.debit(CostItem::device, 10, std::nullopt);
  ledger.debit(CostItem::device, 10, 0.5);
  CHECK_FALSE(ledger.items.at(CostItem::device).usd);
  CHECK(ledger.items.at(CostItem::device).quantity == 30);
  CHECK(ledger.items.at(CostItem::device).debits == 3);
}

TEST_CASE("rates are read strictly", "[session][ledger]") {
  const auto rates =
      rates_from_json({{"device_usd_per_hour", 3.6}, {"token_usd_per_million", nullptr}});
  REQUIRE(rates.ok());
  CHECK(rates->device_usd_per_hour.value() == 3.6);
  CHECK_FALSE(rates->token_usd_per_million);
  CHECK_FALSE(rates->compile_cpu_usd_per_hour);
  const auto again = rates_from_json(to_json(*rates));
  REQUIRE(again.ok());
  CHECK(to_json(*again) == to_json(*rates));
  CHECK(rates_from_json({{"device_usd_per_hour", 0}}).value().device_usd_per_hour.value() == 0.0);
  for (const Json& bad : {Json{{"device_usd_per_hour", -1}}, Json{{"device_usd_per_hour", "3"}},
                          Json{{"device_usd", 3}}, Json::array()}) {
    INFO(bad.dump());
    CHECK_FALSE(rates_from_json(bad).ok());
  }
}

TEST_CASE("the words of cost items are frozen", "[session][ledger]") {
  for (const char* word : {"compile_cpu", "device", "tokens"}) {
    REQUIRE(parse_cost_item(word));
    CHECK(to_string(*parse_cost_item(word)) == word);
  }
  CHECK_FALSE(parse_cost_item("gpu"));
  CHECK_FALSE(parse_cost_item(""));
}

namespace {

Json gpu(const std::string& name) {
  return {{"backend", "cuda"}, {"name", name}, {"units", 132}};
}

Json cpu(int cores) {
  return {{"backend", "cpu"}, {"name", "AMD EPYC 9554"}, {"units", cores}};
}

Json table_json() {
  const fs::path path = source_dir() / "kernels" / "list_prices.json";
  return Json::parse(RealFileSystem().read(path, 1u << 20).value());
}

}  // namespace

TEST_CASE("the shipped prices are those of the file, each with a source and a day",
          "[session][list_prices]") {
  const PriceTable& shipped = shipped_prices();
  const Json file = table_json();
  CHECK(shipped.cpu_hour.usd_per_hour == file["cpu_hour"]["usd"]);
  REQUIRE(shipped.gpu_hours.size() == file["gpu_hours"].size());
  for (const PriceTable::Gpu& row : shipped.gpu_hours) {
    INFO(row.price.of);
    CHECK(row.price.usd_per_hour > 0);
    CHECK(row.price.source.starts_with("https://"));
    CHECK(row.price.date.size() == 10);
  }
}

TEST_CASE("a device is priced by whole words of its name", "[session][list_prices]") {
  const auto of = [](const Json& device) {
    const auto price = price_of_device(shipped_prices(), device);
    return price ? price->of : std::string("none");
  };
  CHECK(of(gpu("NVIDIA H200")) == "NVIDIA H200");
  CHECK(of(gpu("NVIDIA H100 80GB HBM3")) == "NVIDIA H100 SXM");
  CHECK(of(gpu("NVIDIA H100 PCIe")) == "NVIDIA H100 PCIe");
  CHECK(of(gpu("NVIDIA A100-SXM4-80GB")) == "NVIDIA A100 80 GB");
  CHECK(of(gpu("NVIDIA A100-SXM4-40GB")) == "NVIDIA A100 40 GB");
  CHECK(of(gpu("NVIDIA L40S")) == "NVIDIA L40S");
  CHECK(of(gpu("NVIDIA L4")) == "NVIDIA L4");
  CHECK(of(gpu("NVIDIA B200")) == "NVIDIA B200");
  CHECK(of(gpu("NVIDIA GH200 480GB")) == "NVIDIA GH200");
  for (const char* name : {"NVIDIA H200 MIG 1g.18gb", "NVIDIA GeForce RTX 4090 Laptop GPU",
                           "NVIDIA H20", "an unknown GPU", ""}) {
    INFO(name);
    CHECK(of(gpu(name)) == "none");
  }
  CHECK(of(Json(nullptr)) == "none");
  CHECK(of(cpu(0)) == "none");
  const auto sixteen = price_of_device(shipped_prices(), cpu(16)).value();
  CHECK(sixteen.of == "16 CPU cores");
  CHECK(sixteen.usd_per_hour == Approx(16 * shipped_prices().cpu_hour.usd_per_hour));
}

TEST_CASE("a session's own rate wins, and a recorded price beats the shipped one",
          "[session][list_prices]") {
  const Json list = list_prices_json(shipped_prices(), gpu("NVIDIA H200"));
  CHECK(list["device"]["usd_per_hour"] ==
        price_of_device(shipped_prices(), gpu("NVIDIA H200"))->usd_per_hour);
  Json recorded = list;
  recorded["device"]["usd_per_hour"] = 4.0;
  const Json own{{"device_usd_per_hour", 1.5}, {"compile_cpu_usd_per_hour", nullptr}};

  const Prices mixed = prices_of({{"rates", own}, {"list_prices", recorded}}, Json(nullptr));
  CHECK(mixed.rates.device_usd_per_hour.value() == 1.5);
  CHECK_FALSE(mixed.is_listed(CostItem::device));
  CHECK(mixed.is_listed(CostItem::compile_cpu));
  CHECK_FALSE(mixed.is_listed(CostItem::tokens));

  const Prices kept = prices_of({{"list_prices", recorded}}, gpu("NVIDIA H200"));
  CHECK(kept.rates.device_usd_per_hour.value() == 4.0);
  CHECK(kept.is_listed(CostItem::device));

  // An older log holds none.
  const Prices older = prices_of(Json::object(), gpu("NVIDIA H200"));
  CHECK(older.rates.device_usd_per_hour.value() == list["device"]["usd_per_hour"]);
  CHECK(older.is_listed(CostItem::device));

  for (const Json& none : {Json(nullptr), Json("none"), Json::object(),
                           Json{{"device", {{"of", "x"}, {"usd_per_hour", -1}}}}}) {
    INFO(none.dump());
    const Prices prices = prices_of({{"list_prices", none}}, gpu("NVIDIA H200"));
    CHECK_FALSE(prices.rates.device_usd_per_hour);
    CHECK_FALSE(prices.rates.compile_cpu_usd_per_hour);
  }
}

TEST_CASE("only what has no price is priced by the list, and says so", "[session][list_prices]") {
  const Prices prices = prices_of(Json::object(), gpu("NVIDIA H200"));
  Ledger ledger;
  ledger.debit(CostItem::device, 7200, std::nullopt);
  ledger.debit(CostItem::compile_cpu, 10, 0.5);
  ledger.debit(CostItem::tokens, 1000, std::nullopt);
  const Ledger priced = prices.priced(ledger);
  CHECK(priced.items.at(CostItem::device).usd.value() ==
        Approx(2 * prices.rates.device_usd_per_hour.value()));
  CHECK(priced.items.at(CostItem::device).is_listed);
  CHECK(priced.items.at(CostItem::compile_cpu).usd.value() == 0.5);
  CHECK_FALSE(priced.items.at(CostItem::compile_cpu).is_listed);
  CHECK_FALSE(priced.items.at(CostItem::tokens).usd);
  CHECK(priced.total().is_listed);
  CHECK_FALSE(priced.total().complete);
  const Json json = to_json(priced);
  CHECK(json["list_price"] == true);
  CHECK(json["items"]["device"]["list_price"] == true);
  CHECK_FALSE(json["items"]["compile_cpu"].contains("list_price"));
  CHECK_FALSE(to_json(ledger).contains("list_price"));
}

TEST_CASE("a table of prices is read strictly", "[session][list_prices]") {
  const Json good = table_json();
  CHECK(parse_price_table(good.dump()).ok());
  const auto refused = [&](const char* pointer, const Json& value) {
    Json bad = good;
    bad[Json::json_pointer(pointer)] = value;
    return !parse_price_table(bad.dump()).ok();
  };
  CHECK(refused("/cpu_hour/usd", 0));
  CHECK(refused("/cpu_hour/usd", "1"));
  CHECK(refused("/gpu_hours/0/usd", -1));
  CHECK(refused("/gpu_hours/0/words", Json::array()));
  CHECK(refused("/gpu_hours/0/source", 1));
  CHECK(refused("/gpu_hours/0/colour", "red"));
  CHECK(refused("/gpu_hours", nullptr));
  CHECK(refused("/version", 2));
  CHECK(refused("/more", 1));
  CHECK_FALSE(parse_price_table("[]").ok());
  CHECK_FALSE(parse_price_table("{").ok());
}
