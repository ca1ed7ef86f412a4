// SPDX-License-Identifier: MIT
// The names of problems on pages, and the problems' sizes.
#include "report/names.hpp"
#include "core/json.hpp"

#include "log_builder.hpp"
#include "report/report.hpp"
#include "report/sections.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::report;
using namespace wb::test;

TEST_CASE("a problem without a name gets a short one", "[report][names]") {
  CHECK(short_name("B=1 Hq=8 Hkv=8 Sq=1 Skv=4096 D=64 f32 causal=none") == "B1_H8_S1x4096_D64_f32");
  CHECK(short_name("B=2 Hq=8 Hkv=2 Sq=256 Skv=256 D=64 bf16 causal=none") ==
        "B2_H8kv2_S256_D64_bf16");
  CHECK(short_name("B=1 Hq=4 Sq=512 D=64 f16 causal=top_left") == "B1_H4_S512_D64_f16_causal");
  CHECK(short_name("B=1 Hq=4 Sq=5 Skv=9 D=64 Dv=32 f16 causal=bottom_right mask=bool:0.7") ==
        "B1_H4_S5x9_D64v32_f16_causal_br_mask0.7");
  CHECK(short_name("B=1 Hq=4 Sq=5 D=64 f16 causal=none mask=additive layout=BSHD scale=0.1") ==
        "B1_H4_S5_D64_f16_bias_bshd_scale0.1");
}

TEST_CASE("text that is no problem's stays as it is", "[report][names]") {
  for (const std::string words : {"", "n6_S64", "B=1 Hq=2 nonsense", "Hq=0 B=1 Sq=1 D=1",
                                  "B=99999999999999999999 Hq=1 Sq=1 D=1"}) {
    CHECK(short_name(words) == words);
    CHECK_FALSE(output_elements(words).has_value());
  }
  const std::string huge = "Hq=" + std::string(1'000'000, '1');
  CHECK(short_name(huge) == huge);
}

TEST_CASE("elements of an output", "[report][names]") {
  CHECK(output_elements("B=2 Hq=8 Hkv=2 Sq=256 Skv=512 D=64 Dv=32 bf16 causal=none") ==
        2 * 8 * 256 * 32);
}

namespace {

LogBuilder unnamed(const std::vector<std::string>& problems) {
  LogBuilder log;
  Json opened = opened_payload();
  Json list = Json::array();
  for (const std::string& problem : problems) {
    list.push_back({{"problem", problem}, {"name", ""}, {"weight", 1.0}, {"held_out", false}});
  }
  opened["suite"]["problems"] = list;
  log.add("session_opened", opened);
  run_baseline(log);
  run_win(log, 1);
  close_session(log, "done");
  return log;
}

std::size_t occurrences(const std::string& page, const std::string& words) {
  std::size_t n = 0;
  for (auto at = page.find(words); at != std::string::npos; at = page.find(words, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("the full text of a problem stands once, in the problem table", "[report][names]") {
  LogBuilder log = unnamed({k_prefill, k_decode});
  const std::string page = render_session(log.view());
  for (const char* problem : {k_prefill, k_decode}) {
    INFO(problem);
    CHECK(occurrences(page, problem) == 1);
    CHECK(occurrences(page, short_name(problem)) > 5);
  }
  CHECK(page.find("bytes in all") == std::string::npos);
  CHECK(occurrences(render_iteration(log.view(), log.view().iterations[1]), k_prefill) == 0);
}

TEST_CASE("recorded words use the names of the page", "[report][names]") {
  const std::string longer = std::string(k_prefill) + " mask=bool:0.7";
  const LogBuilder log = unnamed({k_prefill, longer});
  const Facts facts(log.view());
  CHECK(facts.words("slow on " + longer + ", fast on " + k_prefill + ".") ==
        "slow on B1_H8_S256_D64_f32_mask0.7, fast on B1_H8_S256_D64_f32.");
  CHECK(facts.words("nothing to replace") == "nothing to replace");
}

TEST_CASE("two problems never share a name", "[report][names]") {
  // A suite may name one problem as another would be shortened.
  LogBuilder log;
  Json opened = opened_payload();
  opened["suite"]["problems"][0]["name"] = short_name(k_decode);
  opened["suite"]["problems"][1]["name"] = "";
  log.add("session_opened", opened);
  const Facts facts(log.view());
  CHECK(facts.title(k_prefill) == "B4_H8kv2_S1x1024_D64_f32");
  CHECK(facts.title(k_decode) == "B4_H8kv2_S1x1024_D64_f32_2");
}
