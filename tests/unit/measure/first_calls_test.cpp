// SPDX-License-Identifier: MIT
// The rule of first calls on fresh inputs, on simulated machines: what a call takes besides its
// work is 60 to 200 us here, as messages and threads that wake up do, and noise only lengthens it.
#include "measure/first_calls.hpp"
#include "core/json.hpp"

#include <algorithm>
#include <cmath>

#include "simulated.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::measure;
using simulated::Random;

namespace {

struct Machine {
  double overhead_us = 120, jitter_us = 10, jitter_frac = 0.02, outlier_share = 0.1,
         outlier_us = 300;
};

double first_call(double work_us, const Machine& machine, Random& random) {
  double us = machine.overhead_us + 1.1 * work_us + machine.jitter_us * std::abs(random.normal()) +
              machine.jitter_frac * work_us * std::abs(random.normal());
  if (random.uniform() < machine.outlier_share)
    us -= machine.outlier_us * std::log(random.uniform());
  return us;
}

/// What a candidate does on inputs that it never saw, and on those that were made again.
struct Candidate {
  double timed_us = 0, fresh_us = 0, again_us = 0;
};

FreshOutcome judge(const Candidate& candidate, double other_us, int rounds, const Machine& machine,
                   Random& random, const FirstCallPairs& sides = {}) {
  FirstCallPairs calls = sides;
  for (int i = 0; i < rounds; ++i) {
    calls.candidate.fresh_us.push_back(first_call(candidate.fresh_us, machine, random) +
                                       sides.overhead_us);
    calls.candidate.again_us.push_back(first_call(candidate.again_us, machine, random) +
                                       sides.overhead_us);
    calls.other.fresh_us.push_back(first_call(other_us, machine, random));
    calls.other.again_us.push_back(first_call(other_us, machine, random));
  }
  const CallTimes times{candidate.timed_us, other_us};
  return judge_first_calls(calls, times, times, 1);
}

int count(FreshState state, const Candidate& candidate, double other_us, int rounds,
          const Machine& machine, const FirstCallPairs& sides = {}) {
  Random random(20261126);
  int found = 0;
  for (int i = 0; i < 50; ++i) {
    found += judge(candidate, other_us, rounds, machine, random, sides).state == state ? 1 : 0;
  }
  return found;
}

Candidate honest(double us) {
  return {us, us, us};
}

const Machine k_quiet{.overhead_us = 60,
                      .jitter_us = 3,
                      .jitter_frac = 0.01,
                      .outlier_share = 0.03,
                      .outlier_us = 100};
const Machine k_busy{.overhead_us = 200,
                     .jitter_us = 40,
                     .jitter_frac = 0.05,
                     .outlier_share = 0.3,
                     .outlier_us = 1'000};

}  // namespace

TEST_CASE("beside another kind on a GPU repeats decide what the other side leaves open",
          "[measure][fresh]") {
  // A true 1.5x at 6 us, whose calls are steady, beside calls that scatter.
  Random random(20261127);
  FirstCallPairs pairs;
  for (int i = 0; i < 100; ++i) {
    for (auto* side : {&pairs.candidate.fresh_us, &pairs.candidate.again_us}) {
      side->push_back(66 + 0.3 * std::abs(random.normal()));
    }
    for (auto* side : {&pairs.other.fresh_us, &pairs.other.again_us}) {
      side->push_back(69 + 400 * std::abs(random.normal()));
    }
  }
  const CallTimes times{6, 9};
  FirstCallPairs beside = pairs;
  for (double& us : beside.candidate.fresh_us) us += 120;
  beside.candidate.again_us = beside.candidate.fresh_us;
  CHECK(judge_first_calls(beside, times, times, 1).state == FreshState::unclear);
  beside.other_is_rough = true;
  CHECK(judge_first_calls(beside, times, times, 1).state == FreshState::stands);
  const Machine machine{.overhead_us = 60, .jitter_us = 60};
  FirstCallPairs rough;
  rough.other_is_rough = true;
  CHECK(count(FreshState::stands, honest(600), 900, 60, machine, rough) >= 49);
  // What remembers spares two thirds of the work at repeats.
  CHECK(count(FreshState::stands, {600, 1800, 600}, 900, 60, machine, rough) == 0);
  // Work that any first call does, new or again, is seen beside the other side only.
  CHECK(count(FreshState::stands, {600, 2400, 2400}, 900, 60, machine, rough) == 0);
}

namespace {

/// Worse than chains of 100 calls were on an H200, which scattered by 0.1 us: the mean call
/// scatters by 1.5 us either way, one in twelve waits for the device, one in thirty is heard of
/// late.
double chained_call(double work_us, Random& random) {
  double us = 10 + work_us + 1.5 * random.normal();
  if (random.uniform() < 1.0 / 12) us += 30 * random.uniform();
  if (random.uniform() < 1.0 / 30) us -= 10 * random.uniform();
  return std::max(us, 1.0);
}

int count_of_chains(FreshState state, const Candidate& candidate, double other_us,
                    double extra_us = 0) {
  Random random(20261128);
  int found = 0;
  for (int i = 0; i < 50; ++i) {
    FirstCallPairs calls;
    calls.are_chains = true;
    for (int round = 0; round < 60; ++round) {
      calls.candidate.fresh_us.push_back(chained_call(candidate.fresh_us, random));
      calls.candidate.again_us.push_back(chained_call(candidate.again_us, random));
      calls.other.fresh_us.push_back(chained_call(other_us, random) + extra_us);
      calls.other.again_us.push_back(chained_call(other_us, random) + extra_us);
      if (extra_us == 0) continue;
      calls.candidate.fill_us.push_back(chained_call(0, random));
      calls.other.fill_us.push_back(chained_call(0, random) + extra_us);
    }
    const CallTimes times{candidate.timed_us, other_us};
    found += judge_first_calls(calls, times, times, 1).state == state ? 1 : 0;
  }
  return found;
}

}  // namespace

TEST_CASE("chains tell gains of short calls from what is not there", "[measure][fresh]") {
  // Beside the same kind, and beside one whose chains take 4 us a call more without their calls.
  for (const double extra_us : {0.0, 4.0}) {
    CAPTURE(extra_us);
    CHECK(count_of_chains(FreshState::stands, honest(10), 10.5, extra_us) >= 49);
    CHECK(count_of_chains(FreshState::stands, honest(10), 13, extra_us) >= 49);
    CHECK(count_of_chains(FreshState::stands, honest(9.2), 13.9, extra_us) >= 49);
    CHECK(count_of_chains(FreshState::stands, honest(400), 408, extra_us) >= 49);
    // It does the work of 1.3x on new inputs only, or whatever comes behind other work.
    CHECK(count_of_chains(FreshState::stands, {10, 13, 10}, 13, extra_us) == 0);
    CHECK(count_of_chains(FreshState::stands, {10, 13, 13}, 13, extra_us) == 0);
    CHECK(count_of_chains(FreshState::stands, {400, 520, 520}, 520, extra_us) == 0);
  }
}

TEST_CASE("a candidate's long chains without calls excuse nothing", "[measure][fresh]") {
  FirstCallPairs calls;
  calls.are_chains = true;
  for (int i = 0; i < 20; ++i) {
    calls.candidate.fresh_us.push_back(23);  // 3 beyond its timed calls and 10 of inputs
    calls.candidate.again_us.push_back(23);
    calls.candidate.fill_us.push_back(13);  // as it made them
    calls.other.fresh_us.push_back(23);
    calls.other.again_us.push_back(23);
    calls.other.fill_us.push_back(10);
  }
  const CallTimes times{10, 13};
  const FreshOutcome fresh = judge_first_calls(calls, times, times, 1);
  CHECK(fresh.state == FreshState::absent);
  CHECK(fresh.speedup == Approx(1.0));
  // Some that are missing are no proof.
  FirstCallPairs fewer = calls;
  fewer.other.fill_us.pop_back();
  CHECK(judge_first_calls(fewer, times, times, 1).state == FreshState::unmeasured);
  // Python beside compiled code may need so much.
  calls.overhead_us = 3;
  CHECK(judge_first_calls(calls, times, times, 1).state == FreshState::stands);
}

TEST_CASE("too few first calls say why", "[measure][fresh]") {
  FirstCallPairs pairs, more;
  more.missing = "the judge was asked about another output";
  pairs.append(more);
  const CallTimes times{10, 20};
  FreshOutcome fresh = judge_first_calls(pairs, times, times, 1);
  CHECK(fresh.state == FreshState::unmeasured);
  CHECK(fresh.reason ==
        "there are too few first calls on fresh inputs: the judge was asked about another output");
  pairs.missing.clear();
  CHECK(judge_first_calls(pairs, times, times, 1).reason ==
        "there are too few first calls on fresh inputs");
}

TEST_CASE("true gains stand on fresh inputs", "[measure][simulation]") {
  for (const Machine& machine : {k_quiet, Machine{}, k_busy}) {
    CAPTURE(machine.overhead_us);
    CHECK(count(FreshState::stands, honest(10), 10 * 1.05, 200, machine) >= 49);
    CHECK(count(FreshState::stands, honest(400), 400 * 1.02, 80, machine) >= 49);
    CHECK(count(FreshState::stands, honest(400), 400 * 1.3, 80, machine) >= 49);
    CHECK(count(FreshState::stands, honest(5'000), 5'000 * 1.3, 12, machine) >= 49);
    CHECK(count(FreshState::stands, honest(60'000), 60'000 * 1.9, 10, machine) >= 49);
  }
  CHECK(count(FreshState::stands, honest(10), 10 * 1.3, 200, k_quiet) >= 49);
}

TEST_CASE("a gain that is not there on fresh inputs does not stand", "[measure][simulation]") {
  for (const Machine& machine : {k_quiet, Machine{}, k_busy}) {
    for (const double us : {10.0, 400.0, 5'000.0, 60'000.0}) {
      CAPTURE(machine.overhead_us, us);
      const int rounds = us < 100 ? 200 : us < 1'000 ? 80 : 12;
      const double full = us * 1.3;
      // It does all the work of the first call after new inputs came, whatever they are.
      const int late = count(FreshState::stands, {us, full, full}, full, rounds, machine);
      CHECK(late <= (us < 100 && machine.overhead_us == 200 ? 2 : 0));
      // It remembers its last result.
      CHECK(count(FreshState::stands, {us, full, us}, full, rounds, machine) == late);
    }
  }
}

TEST_CASE("who remembers results leaves out work", "[measure][fresh]") {
  const Candidate memo{100, 190, 100};
  CHECK(count(FreshState::left_out, memo, 190, 100, {}) == 50);
  // Nobody is accused while others use the machine, but nothing is won either.
  FirstCallPairs disturbed;
  disturbed.disturbed = true;
  CHECK(count(FreshState::absent, memo, 190, 100, {}, disturbed) == 50);
  // Far beyond what cold caches and sleeping threads may cost, with no repeated input needed.
  CHECK(count(FreshState::left_out, {1'000, 3'000, 3'000}, 2'000, 60, {}) == 50);
  // A kernel that is slow to get going is not: it is merely not faster on fresh inputs.
  CHECK(count(FreshState::absent, {100, 250, 250}, 190, 100, {}) == 50);
}

TEST_CASE("equal first calls accuse nobody of remembering", "[measure][simulation]") {
  Random random(5);
  for (int i = 0; i < 500; ++i) {
    const double gain = 1 + 0.5 * random.uniform();
    CHECK(judge(honest(50), 50 * gain, 60, {}, random).state != FreshState::left_out);
  }
}

TEST_CASE("nobody is accused by what single calls cannot show", "[measure][simulation]") {
  // 0.25 us beside a library's 15 us, and repeated inputs that are 3 us closer in the caches.
  const Candidate tiny{0.25, 3.25, 0.25};
  CHECK(count(FreshState::left_out, tiny, 15, 150, k_quiet) == 0);
  CHECK(count(FreshState::stands, tiny, 15, 150, k_quiet) == 0);
  // Calls in a chain show as little as that.
  FirstCallPairs chains;
  chains.are_chains = true;
  CHECK(count(FreshState::left_out, tiny, 15, 150, k_quiet, chains) >= 49);
  // What is spared beyond chance is work.
  CHECK(count(FreshState::left_out, {0.25, 60.25, 0.25}, 75, 150, k_quiet) == 50);
}

TEST_CASE("a Python candidate beside a compiled one is told from its own repeats",
          "[measure][fresh]") {
  FirstCallPairs python;
  python.overhead_us = 150;
  python.allowance_us = 1'350;
  // Its library takes 700 us more on a first call, which the allowance covers.
  CHECK(count(FreshState::stands, {400, 400 + 600, 400 + 600}, 800, 80, {}, python) >= 49);
  CHECK(count(FreshState::left_out, {200, 400 + 600, 200 + 600}, 800, 80, {}, python) == 50);
}

TEST_CASE("too few first calls are no proof", "[measure][fresh]") {
  Random random(3);
  const FreshOutcome few = judge(honest(100), 130, 5, {}, random);
  CHECK(few.state == FreshState::unmeasured);
  CHECK(few.rounds == 5);
  CHECK(to_json(few)["speedup"].is_null());
  FirstCallPairs broken;
  broken.candidate = {std::vector<double>(10, 5.0), std::vector<double>(10, 5.0)};
  broken.other = {std::vector<double>(10, 0.0), std::vector<double>(10, 5.0)};
  CHECK(judge_first_calls(broken, {5, 6}, {5, 6}, 1).state == FreshState::unmeasured);
}

TEST_CASE("the figure is the candidate's time with what it leaves out", "[measure][fresh]") {
  FirstCallPairs calls;
  for (int i = 0; i < 10; ++i) {
    calls.candidate.fresh_us.push_back(300);  // 100 beyond its timed calls
    calls.candidate.again_us.push_back(300);
    calls.other.fresh_us.push_back(310);  // 10 beyond
    calls.other.again_us.push_back(310);
  }
  const FreshOutcome fresh = judge_first_calls(calls, {200, 300}, {200, 300}, 1);
  CHECK(fresh.speedup == Approx(300.0 / (200 + 90)));
  CHECK(fresh.interval.low == Approx(fresh.speedup));
  CHECK(fresh.state == FreshState::absent);
  // The same work is left out of calls under another plan.
  CHECK(judge_first_calls(calls, {200, 300}, {600, 900}, 1).speedup == Approx(900.0 / 690));
  // First calls that are better than timed ones do not raise a gain.
  for (double& us : calls.candidate.fresh_us) us = 210;
  CHECK(judge_first_calls(calls, {200, 300}, {200, 300}, 1).speedup == Approx(1.5));
}

TEST_CASE("a comparison that fresh inputs do not bear out is ambiguous", "[measure][fresh]") {
  Comparison own;
  own.speedup = 1.9;
  own.interval = {1.8, 2.0, 0.99};
  own.outcome = ComparisonOutcome::faster;
  own.reason = "as made";
  own.instance_log_speedups = {0.6, 0.6};
  FreshOutcome fresh;
  fresh.state = FreshState::absent;
  fresh.speedup = 1.02;
  fresh.interval = {0.99, 1.05, 0.99};
  fresh.reason = "not there";
  const Comparison vetoed = with_first_calls(own, fresh);
  CHECK(vetoed.outcome == ComparisonOutcome::ambiguous);
  CHECK(vetoed.interval.low == 0.99);
  CHECK(vetoed.interval.high == 2.0);
  CHECK(vetoed.instance_log_speedups.empty());
  CHECK(vetoed.reason == "not there; as made");
  fresh.state = FreshState::stands;
  CHECK(with_first_calls(own, fresh).outcome == ComparisonOutcome::faster);
  CHECK(with_first_calls(own, fresh).instance_log_speedups.size() == 2);
  CHECK_FALSE(is_valid(with_first_calls(own, FreshOutcome{}).interval));
  CHECK(with_first_calls(own, FreshOutcome{}).outcome == ComparisonOutcome::ambiguous);
}
