// SPDX-License-Identifier: MIT
#include "core/clock.hpp"

#include "support/catch.hpp"
#include "support/fake_clock.hpp"

using namespace std::chrono;

TEST_CASE("a time prints as ISO 8601 in UTC with milliseconds", "[core][clock]") {
  const auto text = [](milliseconds since_epoch) {
    return wb::to_iso8601(system_clock::time_point(since_epoch));
  };
  CHECK(text(0ms) == "1970-01-01T00:00:00.000Z");
  CHECK(text(951782399999ms) == "2000-02-28T23:59:59.999Z");
  CHECK(text(951782400000ms) == "2000-02-29T00:00:00.000Z");
  CHECK(text(1709210096007ms) == "2024-02-29T12:34:56.007Z");
  CHECK(text(-1ms) == "1969-12-31T23:59:59.999Z");
}

TEST_CASE("parts of a millisecond are cut, not rounded", "[core][clock]") {
  CHECK(wb::to_iso8601(system_clock::time_point(duration_cast<system_clock::duration>(999999us))) ==
        "1970-01-01T00:00:00.999Z");
}

TEST_CASE("a printed time is read back, and nothing else is", "[core][clock]") {
  for (const milliseconds since_epoch : {0ms, 1709210096007ms, 951782399999ms, -1ms}) {
    const system_clock::time_point time(since_epoch);
    CHECK(wb::parse_iso8601(wb::to_iso8601(time)) == time);
  }
  for (const char* text :
       {"", "2024-02-29T12:34:56Z", "2024-02-29 12:34:56.007Z", "2024-02-29T12:34:56.007",
        "2023-02-29T12:34:56.007Z", "2024-13-01T12:34:56.007Z", "2024-02-29T24:00:00.000Z",
        "2024-02-29T12:60:00.000Z", "2024-02-29T12:34:60.000Z", "2024-02-29T12:34:5x.007Z",
        "2024-02-29T12:34:56.007ZZ", "-024-02-29T12:34:56.007Z"}) {
    INFO(text);
    CHECK_FALSE(wb::parse_iso8601(text).has_value());
  }
}

TEST_CASE("the real clock goes on, the fake one only when told", "[core][clock]") {
  const wb::RealClock real;
  const auto before = real.steady_now();
  CHECK(real.steady_now() >= before);
  real.sleep(1ms);
  CHECK(real.steady_now() - before >= 1ms);
  CHECK(real.now() > system_clock::time_point(milliseconds(1700000000000)));

  wb::testing::FakeClock fake;
  CHECK(wb::to_iso8601(fake.now()) == "2026-01-02T03:04:05.678Z");
  const auto steady = fake.steady_now();
  fake.advance(2s);
  CHECK(wb::to_iso8601(fake.now()) == "2026-01-02T03:04:07.678Z");
  CHECK(fake.steady_now() - steady == 2s);
  fake.sleep(500ms);
  CHECK(wb::to_iso8601(fake.now()) == "2026-01-02T03:04:08.178Z");
  CHECK(fake.steady_now() - steady == 2500ms);
  fake.set_time_of_day(system_clock::time_point(0ms));
  CHECK(fake.steady_now() - steady == 2500ms);
}
