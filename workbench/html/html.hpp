// SPDX-License-Identifier: MIT
// Sessions as web pages: one self-contained file each, and an index of a folder of them. Everything
// comes from the log and the stored sources, with the figures of the Markdown report. No script, no
// network access, and text from a log never becomes markup.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "session/session.hpp"

namespace wb::html {

inline constexpr std::size_t k_max_html_bytes = 2'000'000;

/// The page of one session. If it would exceed k_max_html_bytes, source diffs are shortened first,
/// then also the listed events and the report's end, and the page says so. With `index`, a file
/// beside it, the page links back to it. `view` is what the page says of the session, else its log
/// as it stands. Errors: damaged (a payload that is not JSON); limit (too large even then).
Result<std::string> session_html(const session::Session& session, const std::string& index = {},
                                 const session::SessionView* view = nullptr);

/// One session of a site, with texts and figures as its report prints them.
struct SiteEntry {
  std::string name;           ///< of its folder; the page is "<name>.html"
  std::string fault;          ///< why it has no page; then no member below is set
  std::string copy;           ///< the session that it is a copy of, in a sentence
  std::string problems_text;  ///< of the suite; equal for equal tasks
  std::string title, suite, device, plan, status, start;
  std::string incumbent;        ///< what the outcome advises: a variant, or several with commas
  std::string gain, over_sdpa;  ///< of that, as on the first screen, without events; HTML
  double over_sdpa_value = 0;   ///< mean; 0: not measured on every problem
  /// Problems measured beside a rival, and those slower than it.
  std::int64_t problems = 0, lost = 0;
  std::int64_t iterations = 0, wins = 0;                             ///< without the baseline
  std::string opened;                                                ///< time of the first event
  std::string used_device_s, used_compile_cpu_s, used_tokens, cost;  ///< totals; HTML
  double device_s = 0, usd = 0;                                      ///< usd: as in `cost`
  int usd_decimals = 2;                                              ///< as in `cost`
  bool is_used = false, is_priced = true;  ///< something was debited; all of it had a rate
  bool is_listed = false;                  ///< some of it was priced by list prices
  bool is_redacted = false;
};

/// The index entry of a session. Errors: as session_html().
Result<SiteEntry> site_entry(const session::Session& session, std::string name);

/// index.html of the entries; `heading` is the site's. Links are relative.
std::string site_index(const std::vector<SiteEntry>& entries, const std::string& heading);

}  // namespace wb::html
