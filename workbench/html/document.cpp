// SPDX-License-Identifier: MIT
#include "html/document.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/json.hpp"
#include "html/text.hpp"
#include "report/fields.hpp"

namespace wb::html {

namespace {

Result<void> read_into(const session::Session& session, const session::IterationView& iteration,
                       TurnTable& table) {
  for (const std::int64_t seq : iteration.turns) {
    WB_TRY_ASSIGN(const Json payload, session.log().payload(seq));
    TurnRow row;
    row.seq = seq;
    row.iteration = iteration.number;
    row.phase = report::text(payload, "phase");
    row.plan = report::text(payload, "plan");
    row.regime = report::text(payload, "regime");
    row.problem = report::text(payload, "problem");
    row.subject = report::text(payload, "subject");
    row.wall_us = report::number(payload, "wall_us").value_or(0);
    const Json& samples = report::field(payload, "samples_us");
    if (samples.is_array()) {
      for (const Json& sample : samples) {
        if (sample.is_number() && std::isfinite(sample.get<double>())) {
          row.samples_us.push_back(sample.get<double>());
        }
      }
    }
    table.push_back(std::move(row));
  }
  return {};
}

}  // namespace

Result<TurnTable> read_turns(const session::Session& session, const session::SessionView& view) {
  TurnTable table;
  WB_TRY(read_into(session, view.outside, table));
  for (const session::IterationView& iteration : view.iterations) {
    WB_TRY(read_into(session, iteration, table));
  }
  return table;
}

std::string Citations::link(std::int64_t seq) {
  if (seq < 1 || seq > m_events) return {};
  if (!m_cited.contains(seq)) {
    if (m_cited.size() >= m_limit) return {};
    m_cited.insert(seq);
  }
  return fmt::format("#e{}", seq);
}

std::string figure(std::string_view id, std::string_view heading, std::string_view safe_caption,
                   const std::function<std::string(double width)>& draw, std::string_view after) {
  return fmt::format(
      "<section id=\"{}\"><h2>{}</h2><figure><div class=\"wide\">{}</div><div class=\"narrow\">{}"
      "</div><figcaption>{}</figcaption></figure>{}</section>\n",
      id, heading, draw(k_wide_px), draw(k_narrow_px), safe_caption, after);
}

std::string absent(std::string_view id, std::string_view heading, std::string_view safe_reason) {
  return fmt::format("<section id=\"{}\"><h2>{}</h2><p class=\"soft\">{}</p></section>\n", id,
                     heading, safe_reason);
}

HtmlTable::HtmlTable(const std::vector<std::string>& header) {
  m_text = "<div class=\"scroll\"><table><thead><tr>";
  for (std::string name : header) {
    m_right.push_back(name.ends_with('>'));
    if (m_right.back()) name.pop_back();
    m_text += fmt::format("<th{}>{}</th>", m_right.back() ? " class=\"r\"" : "", name);
  }
  m_text += "</tr></thead><tbody>\n";
}

void HtmlTable::row(const std::vector<std::string>& cells) {
  m_text += "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    m_text += fmt::format("<td{}>{}</td>", m_right[i] ? " class=\"r\"" : "", cells[i]);
  }
  m_text += "</tr>\n";
}

std::string HtmlTable::str() const {
  return m_text + "</tbody></table></div>\n";
}

std::string legend(const std::vector<LegendEntry>& keys) {
  std::string out = "<ul class=\"legend\">";
  for (const LegendEntry& key : keys) {
    Svg svg(14, 12, key.safe_words);
    svg.mark(key.shape, 7, 6, 4, key.css);
    out += fmt::format("<li>{} {}</li>", svg.str(), key.safe_words);
  }
  return out + "</ul>";
}

std::string document(std::string_view safe_title, std::string_view body) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      // A second barrier: unescaped text could neither run nor load anything.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; img-src data:\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      safe_title, style(), body);
}

// The only style sheet: paper colors and few lines. The hues are those of Okabe and Ito, darkened
// or lightened to be legible on each ground; a shape or a word repeats what a color says.

std::string_view style() {
  return R"css(
:root{--paper:#fdfdfb;--panel:#f5f4f0;--ink:#1d1d1f;--soft:#5f5f66;--rule:#dedcd5;
--faint:#ecebe5;
--good:#00795a;--bad:#b34700;--main:#00578f;--rival:#8f5c00;--quiet:#77777d;--add:#e3f3ea;
--del:#fae8df}
@media (prefers-color-scheme:dark){:root{--paper:#151618;--panel:#1d1f22;--ink:#e7e5e0;
--soft:#a5a5ab;
--rule:#383a3f;--faint:#26282c;--good:#45c99c;--bad:#ff9558;--main:#70bcf5;--rival:#eeb64a;
--quiet:#909097;--add:#16352a;--del:#41261a}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-padding-top:1rem}
body{margin:0 auto;padding:1.25rem 1rem 4rem;max-width:912px;background:var(--paper);
color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans",
"Liberation Sans",Arial,sans-serif;
overflow-wrap:anywhere;font-variant-numeric:tabular-nums}
h1{font-size:1.55rem;line-height:1.25;margin:.2rem 0 .8rem;letter-spacing:-.01em}
h2{font-size:1.15rem;line-height:1.3;margin:2.6rem 0 .6rem;padding-top:.7rem;
border-top:1px solid var(--rule)}
h3{font-size:1rem;margin:1.6rem 0 .4rem}
p{margin:.5rem 0}
a{color:var(--main);text-decoration:none}
a:hover{text-decoration:underline}
code,pre{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",
monospace;font-size:.86em}
code{background:var(--panel);padding:.06em .28em;border-radius:3px}
pre{background:var(--panel);padding:.7rem .8rem;overflow-x:auto;line-height:1.45;
border-radius:4px;overflow-wrap:normal}
pre code{background:none;padding:0}
ul{padding-left:1.15rem}
li{margin:.18rem 0}
.soft,figcaption{color:var(--soft)}
.kind{color:var(--soft);font-size:.82rem;letter-spacing:.06em;text-transform:uppercase;margin:0}
.copy{border-left:3px solid var(--bad);padding:.3rem .8rem;margin:.8rem 0;
background:var(--panel)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:0 1.2rem;
margin:1rem 0 1.2rem;
border-top:1px solid var(--rule);border-bottom:1px solid var(--rule)}
.tiles div{padding:.65rem 0 .6rem}
.tiles b{display:block;font-size:1.5rem;line-height:1.2;font-weight:600;letter-spacing:-.02em}
.tiles span{display:block;font-size:.84rem;color:var(--soft);line-height:1.35}
.first>ul{list-style:none;padding:0;margin:0 0 1rem}
.first>ul>li{padding:.28rem 0}
nav{font-size:.9rem;margin:1.2rem 0 0;line-height:1.9}
nav a{margin-right:1.1rem;white-space:nowrap}
.scroll{overflow-x:auto;margin:.7rem 0}
table{border-collapse:collapse;font-size:.86rem;line-height:1.4}
th,td{padding:.3rem .75rem .3rem 0;text-align:left;vertical-align:top;
border-bottom:1px solid var(--faint);overflow-wrap:normal}
th{font-weight:600;border-bottom:1px solid var(--rule)}
th.r,td.r{text-align:right}
td code,th code{white-space:nowrap}
.wraps td{white-space:nowrap}
.wraps td:last-child{white-space:normal;overflow-wrap:anywhere;min-width:12rem}
.index table{width:100%;min-width:44rem}
.index td{overflow-wrap:break-word}
.nowrap,.index td.r{white-space:nowrap}
.report table,.first table{min-width:36rem}
figure{margin:0}
figcaption{font-size:.86rem;line-height:1.45;margin-top:.5rem;max-width:46rem}
svg{display:block;max-width:100%;height:auto}
.narrow{display:none}
@media (max-width:760px){.wide{display:none}.narrow{display:block}.narrow svg{width:100%}}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.1rem 1.1rem;padding:0;
margin:.1rem 0 .4rem;font-size:.84rem;color:var(--soft)}
.legend svg{display:inline-block;vertical-align:-1px}
svg text{font-size:12px;fill:var(--ink)}
svg .s{fill:var(--soft)}
svg .xs{font-size:11px;fill:var(--soft)}
svg .b{font-weight:600}
svg .halo{paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}
svg .frame{stroke:var(--rule);fill:none}
svg .grid{stroke:var(--faint);fill:none}
svg .one{stroke:var(--quiet);fill:none;stroke-dasharray:2 3}
svg .zone{fill:var(--panel)}
svg .good{fill:var(--good);stroke:var(--good)}
svg .bad{fill:var(--bad);stroke:var(--bad)}
svg .main{fill:var(--main);stroke:var(--main)}
svg .rival{fill:var(--rival);stroke:var(--rival)}
svg .quiet{fill:var(--quiet);stroke:var(--quiet)}
svg .bar{stroke:none}
svg .on{fill:var(--paper);font-weight:600}
svg .hollow{fill:var(--paper);stroke-width:1.6px}
svg .stem{fill:none;stroke-width:1.6px}
svg .thick{fill:none;stroke-width:5px;opacity:.42}
svg .dots{fill:none;stroke-width:3.4px;stroke-linecap:round;opacity:.62}
svg .roof{fill:none;stroke:var(--ink);stroke-width:1.4px}
svg .limit{fill:none;stroke:var(--bad);stroke-dasharray:6 4}
svg a:hover{text-decoration:none}
svg a:hover *{stroke-width:2.6px}
details{margin:.5rem 0;border-bottom:1px solid var(--faint);padding-bottom:.4rem}
summary{cursor:pointer}
summary .soft{font-size:.88rem}
.diff{margin:.4rem 0;padding:.5rem 0;font-size:.8rem}
.diff code{display:block;font-size:1em}
.diff span{display:block;padding:0 .8rem;white-space:pre;min-width:max-content}
.diff .a{background:var(--add)}
.diff .d{background:var(--del)}
.diff .h{color:var(--soft)}
.task{font-family:ui-monospace,monospace}
:target>td,tr:target>td{background:var(--add)}
footer{margin-top:3rem;color:var(--soft);font-size:.86rem}
@page{margin:13mm}
@media print{:root{--paper:#fff;--panel:#f4f4f2;--ink:#000;--soft:#444;--rule:#bbb;--faint:#ddd;
--good:#00694e;--bad:#a33f00;--main:#004a7c;--rival:#7a4d00;--quiet:#666;--add:#e3f3ea;
--del:#fae8df}
body{max-width:none;padding:0;font-size:10.5pt}nav{display:none}.wide{display:block}
.narrow{display:none}
.scroll{overflow:visible}table{font-size:7.5pt}td,th{overflow-wrap:break-word}
td code,th code{white-space:normal}
pre,.diff span{white-space:pre-wrap;min-width:0}
details::details-content{content-visibility:visible}h2,h3,summary{break-after:avoid}
figure,tr,.tiles{break-inside:avoid}a{color:inherit}}
)css";
}

}  // namespace wb::html
