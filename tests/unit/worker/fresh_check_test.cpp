// SPDX-License-Identifier: MIT
// Checks of calls on fresh inputs, with planted times, draws and accounts. Live ones are in the
// long tier (tests/long.txt).
#include "worker/fresh_check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "support/catch.hpp"
#include "support/fake_clock.hpp"

using namespace std::chrono_literals;
using namespace wb;
using namespace wb::worker;

namespace {

constexpr double k_none = std::numeric_limits<double>::infinity();
constexpr FreshTimes k_limits{1'000, k_none};

/// Turns until a subject is accused, as a supervisor's draws decide which have a look; 0: never.
/// `fresh_us` and `foreign_cpus` are those of a look in that turn.
template <typename FreshUs, typename ForeignCpus>
int turns_until_accused(std::uint32_t seed, const FreshUs& fresh_us,
                        const ForeignCpus& foreign_cpus, FreshRecord& record) {
  std::mt19937 draws(seed);
  for (int turn = 1; turn <= 200; ++turn) {
    if (!needs_fresh_check(record, static_cast<std::uint32_t>(draws()))) continue;
    const FreshTimes fastest{fresh_us(turn), k_none};
    const auto answer = judge_fresh_check(fastest, k_limits, foreign_cpus(turn), false, record);
    if (answer == FreshAnswer::accused) return turn;
  }
  return 0;
}

}  // namespace

TEST_CASE("looks without an answer are borne twice, or seldom", "[worker][fresh_check]") {
  CHECK_FALSE(left_open_too_often({false, 2, 2}));
  CHECK(left_open_too_often({false, 3, 3}));
  CHECK(left_open_too_often({true, 24, 3}));
  CHECK_FALSE(left_open_too_often({true, 25, 3}));
  CHECK_FALSE(left_open_too_often({}));
}

TEST_CASE("a call on fresh inputs may take half as long again as the timed ones, and a little",
          "[worker][fresh_check]") {
  CHECK(fresh_call_limit_us(0, 30) == Approx(230));
  CHECK(fresh_call_limit_us(1'000, 0) == Approx(1'700));
  CHECK(lone_allowance_us(30, false, worker::Clock::host) == 30);
  CHECK(lone_allowance_us(30, false, worker::Clock::device) == 30);
  CHECK(lone_allowance_us(30, true, worker::Clock::device) == Approx(120));
  CHECK(lone_allowance_us(30, true, worker::Clock::host) == Approx(1'500));
  CHECK(lone_allowance_us(1'000, true, worker::Clock::host) == Approx(4'000));
  CHECK(fresh_device_limit_us(0, 2.9) == Approx(7.9));
  CHECK(fresh_device_limit_us(100, 0) == Approx(155));
  CHECK(is_within({10, 5}, {10, 5}));
  CHECK(is_within({10, 5}, {10, k_none}));
  CHECK_FALSE(is_within({11, 5}, {10, 5}));
  CHECK_FALSE(is_within({10, 6}, {10, 5}));
  CHECK_FALSE(is_within({NAN, 5}, {10, k_none}));
  CHECK_FALSE(is_within({10, NAN}, {10, k_none}));
  CHECK_FALSE(is_within({k_none, k_none}, {10, k_none}));
}

TEST_CASE("each turn has a look until one was passed, then one in eight", "[worker][fresh_check]") {
  for (const std::uint32_t drawn : {0u, 1u, 7u, 8u, 4'294'967'295u}) {
    CHECK(needs_fresh_check({}, drawn));
    CHECK(needs_fresh_check({false, 5, 1}, drawn));
    CHECK(needs_fresh_check({true, 1, 0}, drawn) == (drawn % 8 == 0));
  }
}

TEST_CASE("a look passes, stays open or accuses", "[worker][fresh_check]") {
  struct Case {
    FreshTimes fastest, limits;
    std::optional<double> foreign_cpus;
    bool has_others_on_device;
    FreshAnswer answer;
  };
  const FreshTimes slow{1'001, 4}, slow_on_device{999, 6}, quick{1'000, 5}, limits{1'000, 5};
  for (const Case& one : {
           Case{quick, limits, 0.0, false, FreshAnswer::passed},
           Case{quick, limits, 2.0, true, FreshAnswer::passed},
           Case{quick, limits, std::nullopt, false, FreshAnswer::passed},
           Case{slow, limits, 0.0, false, FreshAnswer::accused},
           Case{slow_on_device, limits, 0.1, false, FreshAnswer::accused},
           Case{slow, limits, 0.11, false, FreshAnswer::open},
           Case{slow, limits, std::nullopt, false, FreshAnswer::open},
           Case{slow_on_device, limits, 0.0, true, FreshAnswer::open},
       }) {
    INFO(one.fastest.supervisor_us << " " << one.foreign_cpus.value_or(-1));
    FreshRecord record{true, 7, 1};
    CHECK(judge_fresh_check(one.fastest, one.limits, one.foreign_cpus, one.has_others_on_device,
                            record) == one.answer);
    CHECK(record.checks == 8);
    CHECK(record.passed == (one.answer == FreshAnswer::passed));
    CHECK(record.open == (one.answer == FreshAnswer::open ? 2 : 1));
  }
}

TEST_CASE("who behaves while it is watched is found out sooner or later",
          "[worker][fresh_check][hostile]") {
  const auto quiet = [](int) { return std::optional(0.02); };
  int latest = 0;
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    FreshRecord record;
    // Honest until the first look has passed.
    const int found = turns_until_accused(
        seed, [](int turn) { return turn == 1 ? 900.0 : 5'000.0; }, quiet, record);
    CHECK(found > 1);
    CHECK(record.open == 0);
    latest = std::max(latest, found);
  }
  CHECK(latest < 100);  // 7/8 to the power of 100: once in 600,000
  // Who takes as long for each call, watched or not, is left alone.
  FreshRecord honest;
  CHECK(turns_until_accused(
            1, [](int) { return 900.0; }, quiet, honest) == 0);
  CHECK(honest.checks > 10);
}

TEST_CASE("who hides behind others' work is not accused, but its turns count no more",
          "[worker][fresh_check][hostile]") {
  FreshRecord record;
  const auto slow = [](int turn) { return turn == 1 ? 900.0 : 5'000.0; };
  CHECK(turns_until_accused(
            3, slow, [](int) { return std::optional(0.5); }, record) == 0);
  CHECK(record.open == record.checks - 1);
  CHECK(left_open_too_often(record));
  // Once that work ends it is found out at once: a look that stayed open is followed by the next.
  const auto always_slow = [](int) { return 5'000.0; };
  CHECK(turns_until_accused(
            4, always_slow, [](int) { return std::optional(0.0); }, record) == 1);
}

TEST_CASE("a row of fresh calls ends with one that is quick enough, or with time and tries",
          "[worker][fresh_check]") {
  testing::FakeClock clock;
  const Now now = [&clock] { return clock.steady_now(); };
  const auto row = [&](std::chrono::microseconds each, int quick_at) {
    int calls = 0;
    const auto fastest = fastest_call(
        [&]() -> Outcome<FreshTimes> {
          clock.advance(each);
          ++calls;
          return FreshTimes{calls == quick_at ? 900.0 : 2'000.0 - calls, 100.0 + calls};
        },
        k_limits, now);
    REQUIRE(fastest.ok());
    CHECK(fastest->supervisor_us == (calls == quick_at ? 900 : 2'000 - calls));
    CHECK(fastest->subject_us == 101);
    return calls;
  };
  CHECK(row(1ms, 1) == 1);
  CHECK(row(1ms, 4) == 4);
  CHECK(row(10ms, 0) == 30);    // 300 ms
  CHECK(row(1'000ms, 0) == 6);  // long calls: a stall of the machine meets few of six
  CHECK(row(100us, 0) == 200);
  const auto failed = fastest_call(
      [] {
        return Outcome<FreshTimes>(Failure{Invalidity::runtime, "gone", ""});
      },
      k_limits, now);
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().message == "gone");
}
