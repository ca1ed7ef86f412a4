// SPDX-License-Identifier: MIT
#include "html/html.hpp"
#include "stored_session.hpp"

using namespace wb;
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

TEST_CASE("an index entry repeats the report's figures", "[html][site]") {
  const Scratch scratch;
  const SiteEntry entry = must(site_entry(stored(scratch, whole_session()), "s-1"));
  CHECK(entry.name == "s-1");
  CHECK(entry.status == "closed");
  CHECK(entry.iterations == 3);
  CHECK(entry.wins == 1);
  CHECK(entry.fault.empty());
  CHECK(entry.over_sdpa_value > 0);
  CHECK(holds(entry.gain, "x ["));
  CHECK_FALSE(holds(entry.gain, "[e"));
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
