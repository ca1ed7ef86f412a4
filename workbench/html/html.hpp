// SPDX-License-Identifier: MIT
// Sessions as web pages: one self-contained file each, and an index over a folder of them. All of
// it follows from the log and the stored sources; every figure is the one that the Markdown report
// prints. No script, nothing from a network, nothing that a log's text could turn into markup.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "session/session.hpp"

namespace wb::html {

inline constexpr std::size_t k_max_html_bytes = 2'000'000;

/// The page of one session. Where it would be larger than k_max_html_bytes, first less of the
/// source diffs is shown, then less of them, of the listed events and of the report's end together,
/// and the page says so. With `index`, a file beside it, the page leads back there; else to no
/// file. Errors: damaged (a payload that is not JSON); limit (larger even so).
Result<std::string> session_html(const session::Session& session, const std::string& index = {});

/// One session of a site. `text` and figures as its report prints them.
struct SiteEntry {
  std::string name;           ///< of its folder; the page is "<name>.html"
  std::string fault;          ///< why it has no page; then nothing below is set
  std::string copy;           ///< of which other one it is a copy, in a sentence
  std::string problems_text;  ///< of the suite: what is the same in the same task
  std::string title, suite, device, plan, status, start, incumbent;
  std::string gain, over_sdpa;            ///< as on the first screen, without events; HTML
  double over_sdpa_value = 0;             ///< geometric mean; 0: not measured
  std::int64_t problems = 0, lost = 0;    ///< measured beside a rival; slower there
  std::int64_t iterations = 0, wins = 0;  ///< the baseline is none
  std::string opened;                     ///< time of the first event
  std::string used_device_s, used_compile_cpu_s, used_tokens, cost;  ///< totals; HTML
  double device_s = 0, usd = 0;                                      ///< usd: as in `cost`
  int usd_decimals = 2;                                              ///< as in `cost`
  bool is_used = false, is_priced = true;  ///< something was debited; all of it had a rate
  bool is_redacted = false;
};

/// What the index says of a session. Errors: as session_html().
Result<SiteEntry> site_entry(const session::Session& session, std::string name);

/// index.html over entries; `heading` is the site's. Links are relative.
std::string site_index(const std::vector<SiteEntry>& entries, const std::string& heading);

}  // namespace wb::html
