// SPDX-License-Identifier: MIT
#include "html/html.hpp"

#include <regex>

#include "report/report.hpp"
#include "stored_session.hpp"

using namespace wb;
using namespace wb::html;
using namespace wb::report;
using namespace wb::session;
using namespace wb::test;
using testing::must;
using testing::Scratch;

namespace {

SiteEntry entry_named(std::string name, double over_sdpa, double device_s) {
  SiteEntry entry;
  entry.name = std::move(name);
  entry.suite = "v3";
  entry.device = "a GPU";
  entry.plan = "hot burst";
  entry.status = "closed";
  entry.incumbent = "k_" + entry.name;
  entry.over_sdpa_value = over_sdpa;
  entry.over_sdpa = over_sdpa > 0 ? "OVER " + entry.name.substr(0, 1) : "";
  entry.problems = 3;
  entry.device_s = device_s;
  entry.is_priced = false;
  return entry;
}

}  // namespace

namespace {

/// The row of the report's table of costs that adds all up: cells without the spaces around them.
std::vector<std::string> last_of_costs(const std::string& report) {
  const std::string costs = report.substr(report.find("## Cost"));
  const std::size_t parts = costs.find("| part");
  const std::string row = line_with(costs.substr(parts), "| **total**");
  std::vector<std::string> cells;
  const std::regex cell("\\| *([^|]*[^| ]|) *(?=\\|)");
  for (std::sregex_iterator it(row.begin(), row.end(), cell), end; it != end; ++it) {
    cells.push_back((*it)[1]);
  }
  return cells;
}

}  // namespace

TEST_CASE("an index entry repeats the report's figures", "[html][site]") {
  const Scratch scratch;
  LogBuilder log = whole_session();
  const std::string report = render_session(log.view());
  const SiteEntry entry = must(site_entry(stored(scratch, log), "s-1"));
  CHECK(entry.name == "s-1");
  CHECK(entry.status == "closed");
  CHECK(entry.iterations == 3);
  CHECK(entry.wins == 1);
  CHECK(entry.fault.empty());
  CHECK(entry.over_sdpa_value > 0);
  CHECK_FALSE(holds(entry.gain, "[e"));
  const std::regex interval("[0-9.]+x \\[[0-9.]+, [0-9.]+\\]"), ratio("[0-9.]+x");
  std::smatch found;
  REQUIRE(std::regex_search(entry.gain, found, interval));
  CHECK(holds(line_with(report, "- **Gain:**"), found.str()));
  REQUIRE(std::regex_search(entry.over_sdpa, found, ratio));
  CHECK(holds(report.substr(0, report.find("\n## ")), found.str()));
  // "total", wall, compiler, device, tokens, cost
  const std::vector<std::string> total = last_of_costs(report);
  REQUIRE(total.size() >= 6);
  CHECK(entry.used_compile_cpu_s == total[2]);
  CHECK(entry.used_device_s == total[3]);
  CHECK(entry.used_tokens == total[4]);
  CHECK(entry.cost == total[5]);
  CHECK(holds(site_index({entry}, "x"), "<td class=\"r\">" + entry.cost + "</td>"));
}

TEST_CASE("a session that only compared stands under what it compared", "[html][site]") {
  constexpr const char* k_other = "B=1 Hq=8 Hkv=8 Sq=512 Skv=512 D=64 f32 causal=none";
  LogBuilder log;
  open_session(log);
  run_baseline(log);
  for (const char* subject : {"own@00000009", k_torch}) {
    log.add("verdict_given", {{"iteration", nullptr},
                              {"subject", subject},
                              {"problem", k_other},
                              {"pass", true},
                              {"outcome", "pass"},
                              {"message", ""},
                              {"versions", Json::object()},
                              {"runs", Json::array()}});
  }
  log.add("comparison_made", {{"iteration", nullptr},
                              {"phase", "standalone"},
                              {"problem", k_other},
                              {"plan", "hot"},
                              {"regime", "sustained"},
                              {"candidate", "own@00000009"},
                              {"against", k_torch},
                              {"role", "rival"},
                              {"speedup", 1.25},
                              {"interval", interval(1.2, 1.3)},
                              {"outcome", "faster"},
                              {"candidate_us", 40.0},
                              {"against_us", 50.0},
                              {"instances", 5},
                              {"rounds", 5}});
  const Scratch scratch;
  const SiteEntry entry = must(site_entry(stored(scratch, log), "s"));
  CHECK(entry.suite == "1 problem compared between iterations");
  CHECK(entry.plan == "hot sustained");
  CHECK(entry.incumbent == "own@00000009");
  CHECK(entry.over_sdpa.starts_with("1.25x"));
  CHECK(entry.problems == 1);
  CHECK(entry.lost == 0);
}

TEST_CASE("a site's cost has the report's decimals, and its sums have them too", "[html][site]") {
  LogBuilder log;
  open_session(log);
  log.add("cost_debited", {{"iteration", nullptr},
                           {"item", "device"},
                           {"quantity", 0.0421},
                           {"unit", "s"},
                           {"usd", 0.0123}});
  const Scratch scratch;
  const SiteEntry entry = must(site_entry(stored(scratch, log), "s"));
  const std::vector<std::string> total = last_of_costs(render_session(log.view()));
  REQUIRE(total.size() >= 6);
  CHECK(entry.used_device_s == total[3]);
  CHECK(entry.cost == total[5]);
  CHECK(entry.cost.starts_with("$0.0123"));
  CHECK(times(site_index({entry}, "x"), ">" + entry.cost + "<") == 2);  // and so far
}

TEST_CASE("the best of a suite is the highest beside SDPA; cost adds up", "[html][site]") {
  SiteEntry broken;
  broken.name = "broken";
  broken.fault = "cannot read <it>";
  const std::string page = site_index(
      {entry_named("a", 0.8, 10.25), entry_named("b", 1.7, 20), entry_named("c", 0, 5), broken},
      "Some & all");
  const std::size_t best = page.find("id=\"best\""), all = page.find("id=\"sessions\"");
  REQUIRE(best < all);
  const std::string table = page.substr(best, all - best);
  CHECK(holds(table, "OVER b"));
  CHECK_FALSE(holds(table, "OVER a"));
  CHECK(holds(table, "<td class=\"r\">3</td>"));    // of three sessions
  CHECK(holds(page, "<td class=\"r\">35.2</td>"));  // 10.25 + 20 + 5, as the last line sums it
  CHECK(holds(page, "broken: cannot read &lt;it&gt;"));
  CHECK(holds(page, "Some &amp; all"));
  CHECK(holds(page, "href=\"./a.html\""));
}

TEST_CASE("no name of a folder is an address or markup", "[html][site]") {
  const std::string page =
      site_index({entry_named("javascript:alert(1)", 1, 1),
                  entry_named("x\"><img onerror=x>", 1, 1), entry_named("../up", 1, 1)},
                 "</title><script>");
  CHECK(holds(page, "href=\"./javascript%3Aalert%281%29.html\""));
  CHECK(holds(page, "href=\"./..%2Fup.html\""));
  CHECK_FALSE(holds(page, "<img"));
  CHECK_FALSE(holds(page, "<script"));
}

TEST_CASE("a page of a site leads back to its index, and one alone to no file", "[html][site]") {
  const Scratch scratch;
  const Session session = stored(scratch, whole_session());
  const std::string link = "<a href=\"./index.html\">all sessions</a>";
  CHECK(times(must(session_html(session, "index.html")), link) == 1);
  CHECK_FALSE(holds(must(session_html(session)), "all sessions"));
}
