// SPDX-License-Identifier: MIT
#include "problem/problem.hpp"
#include "core/json.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "problem/inputs.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::problem;

namespace {

std::string refusal(std::string_view text) {
  const auto parsed = parse_problem(text);
  return parsed.ok() ? "accepted" : parsed.error().message();
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// The sum that visible_pairs must equal, counted one row after the other.
double pairs_by_counting(const Problem& problem) {
  double pairs = 0;
  for (std::int64_t row = 0; row < problem.Sq; ++row) {
    pairs += static_cast<double>(visible_keys(problem, row));
  }
  return pairs * static_cast<double>(problem.B * problem.Hq);
}

Problem random_problem(std::mt19937& random) {
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  Problem p;
  p.B = pick(1, 3);
  p.Hkv = pick(1, 4);
  p.Hq = p.Hkv * pick(1, 4);
  p.Sq = pick(1, 80);
  p.Skv = pick(1, 80);
  p.D = pick(1, 130);
  p.Dv = pick(0, 1) == 0 ? p.D : pick(1, 130);
  p.dtype = static_cast<Dtype>(pick(0, 2));
  p.causal = static_cast<Causal>(pick(0, 2));
  p.mask = static_cast<MaskKind>(pick(0, 2));
  if (p.mask == MaskKind::boolean) p.keep_frac = static_cast<double>(pick(1, 1000)) / 1000;
  if (pick(0, 1) == 0) p.scale = std::uniform_real_distribution<double>(-2, 2)(random);
  if (p.mask == MaskKind::additive) p.mask_values = static_cast<MaskValues>(pick(0, 1));
  const auto layout = [&] { return static_cast<Layout>(pick(0, 1)); };
  set_layouts(p, layout(), layout(), layout());
  return p;
}

}  // namespace

TEST_CASE("the example of the page is read as it says", "[problem][text]") {
  const auto p = parse_problem("B=4 Hq=32 Hkv=8 Sq=1 Skv=8192 D=128 bf16 causal=none");
  REQUIRE(p.ok());
  CHECK(p->B == 4);
  CHECK(p->Hq == 32);
  CHECK(p->Hkv == 8);
  CHECK(p->Sq == 1);
  CHECK(p->Skv == 8192);
  CHECK(p->D == 128);
  CHECK(p->Dv == 128);
  CHECK(p->dtype == Dtype::bf16);
  CHECK(p->causal == Causal::none);
  CHECK(to_text(*p) == "B=4 Hq=32 Hkv=8 Sq=1 Skv=8192 D=128 bf16 causal=none");
}

TEST_CASE("sizes that are not given follow from the others", "[problem][text]") {
  const auto p = parse_problem("  D=64\tSq=10  Hq=6 B=2 ");
  REQUIRE(p.ok());
  CHECK(p->Hkv == 6);
  CHECK(p->Skv == 10);
  CHECK(p->Dv == 64);
  CHECK(p->dtype == Dtype::f32);
  CHECK(p->causal == Causal::none);
  CHECK(effective_scale(*p) == Approx(0.125));
}

TEST_CASE("text and JSON forms give the problem back", "[problem][text][json]") {
  std::mt19937 random(7);
  for (int i = 0; i < 500; ++i) {
    const Problem p = random_problem(random);
    INFO(to_text(p));
    REQUIRE(validate(p).ok());
    const auto from_text = parse_problem(to_text(p));
    REQUIRE(from_text.ok());
    CHECK(*from_text == p);
    CHECK(to_text(*from_text) == to_text(p));
    const auto parsed = parse_json(to_json(p).dump(), "test");
    REQUIRE(parsed.ok());
    const auto from_json = problem_from_json(*parsed, "test");
    REQUIRE(from_json.ok());
    CHECK(*from_json == p);
  }
}

TEST_CASE("a scale that is the default is not a scale of its own", "[problem][text]") {
  const auto p = parse_problem("B=1 Hq=1 Sq=1 D=64 scale=0.125");
  REQUIRE(p.ok());
  CHECK_FALSE(p->scale.has_value());
  CHECK(to_text(*p) == "B=1 Hq=1 Hkv=1 Sq=1 Skv=1 D=64 f32 causal=none");
}

TEST_CASE("a mask's values and a layout for each tensor have a text and a JSON form",
          "[problem][text]") {
  const auto p =
      parse_problem("B=1 Hq=2 Sq=3 D=8 mask=additive:finite_min layout=v:BHSD,q:BSHD,k:BHSD");
  REQUIRE(p.ok());
  CHECK(p->mask_values == MaskValues::finite_min);
  CHECK(p->layout == Layout::bshd);
  CHECK(k_layout(*p) == Layout::bhsd);
  CHECK(v_layout(*p) == Layout::bhsd);
  CHECK(to_text(*p) ==
        "B=1 Hq=2 Hkv=2 Sq=3 Skv=3 D=8 f32 causal=none mask=additive:finite_min "
        "layout=q:BSHD,k:BHSD,v:BHSD");
  const auto again = problem_from_json(to_json(*p), "t");
  REQUIRE(again.ok());
  CHECK(*again == *p);
  // Equal problems are equal and have one text, however they are written.
  const auto one = parse_problem("B=1 Hq=2 Sq=3 D=8 layout=BSHD mask=additive");
  const auto three =
      parse_problem("B=1 Hq=2 Sq=3 D=8 mask=additive:drawn layout=q:BSHD,k:BSHD,v:BSHD");
  REQUIRE((one.ok() && three.ok()));
  CHECK(*one == *three);
  CHECK(to_text(*one) == to_text(*three));
}

TEST_CASE("bad problem texts are refused with what, why and what next", "[problem][bad_input]") {
  CHECK(contains(refusal(""), "B, Hq, Sq, D missing"));
  CHECK(contains(refusal("B=1 Hq=1 Sq=1"), "D missing"));
  CHECK(contains(refusal("B=1 Hq=1 Sq=1 D=8 HKv=1"), "did you mean Hkv?"));
  CHECK(contains(refusal("B=1 Hq=1 Sq=1 D=8 fp16"), "did you mean f16?"));
  CHECK(contains(refusal("B=1 Hq=1 Sq=1 D=8 casual=none"), "did you mean causal?"));
  CHECK(contains(refusal("B=1 Hq=1 Sq=1 D=8 completely_different=3"), "write it like"));
  CHECK(contains(refusal("B=1 B=1 Hq=1 Sq=1 D=8"), "B is given twice"));
  CHECK(contains(refusal("B=1 Hq=1 Sq=1 D=8 f16 bf16"), "dtype is given twice"));
  CHECK(contains(refusal("B=one Hq=1 Sq=1 D=8"), "B is 'one'"));
  CHECK(contains(refusal("B=1.5 Hq=1 Sq=1 D=8"), "B is '1.5'"));
  CHECK(contains(refusal("B= Hq=1 Sq=1 D=8"), "B is ''"));
  CHECK(contains(refusal("B=99999999999999999999 Hq=1 Sq=1 D=8"), "whole number"));
  CHECK(contains(refusal("B=1 Hq=1 Sq=1 D=8 causal=left"), "one of none, top_left, bottom_right"));
  CHECK(contains(refusal("B=1 Hq=1 Sq=1 D=8 layout=SBHD"), "one of BHSD, BSHD"));
  CHECK(contains(refusal("B=1 Hq=1 Sq=1 D=8 mask=bool"), "bool:SHARE"));
  CHECK(contains(refusal("B=1 Hq=1 Sq=1 D=8 mask=additive:0.3"), "bool:SHARE"));
  CHECK(contains(refusal("B=1 Hq=1 Sq=1 D=8 mask=bool:lots"), "'lots'"));
  CHECK(contains(refusal("B=1 Hq=1 Sq=1 D=8 mask=additive:"), "finite_min"));
  CHECK(contains(refusal("B=1 Hq=1 Sq=1 D=8 mask=none:finite_min"), "finite_min"));
  CHECK(contains(refusal("B=1 Hq=1 Sq=1 D=8 mask=bool:finite_min"), "'finite_min'"));
  for (const char* layout :
       {"q:BSHD", "q:BSHD,k:BHSD", "q:BSHD,k:BHSD,v:SBHD", "q:BSHD,q:BHSD,v:BHSD",
        "q:BSHD,k:BHSD,v:BHSD,", "q:BSHD,k:BHSD,out:BHSD", ",", "q", "q:"}) {
    INFO(layout);
    CHECK(contains(refusal(std::string("B=1 Hq=1 Sq=1 D=8 layout=") + layout),
                   "q:BSHD,k:BHSD,v:BHSD"));
  }
}

TEST_CASE("problems that break a rule are refused", "[problem][bad_input]") {
  CHECK(contains(refusal("B=0 Hq=1 Sq=1 D=8"), "B is 0"));
  CHECK(contains(refusal("B=1 Hq=1 Sq=-4 D=8"), "Sq is -4"));
  CHECK(contains(refusal("B=1 Hq=1 Sq=1 D=0"), "D is 0"));
  CHECK(contains(refusal("B=1 Hq=6 Hkv=4 Sq=1 D=8"), "not a multiple of Hkv"));
  CHECK(contains(refusal("B=1 Hq=1 Sq=1 D=8 scale=nan"), "scale is"));
  CHECK(contains(refusal("B=1 Hq=1 Sq=1 D=8 scale=inf"), "scale is inf"));
  CHECK(contains(refusal("B=1 Hq=1 Sq=1 D=8 scale=-inf"), "scale is -inf"));
  CHECK(contains(refusal("B=1 Hq=1 Sq=1 D=8 scale=1e30"), "scale is"));
  CHECK(contains(refusal("B=1 Hq=1 Sq=1 D=8 mask=bool:0"), "keep_frac is 0"));
  CHECK(contains(refusal("B=1 Hq=1 Sq=1 D=8 mask=bool:1.5"), "keep_frac is 1.5"));
  CHECK(contains(refusal("B=1 Hq=1 Sq=1 D=8 mask=bool:nan"), "keep_frac is"));
  CHECK(contains(refusal("B=2000000000 Hq=2000000000 Sq=2000000000 D=2000000000"), "2^40"));
  CHECK(contains(refusal("B=1 Hq=1 Sq=2000000 D=1 mask=additive"), "2^40"));
  CHECK(refusal("B=1 Hq=1 Sq=1 D=8 scale=0") == "accepted");
}

TEST_CASE("hostile texts stay short and printable in messages", "[problem][bad_input]") {
  const std::string message = refusal(std::string(1 << 20, 'x') + "\x1b[31m\n\0");
  CHECK(message.size() < 1000);
  CHECK_FALSE(contains(message, "\x1b"));
}

TEST_CASE("bad JSON problems are refused", "[problem][bad_input][json]") {
  const Json good{{"name", "x"}, {"B", 1}, {"Hq", 4},        {"Hkv", 2},        {"Sq", 3},
                  {"Skv", 3},    {"D", 8}, {"dtype", "f16"}, {"causal", "none"}};
  REQUIRE(problem_from_json(good, "t").ok());
  const auto refused = [&](const char* key, const Json& value) {
    Json json = good;
    json[key] = value;
    const auto parsed = problem_from_json(json, "suite \"s\", problem 1");
    REQUIRE_FALSE(parsed.ok());
    CHECK(contains(parsed.error().message(), "suite \"s\", problem 1"));
    return parsed.error().message();
  };
  CHECK(contains(refused("B", "1"), "\"B\""));
  CHECK(contains(refused("B", 1.5), "\"B\""));
  CHECK(contains(refused("B", 0), "\"B\""));
  CHECK(contains(refused("Sq", nullptr), "\"Sq\""));
  CHECK(contains(refused("Hq", 3), "not a multiple"));
  CHECK(contains(refused("dtype", "fp8"), "fp8"));
  CHECK(contains(refused("dtype", 16), "\"dtype\""));
  CHECK(contains(refused("causal", true), "\"causal\""));
  CHECK(contains(refused("layout", "bhsd"), "BHSD, BSHD"));
  CHECK(contains(refused("scale", std::numeric_limits<double>::quiet_NaN()), "finite"));
  CHECK(contains(refused("scale", "0.1"), "\"scale\""));
  CHECK(contains(refused("window", 3), "not known"));
  CHECK(contains(refused("mask", "bool"), "object"));
  CHECK(contains(refused("mask", {{"kind", "bool"}}), "keep_frac"));
  CHECK(contains(refused("mask", {{"kind", "bool"}, {"keep_frac", 0}}), "keep_frac"));
  CHECK(contains(refused("mask", {{"kind", "additive"}, {"keep_frac", 0.5}}), "not known"));
  CHECK(contains(refused("mask", {{"kind", "additive"}, {"shape", "[Sq,Skv]"}}), "shape"));
  CHECK(contains(refused("mask", {{"kind", "odd"}}), "kind"));
  CHECK(contains(refused("mask", {{"kind", "additive"}, {"values", "least"}}), "finite_min"));
  CHECK(contains(refused("mask", {{"kind", "none"}, {"values", "finite_min"}}), "values"));
  CHECK(contains(refused("layout", Json::array()), "BHSD, BSHD"));
  CHECK(contains(refused("layout", {{"q", "BSHD"}}), "\"k\""));
  CHECK(contains(refused("layout", {{"q", "BSHD"}, {"k", "BHSD"}, {"v", "x"}}), "BHSD, BSHD"));
  Json no_dtype = good;
  no_dtype.erase("dtype");
  CHECK_FALSE(problem_from_json(no_dtype, "t").ok());
  CHECK_FALSE(problem_from_json(Json::array(), "t").ok());
}

TEST_CASE("causal kinds see the keys that the page names", "[problem][causal]") {
  const auto p = parse_problem("B=1 Hq=1 Sq=3 Skv=5 D=4 causal=bottom_right").value();
  CHECK(visible_keys(p, 0) == 3);
  CHECK(visible_keys(p, 2) == 5);
  const auto short_keys = parse_problem("B=1 Hq=1 Sq=5 Skv=3 D=4 causal=bottom_right").value();
  CHECK(visible_keys(short_keys, 0) == 0);
  CHECK(visible_keys(short_keys, 1) == 0);
  CHECK(visible_keys(short_keys, 2) == 1);
  CHECK(visible_keys(short_keys, 4) == 3);
  const auto top = parse_problem("B=1 Hq=1 Sq=5 Skv=3 D=4 causal=top_left").value();
  CHECK(visible_keys(top, 0) == 1);
  CHECK(visible_keys(top, 4) == 3);
}

TEST_CASE("rows without keys are expected as a sum over the rows says", "[problem][causal]") {
  std::mt19937 random(13);
  for (int i = 0; i < 500; ++i) {
    const Problem p = random_problem(random);
    INFO(to_text(p));
    const double keep = p.mask == MaskKind::boolean ? p.keep_frac
                        : p.mask == MaskKind::additive && p.mask_values == MaskValues::drawn
                            ? k_additive_keep_frac
                            : 1.0;
    double rows = 0;
    for (std::int64_t row = 0; row < p.Sq; ++row) {
      double none = 1;
      for (std::int64_t key = 0; key < visible_keys(p, row); ++key) none *= 1 - keep;
      rows += none;
    }
    rows *= static_cast<double>(p.B);
    CHECK(expected_rows_without_keys(p) == Approx(rows).epsilon(1e-9).margin(1e-12));
  }
}

TEST_CASE("rows without keys are drawn as often as expected", "[problem][causal]") {
  for (const std::string text :
       {"B=1 Hq=3 Sq=8 Skv=2 D=1 mask=bool:0.5", "B=8 Hq=1 Sq=8 D=1 causal=top_left mask=bool:0.9",
        "B=2 Hq=1 Sq=9 Skv=4 D=1 causal=bottom_right mask=additive",
        "B=2 Hq=1 Sq=3 Skv=5 D=1 causal=bottom_right mask=bool:0.3"}) {
    INFO(text);
    const Problem p = parse_problem(text).value();
    // One byte an element of a bool mask; of an additive one, f32, the -inf are told by `kept`.
    const auto kept = [&](const Inputs& inputs, std::int64_t index) {
      if (p.mask == MaskKind::boolean)
        return inputs.mask[static_cast<std::size_t>(index)] != std::byte{0};
      float value = 0;
      std::memcpy(&value, inputs.mask.data() + index * 4, 4);
      return value != -std::numeric_limits<float>::infinity();
    };
    constexpr int draws = 4000;
    double found = 0;
    for (int seed = 0; seed < draws; ++seed) {
      const Inputs inputs = make_inputs(p, static_cast<std::uint32_t>(seed), Draw::normal);
      for (std::int64_t row = 0; row < p.B * p.Sq; ++row) {
        bool any = false;
        for (std::int64_t key = 0; key < visible_keys(p, row % p.Sq); ++key) {
          any = any || kept(inputs, row * p.Skv + key);
        }
        found += any ? 0 : 1;
      }
    }
    CHECK(found / draws == Approx(expected_rows_without_keys(p)).epsilon(0.05));
  }
}

TEST_CASE("rows without keys of problems of any size", "[problem][causal]") {
  const auto rows = [](const char* text) {
    return expected_rows_without_keys(parse_problem(text).value());
  };
  CHECK(rows("B=2 Hq=1 Sq=8 Skv=2 D=1") == 0);
  CHECK(rows("B=2 Hq=1 Sq=8 Skv=2 D=1 causal=bottom_right") == 12);
  CHECK(rows("B=2 Hq=1 Sq=8 Skv=2 D=1 causal=bottom_right mask=bool:1") == 12);
  CHECK(rows("B=2 Hq=4 Sq=8 Skv=2 D=1 mask=bool:0.5") == Approx(4));
  CHECK(rows("B=8 Hq=8 Sq=100000 D=1 causal=top_left mask=bool:0.9") == Approx(8 / 9.0));
  CHECK(rows("B=1 Hq=1 Sq=100000 D=1 causal=top_left mask=bool:1e-17") == Approx(1e5));
  CHECK(rows("B=1 Hq=1 Sq=1 Skv=2 D=1 mask=bool:1e-17") == Approx(1));
  CHECK(rows("B=4 Hq=16 Sq=1024 D=64 bf16 mask=bool:0.7") < 1e-300);
}

TEST_CASE("pairs of causal rules are exact", "[problem][work]") {
  std::mt19937 random(11);
  for (int i = 0; i < 300; ++i) {
    Problem p = random_problem(random);
    p.mask = MaskKind::none;
    p.keep_frac = 1.0;
    INFO(to_text(p));
    CHECK(work(p).kept_pairs == pairs_by_counting(p));
    CHECK(work(p).flops == 2.0 * static_cast<double>(p.D + p.Dv) * pairs_by_counting(p));
  }
}

TEST_CASE("work of a decode problem is what a reader computes by hand", "[problem][work]") {
  const auto p = parse_problem("B=4 Hq=32 Hkv=8 Sq=1 Skv=8192 D=128 bf16").value();
  const Work w = work(p);
  CHECK(w.flops == 4.0 * 32 * 8192 * 2 * 256);
  CHECK(w.min_bytes == 2.0 * (4.0 * 32 * 128 * 2 + 2.0 * 4 * 8 * 8192 * 128));
}

TEST_CASE("bytes leave out what a causal rule hides", "[problem][work]") {
  // Two of five queries see nothing; top_left with more keys than queries leaves keys unread.
  const auto rows = parse_problem("B=1 Hq=1 Sq=5 Skv=3 D=4 causal=bottom_right").value();
  CHECK(work(rows).min_bytes == 4.0 * (3 * 4 + 2 * 3 * 4 + 5 * 4));
  const auto keys = parse_problem("B=1 Hq=1 Sq=2 Skv=7 D=4 causal=top_left").value();
  CHECK(work(keys).min_bytes == 4.0 * (2 * 4 + 2 * 2 * 4 + 2 * 4));
}

TEST_CASE("a drawn mask is counted", "[problem][work]") {
  const auto p = parse_problem("B=2 Hq=3 Sq=200 Skv=300 D=4 mask=bool:0.7 causal=top_left").value();
  const Inputs inputs = make_inputs(p, 5, Draw::normal);
  const double drawn = kept_pairs(p, inputs.mask);
  const double expected = work(p).kept_pairs;
  CHECK(std::abs(drawn / expected - 1) < 0.02);
  CHECK(work(p, drawn).flops == 2.0 * 8 * drawn);
  const auto additive = parse_problem("B=2 Hq=3 Sq=200 Skv=300 D=4 mask=additive bf16").value();
  const Inputs additive_inputs = make_inputs(additive, 5, Draw::normal);
  CHECK(std::abs(kept_pairs(additive, additive_inputs.mask) / (0.9 * 2 * 3 * 200 * 300) - 1) <
        0.01);
}
