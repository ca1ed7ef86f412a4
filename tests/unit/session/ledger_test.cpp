// SPDX-License-Identifier: MIT
#include "session/ledger.hpp"
#include "core/json.hpp"

#include <limits>

#include "support/catch.hpp"

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
