// SPDX-License-Identifier: MIT
// Figures, untrusted text and problems' names as Markdown.
#include "report/format.hpp"

#include "core/json.hpp"
#include "log_builder.hpp"
#include "report/facts.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::report;
using namespace wb::test;

namespace {

Ratio make(double value, double low, double high) {
  Ratio ratio;
  ratio.value = value;
  ratio.low = low;
  ratio.high = high;
  return ratio;
}

}  // namespace

TEST_CASE("a speedup has the digits that its interval supports", "[report][format]") {
  CHECK(speedup(make(1.3234, 1.289, 1.352)) == "1.32x [1.29, 1.35]");
  CHECK(speedup(make(0.0154, 0.0149, 0.0160)) == "0.0154x [0.0149, 0.0160]");
  CHECK(speedup(make(12.34, 11.0, 13.0)) == "12.3x [11.0, 13.0]");
  CHECK(speedup(make(441.2, 400.0, 480.0)) == "441x [400, 480]");
  // A narrow interval gets more digits, and no end is rounded onto 1.
  CHECK(speedup(make(1.0124, 1.0104, 1.0139)) == "1.012x [1.010, 1.014]");
  CHECK(speedup(make(1.05, 0.9996, 1.1)) == "1.0500x [0.9996, 1.1000]");
  CHECK(speedup(Ratio{}) == "not measured");
}

TEST_CASE("times, shares and durations are printed without exponents", "[report][format]") {
  CHECK(microseconds(5210.44) == "5210");
  CHECK(microseconds(10.5234) == "10.52");
  CHECK(microseconds(0.01234) == "0.0123");
  CHECK(microseconds(12345678.0) == "12345678");
  CHECK(microseconds(std::nullopt) == "not measured");
  CHECK(percent(0.0123) == "1.2 %");
  CHECK(percent(0.31) == "31 %");
  CHECK(percent(1.75) == "175 %");
  CHECK(percent(0.0004) == "0.040 %");
  CHECK(percent(0.0) == "0 %");
  CHECK(duration(0.04) == "0.0 s");
  CHECK(duration(59.4) == "59 s");
  CHECK(duration(252) == "4 min 12 s");
  CHECK(duration(600) == "10 min");
  CHECK(duration(3780) == "1 h 03 min");
  CHECK(duration(-1) == "unknown");
  CHECK(with_prefix(1.568e11) == "156.8 G");
  CHECK(with_prefix(12) == "12.00 ");
  CHECK(bytes(33554432) == "32 MiB");
  CHECK(bytes(27145465856.0) == "25.3 GiB");
}

TEST_CASE("events are cited singly or as a range", "[report][format]") {
  CHECK(cite(12) == " [e12]");
  CHECK(cite(0) == "");
  CHECK(cite({3, 5}) == " [e3] [e5]");
  CHECK(cite({9, 3, 5, 7}) == " [e3] to [e9] (4 events)");
  // Nothing lies between them: the range says it all.
  CHECK(cite({5, 3, 4, 6}) == " [e3] to [e6]");
  CHECK(cite(std::vector<std::int64_t>{}) == "");
}

TEST_CASE("tables are padded and aligned", "[report][format]") {
  Table table({"name", "us>"});
  table.row({"a", "1.5"});
  table.row({" long name", "10"});
  CHECK(table.str() ==
        "| name      |  us |\n"
        "|-----------|----:|\n"
        "| a         | 1.5 |\n"
        "| long name |  10 |\n");
}

TEST_CASE("time between two events", "[report][format]") {
  CHECK(seconds_between("2026-11-20T18:03:22.123Z", "2026-11-20T18:04:22.623Z") == Approx(60.5));
  CHECK(seconds_between("2026-12-31T23:59:59Z", "2027-01-01T00:00:01.000Z") == Approx(2.0));
  CHECK_FALSE(seconds_between("yesterday", "2026-11-20T18:04:22.623Z").has_value());
  CHECK_FALSE(seconds_between("2026-02-31T00:00:00Z", "2026-11-20T18:04:22Z").has_value());
}

TEST_CASE("fields of the wrong type are not there", "[report][format]") {
  const wb::Json json{{"a", "text"}, {"b", 1.5}, {"c", nullptr}, {"d", {1, "x", nullptr}}};
  CHECK(text(json, "b").empty());
  CHECK_FALSE(number(json, "a").has_value());
  CHECK_FALSE(number(json, "c").has_value());
  CHECK_FALSE(integer(wb::Json(5), "a").has_value());
  CHECK_FALSE(integer(wb::Json{{"a", 1e300}}, "a").has_value());
  CHECK(strings(json, "d") == std::vector<std::string>{"x"});
  CHECK_FALSE(is_true(json, "a"));
}

// Text from kernels, compilers and agents must not change how a page is read.

TEST_CASE("inline text cannot act as Markdown, HTML or a table cell", "[report][escape]") {
  CHECK(inline_text("a|b") == "a\\|b");
  CHECK(inline_text("<script>alert(1)</script>") == "&lt;script&gt;alert(1)&lt;/script&gt;");
  CHECK(inline_text("[x](y) `c` *b* a&b \\| ~s~") ==
        "\\[x\\](y) \\`c\\` \\*b\\* a&amp;b \\\\\\| \\~s\\~");
  CHECK(inline_text("line\none\r\n\ttwo ") == "line one two");
  CHECK(inline_text("http://a.b www.c.d") == "http&#58;//a.b www&#46;c.d");
  CHECK(inline_text("cpu_tiled __m512 _x_") == "cpu_tiled \\_\\_m512 \\_x\\_");
  CHECK(inline_text("gain [e99]") == "gain \\[e99\\]");
}

TEST_CASE("hidden and reordering characters are shown", "[report][escape]") {
  CHECK(plain("a\x1b[31mred") == "a{U+001B}[31mred");
  CHECK(plain("evil\u202etxt.exe\u2066") == "evil{U+202E}txt.exe{U+2066}");
  CHECK(plain("zero\u200bwidth\ufeff\u00ad") == "zero{U+200B}width{U+FEFF}{U+00AD}");
  CHECK(plain(std::string_view("nul\0here", 8)) == "nul{U+0000}here");
  CHECK(plain("bad\xff\xc0\x80") == "bad{0xFF}{0xC0}{0x80}");
  CHECK(plain("\xed\xa0\x80 \xf4\x90\x80\x80") == "{0xED}{0xA0}{0x80} {0xF4}{0x90}{0x80}{0x80}");
  CHECK(plain("h\u00e9 \u4f60 \U0001f600") == "h\u00e9 \u4f60 \U0001f600");
}

TEST_CASE("long text is cut at a character and counted", "[report][escape]") {
  CHECK(plain(std::string(500, 'x'), 10) == "xxxxxxxxxx ... (500 bytes in all)");
  CHECK(plain("\u00e9\u00e9\u00e9", 3) == "\u00e9\u00e9 ... (6 bytes in all)");
}

TEST_CASE("brief text ends with a word", "[report][escape]") {
  CHECK(brief("one two three", 40) == "one two three");
  CHECK(brief("one two three", 9) == "one two ...");
  CHECK(brief("one two three  ", 13) == "one two three");
  CHECK(brief("abcdefghijkl", 6) == "abcdef ...");
  CHECK(brief("\u00e9\u00e9\u00e9\u00e9", 5) == "\u00e9\u00e9 ...");
  CHECK(brief("a|b <i> c d", 9) == "a\\|b &lt;i&gt; c ...");
}

TEST_CASE("a clause is a sentence that can be read, or ends in one ellipsis", "[report][escape]") {
  CHECK(clause("one two three", 40) == "one two three");
  CHECK(clause("tiles of 32 rows; each block has more work to do", 30) == "tiles of 32 rows");
  CHECK(clause("Tiles of 32 rows. Each block has more work.", 30) == "Tiles of 32 rows");
  CHECK(clause("rows share each tile of K and V, where they fit", 40) ==
        "rows share each tile of K and V \u2026");
  // Neither an abbreviation nor a comma in brackets ends a clause, nor does one that says little.
  CHECK(clause("wide loads, e.g. of 16 bytes a thread in turn", 30) ==
        "wide loads, e.g. of 16 bytes a \u2026");
  CHECK(clause("the units (mma, wgmma) multiply two tiles", 30) == "the units (mma, wgmma) \u2026");
  CHECK(clause("so, each thread of a warp owns whole rows", 24) == "so, each thread of a \u2026");
  CHECK(clause("abcdefghijkl", 6) == "abcdef \u2026");
  CHECK(clause("\u00e9\u00e9\u00e9\u00e9", 5) == "\u00e9\u00e9 \u2026");
  CHECK(clause("a|b <i> c d", 9) == "a\\|b &lt;i&gt; c \u2026");
}

TEST_CASE("a code span is used for harmless names only", "[report][escape]") {
  CHECK(code("cpu_tiled@1f0c44aa") == "`cpu_tiled@1f0c44aa`");
  CHECK(code("a`b") == "a\\`b");
  CHECK(code("a|b") == "a\\|b");
  CHECK(code("") == "");
}

TEST_CASE("a fence cannot be closed from inside", "[report][escape]") {
  const std::string block = fenced("before\n```\n# not a heading\n````\nafter");
  CHECK(block == "`````text\nbefore\n```\n# not a heading\n````\nafter\n`````\n");
  CHECK(fenced("\n\n").empty());
}

TEST_CASE("a block is capped in lines and bytes, head and tail kept", "[report][escape]") {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "line " + std::to_string(i) + "\n";
  const std::string block = fenced(text, 8);
  CHECK(block.find("line 5\n... (992 lines left out)\nline 998\nline 999\n") != std::string::npos);
  CHECK(block.find("line 6\n") == std::string::npos);
  const std::string huge = fenced(std::string(1 << 20, 'y') + "\n" + text);
  CHECK(huge.size() < 20'000);
}

TEST_CASE("hostile names and messages stay inside their cells", "[report][escape]") {
  using namespace wb::test;
  LogBuilder log;
  open_session(log);
  run_baseline(log);
  const std::string name = "x|y\n# Gain: 9.99x [e1]<img src=x>\u202e";
  open_iteration(log, 1, name, "theory | with **bold**\n\n## Fake heading\n- [x] done", 1.5);
  fail_build(log, 1, name, "```\n# escaped?\n\x1b[2J\u202e\n~~~");
  close_iteration(log, 1, "invalid", "compile", "```\n## also fake\n```");
  const wb::session::SessionView& view = log.view();
  for (const std::string& page :
       {wb::report::render_session(view), wb::report::render_iteration(view, view.iterations[1])}) {
    CHECK(page.find("\n# Gain") == std::string::npos);
    CHECK(page.find("<img") == std::string::npos);
    CHECK(page.find("\n## Fake") == std::string::npos);
    CHECK(page.find("\u202e") == std::string::npos);
    CHECK(page.find('\x1b') == std::string::npos);
    // Every row of a table has as many cells as its head.
    std::size_t bars = 0;
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) {
      std::size_t here = 0;
      for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '|' && (i == 0 || line[i - 1] != '\\')) ++here;
      }
      if (line.empty() || line[0] != '|') {
        bars = 0;
      } else if (bars == 0) {
        bars = here;
      } else {
        INFO(line);
        CHECK(here == bars);
      }
    }
  }
  // What a fence holds stays in it: the fence is longer than any run of backticks inside.
  const std::string page = wb::report::render_iteration(view, view.iterations[1]);
  CHECK(page.find("````text\n```\n## also fake\n```\n````\n") != std::string::npos);
}

// The names of problems on pages, and the problems' sizes.

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

TEST_CASE("recorded words have no exponents and no halved rates", "[report][names]") {
  const LogBuilder log = unnamed({k_prefill});
  const Facts facts(log.view());
  CHECK(facts.words("2.93e+03 GB/s, headroom 1.26e+03x; 1.8e+03 % (K, 1.2e+06) in 3.1e-05 s") ==
        "2930 GB/s, headroom 1260x; 1800 % (K, 1200000) in 0.000031 s");
  CHECK(facts.words("10 % of the peak (NVIDIA H200 datasheet, tensor rates halved)") ==
        "10 % of the peak (NVIDIA H200 datasheet, dense)");
  // Names stay, and so does what is no figure.
  for (const std::string kept :
       {"k@1e+03", "v1e+03", "1e+03abc", "e+03", "1e+3", "2e+99", "1e+0"}) {
    INFO(kept);
    CHECK(facts.words(kept) == kept);
  }
  CHECK(significant(2931.4, 3) == "2930");
  CHECK(significant(123456.0, 4) == "123500");
  CHECK(significant(12.34, 3) == "12.3");
  CHECK(significant(2.0, 3) == "2");
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
