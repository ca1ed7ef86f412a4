// SPDX-License-Identifier: MIT
#include "analyze/evidence.hpp"
#include "made_evidence.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::device;
using namespace wb::measure;

namespace {

std::vector<Finding> shares(const Observation& observation, Device device = made::device()) {
  Evidence evidence;
  evidence.device = std::move(device);
  evidence.observations.push_back(observation);
  return made::run("roofline_share", evidence);
}

double shown(const Finding& finding, const char* name) {
  return finding.figures.at(name);
}

}  // namespace

TEST_CASE("The share is of the peak of the problem's own dtype", "[analyze][unit]") {
  // 2.147e9 FLOP in 4 ms: 0.537 TFLOP/s
  const auto f32 = shares(made::observation("B=4 Hq=8 Sq=512 D=64 f32", 4000));
  REQUIRE(f32.size() == 1);
  CHECK(shown(f32[0], "achieved_flops_per_s") == Approx(5.3687e11).epsilon(1e-4));
  CHECK(shown(f32[0], "flop_share_frac") == Approx(0.53687).epsilon(1e-4));
  CHECK(shown(f32[0], "headroom_ratio") == Approx(1 / 0.53687).epsilon(1e-4));
  CHECK(f32[0].figures.at("bound") == "compute");
  CHECK(f32[0].statement.find("f32 compute peak (calibrated)") != std::string::npos);
  const auto f16 = shares(made::observation("B=4 Hq=8 Sq=512 D=64 f16", 4000));
  REQUIRE(f16.size() == 1);
  CHECK(shown(f16[0], "flop_share_frac") == Approx(0.53687 / 4).epsilon(1e-4));
}

TEST_CASE("Memory's share counts where the plan can show it", "[analyze][unit]") {
  const auto large = shares(made::observation("B=4 Hq=8 Sq=1 Skv=32768 D=64 f32", 8000));
  REQUIRE(large.size() == 1);
  CHECK(large[0].figures.at("bound") == "memory");
  CHECK(shown(large[0], "byte_share_frac") == Approx(0.671).epsilon(0.01));

  // 66 kB of tensors stay in a 1 MB cache: hot says nothing about memory, cold does.
  const auto hot = shares(made::observation("B=1 Hq=1 Sq=64 D=64 f32", 10));
  REQUIRE(hot.size() == 1);
  CHECK_FALSE(hot[0].figures.contains("byte_share_frac"));
  CHECK(hot[0].unseen.find("last-level cache") != std::string::npos);
  const auto cold = shares(made::observation("B=1 Hq=1 Sq=64 D=64 f32", 10, PlanKind::cold));
  REQUIRE(cold.size() == 1);
  CHECK(shown(cold[0], "byte_share_frac") == Approx(0.065536).epsilon(1e-3));
}

TEST_CASE("No headroom is promised below what an empty call takes", "[analyze][unit]") {
  Evidence evidence;
  evidence.device = made::device();
  evidence.call_overhead_us = 2;
  // 2.1e6 FLOP in 10 us are 21 % of the peak: 2.1 us at best, and an empty call takes less.
  evidence.observations.push_back(made::observation("B=1 Hq=1 Sq=90 D=64 f32", 10));
  // 1e3 FLOP: nothing at all at the peak, but a call is a call.
  evidence.observations.push_back(made::observation("B=1 Hq=1 Sq=4 D=16 f32", 10));
  // Below the empty call: no room is left, and none is negative.
  evidence.observations.push_back(made::observation("B=1 Hq=1 Sq=4 D=16 f32", 1.5));
  const auto found = made::run("roofline_share", evidence);
  REQUIRE(found.size() == 3);
  CHECK(found[0].figures.at("bound") == "compute");
  CHECK(shown(found[0], "headroom_ratio") == Approx(1 / shown(found[0], "share_frac")));
  for (const Finding& small : {found[1], found[2]}) {
    CHECK(small.figures.at("bound") == "launch");
    CHECK(small.figures.at("peak") == "compute");
    CHECK(shown(small, "share_frac") < 0.01);
  }
  CHECK(shown(found[1], "headroom_ratio") == Approx(5));
  CHECK(found[1].statement.find("headroom 5x (bound: an empty call of 2 us)") != std::string::npos);
  CHECK(found[1].figures.at("bound_words") == "an empty call of 2 us");
  CHECK(shown(found[2], "headroom_ratio") == Approx(1));
  // The bound is the longest of its parts, for everybody who asks.
  for (std::size_t at = 0; at < found.size(); ++at) {
    const auto bound = analyze::time_bound(evidence, evidence.observations[at]);
    REQUIRE(bound.has_value());
    CHECK(bound->kind == found[at].figures.at("bound").get<std::string>());
    CHECK(bound->us == Approx(shown(found[at], "bound_us")));
    CHECK(bound->us >= evidence.call_overhead_us);
  }
  CHECK(found[0].figures.at("bound_words") == "the f32 compute peak");
  CHECK(found[0].statement.find("(bound: that peak)") != std::string::npos);
}

TEST_CASE("f32 above its own peak is held to that of faster units", "[analyze][unit]") {
  // 2.147 TFLOP/s: over twice what the f32 units do, so the products are split over others.
  const auto split = shares(made::observation("B=4 Hq=8 Sq=512 D=64 f32", 1000));
  REQUIRE(split.size() == 1);
  CHECK(shown(split[0], "share_frac") == Approx(2.147 / 4).epsilon(1e-3));
  CHECK(shown(split[0], "headroom_ratio") == Approx(4 / 2.147).epsilon(1e-3));
  CHECK(split[0].figures.at("peak_dtype") == "f16");
  CHECK(split[0].statement.find("f16 compute peak (calibrated), as it beats the f32 peak") !=
        std::string::npos);
}

TEST_CASE("split f32 products have the roof of the units that make them", "[analyze][unit]") {
  Evidence evidence;
  evidence.device = made::device();
  evidence.device.backend = "cuda";
  const auto of_split = [&](std::optional<SplitProducts> split, double median_us,
                            std::string_view problem = "B=4 Hq=8 Sq=512 D=64 f32") {
    evidence.observations = {made::observation(problem, median_us)};
    evidence.split_products.clear();
    if (split) evidence.split_products["cpu_tiled"] = *split;
    const auto found = made::run("roofline_share", evidence);
    REQUIRE(found.size() == 1);
    return found[0];
  };
  // 0.537 TFLOP/s. tf32 is half of f16's 4 TFLOP/s, and three of its products make one.
  const Finding tf32 = of_split(SplitProducts{"tf32", 3}, 4000);
  CHECK(shown(tf32, "flop_share_frac") == Approx(0.53687 * 3 / 2).epsilon(1e-4));
  CHECK(shown(tf32, "headroom_ratio") == Approx(2 / (0.53687 * 3)).epsilon(1e-4));
  CHECK(tf32.figures.at("peak_dtype") == "tf32");
  CHECK(tf32.figures.at("peak_products") == 3);
  CHECK(tf32.statement.find("tf32 compute peak at 3 products for one") != std::string::npos);
  CHECK(tf32.statement.find("beats") == std::string::npos);
  const Finding f16 = of_split(SplitProducts{"f16", 3}, 4000);
  CHECK(shown(f16, "flop_share_frac") == Approx(0.53687 * 3 / 4).epsilon(1e-4));
  // Who does not split them has the units of f32.
  CHECK(shown(of_split(std::nullopt, 4000), "flop_share_frac") == Approx(0.53687).epsilon(1e-4));
  CHECK_FALSE(of_split(std::nullopt, 4000).figures.contains("peak_products"));
  // It beats that roof: what was said of its products is wrong.
  CHECK(of_split(SplitProducts{"tf32", 3}, 1000).figures.at("peak_dtype") == "f16");
  CHECK_FALSE(of_split(SplitProducts{"tf32", 3}, 1000).figures.contains("peak_products"));
  // 16-bit products are not split, and no CPU has such units.
  CHECK(of_split(SplitProducts{"tf32", 3}, 4000, "B=4 Hq=8 Sq=512 D=64 f16")
            .figures.at("peak_dtype") == "f16");
  evidence.device.backend = "cpu";
  CHECK(of_split(SplitProducts{"tf32", 3}, 4000).figures.at("peak_dtype") == "f32");
}

TEST_CASE("a regime counts split products, too", "[analyze][unit]") {
  Evidence evidence;
  evidence.device = made::device();
  evidence.device.backend = "cuda";
  evidence.observations = {made::observation("B=4 Hq=8 Sq=512 D=64 f32", 4000)};
  const double plain = shown(made::run("regime", evidence).at(0), "flop_floor_us");
  evidence.split_products["cpu_tiled"] = SplitProducts{"f16", 3};
  const double split = shown(made::run("regime", evidence).at(0), "flop_floor_us");
  CHECK(split == Approx(plain * 3 / 4));
}

TEST_CASE("More than the peak is called wrong, not fast", "[analyze][unit]") {
  const auto above = shares(made::observation("B=4 Hq=8 Sq=512 D=64 f32", 400));
  REQUIRE(above.size() == 1);
  CHECK(above[0].statement.find("above the peak") != std::string::npos);
  CHECK(above[0].statement.find("headroom") == std::string::npos);
}

TEST_CASE("Causal work is counted, not the full square", "[analyze][unit]") {
  const auto causal = shares(made::observation("B=4 Hq=8 Sq=512 D=64 f32 causal=top_left", 4000));
  REQUIRE(causal.size() == 1);
  CHECK(shown(causal[0], "flop_share_frac") == Approx(0.53687 * 513 / 1024).epsilon(1e-4));
}

TEST_CASE("Unknown peaks are named, and without any there is no finding", "[analyze][unit]") {
  const auto bf16 = shares(made::observation("B=4 Hq=8 Sq=512 D=64 bf16", 4000));
  REQUIRE(bf16.size() == 1);
  CHECK_FALSE(bf16[0].figures.contains("flop_share_frac"));
  CHECK(bf16[0].unseen.find("bf16 compute peak") != std::string::npos);
  CHECK(shares(made::observation("B=4 Hq=8 Sq=512 D=64 bf16", 4000), Device{}).empty());
  Device no_cache = made::device();
  no_cache.l3_bytes.reset();
  const auto unsure = shares(made::observation("B=1 Hq=1 Sq=64 D=64 f32", 10), no_cache);
  REQUIRE(unsure.size() == 1);
  CHECK(unsure[0].unseen.find("size is not known") != std::string::npos);
}
