// SPDX-License-Identifier: MIT
// What each iteration changed: the stored sources of its variant beside those of its parent.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/json.hpp"
#include "html/document.hpp"
#include "html/text.hpp"
#include "report/source_changes.hpp"
#include "session/line_diff.hpp"

namespace wb::html {
namespace {

constexpr std::size_t k_max_lines = 400;

using Files = report::SourceFiles;

struct Change {
  std::string body;  ///< HTML
  std::int64_t added = 0, removed = 0, files = 0;
};

void add_file(Change& change, const std::string& path, std::string_view before,
              std::string_view after) {
  const auto lines = session::line_diff(before, after);
  if (!lines || lines->empty()) return;
  ++change.files;
  change.body += fmt::format("<p><code>{}</code></p><pre class=\"diff\"><code>", words(path, 200));
  std::size_t shown = 0;
  for (const session::DiffLine& line : *lines) {
    change.added += line.kind == '+' ? 1 : 0;
    change.removed += line.kind == '-' ? 1 : 0;
    if (++shown > k_max_lines) continue;
    if (line.kind == '@') {
      change.body += fmt::format("<span class=\"h\">{}</span>", source_line(line.text));
      continue;
    }
    const std::string_view css = line.kind == '+'   ? " class=\"a\""
                                 : line.kind == '-' ? " class=\"d\""
                                                    : "";
    change.body += fmt::format("<span{}>{}{}</span>", css, line.kind, source_line(line.text));
  }
  if (shown > k_max_lines) {
    change.body +=
        fmt::format("<span class=\"h\">{} left out</span>",
                    report::count(static_cast<std::int64_t>(shown - k_max_lines), "line"));
  }
  change.body += "</code></pre>";
}

Change change_of(const Files& before, const Files& after) {
  Change change;
  for (const auto& [path, content] : after) {
    const auto old = before.find(path);
    add_file(change, path, old == before.end() ? std::string_view() : std::string_view(old->second),
             content);
  }
  for (const auto& [path, content] : before) {
    if (!after.contains(path)) add_file(change, path, content, {});
  }
  return change;
}

struct Versus {
  std::string parent, before_id, after_id;
};

std::string item(PageData& page_data, const session::IterationView& iteration,
                 const Versus& versus) {
  const std::string label = words(report::candidate_label(iteration), 80);
  std::string head =
      fmt::format("iteration {}: {} \u2192 {}", iteration.number, words(versus.parent, 80), label);
  const std::string configuration =
      report::configuration_text(report::field(iteration.opened.payload, "configuration"));
  const std::string with =
      configuration.empty() ? std::string() : " (" + words(configuration, 160) + ")";
  const std::string link = page_data.cited.link(iteration.opened.seq);
  const std::string cite =
      link.empty() ? std::string()
                   : fmt::format(" <a href=\"{}\">[e{}]</a>", link, iteration.opened.seq);
  if (versus.before_id == versus.after_id) {
    return fmt::format("<p>{}: the same sources{}{}</p>", head, with, cite);
  }
  const auto before = page_data.session.load_variant_files(versus.before_id);
  const auto after = page_data.session.load_variant_files(versus.after_id);
  if (!before || !after) {
    return fmt::format(
        "<p>{}{}{}: <span class=\"soft\">sources are not stored in the session"
        "</span></p>",
        head, with, cite);
  }
  const Change change =
      change_of(report::without_own_folder(*before), report::without_own_folder(*after));
  return fmt::format(
      "<details><summary>{}{} <span class=\"soft\">{}, +{} \u2212{}</span></summary>{}{}</details>",
      head, with, report::count(change.files, "file"), change.added, change.removed, change.body,
      cite);
}

}  // namespace

std::string diffs_part(PageData& page_data, std::size_t max_bytes) {
  const report::Facts& facts = page_data.page.facts;
  if (facts.tries.empty()) return {};
  std::string out = "<section id=\"diffs\"><h2>Source changes</h2>\n";
  std::string incumbent = facts.start;
  std::size_t left_out = 0;
  for (const session::IterationView* iteration : facts.tries) {
    Versus versus;
    versus.parent = report::text(iteration->opened.payload, "parent");
    if (versus.parent.empty()) versus.parent = incumbent;
    versus.before_id = report::variant_id_of(facts.view, versus.parent);
    versus.after_id = report::own_variant_id(*iteration);
    if (iteration->incumbent_changed) {
      incumbent = report::text(iteration->incumbent_changed->payload, "to");
    }
    const std::string one = item(page_data, *iteration, versus);
    if (out.size() + one.size() > max_bytes) {
      ++left_out;
      continue;
    }
    out += one + "\n";
  }
  if (left_out > 0) {
    out += fmt::format(
        "<p class=\"soft\">{} left out to keep the page small; the sources are in "
        "the session's kernels folder.</p>",
        report::count(static_cast<std::int64_t>(left_out), "change"));
  }
  return out + "</section>\n";
}

}  // namespace wb::html
