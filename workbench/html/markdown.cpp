// SPDX-License-Identifier: MIT
#include "html/markdown.hpp"

#include <fmt/format.h>
#include <md4c.h>

#include <charconv>
#include <exception>

#include "core/ascii.hpp"
#include "html/text.hpp"

namespace wb::html {
namespace {

/// A whole entity such as "&lt;" or "&#58;": letters and digits between & and ;.
bool is_entity(std::string_view text) {
  if (text.size() < 3 || text.front() != '&' || text.back() != ';') return false;
  for (const char c : text.substr(1, text.size() - 2)) {
    if (c != '#' && !ascii::is_alnum(c)) return false;
  }
  return true;
}

class Writer {
 public:
  Writer(std::string_view source, Citations& cited) : m_source(source), m_cited(&cited) {}

  void block(MD_BLOCKTYPE type, void* detail, bool enter) {
    flush();
    switch (type) {
      case MD_BLOCK_QUOTE:
        return tag("blockquote", enter);
      case MD_BLOCK_UL:
        return tag("ul", enter);
      case MD_BLOCK_OL:
        return tag("ol", enter);
      case MD_BLOCK_LI:
        return item(*static_cast<MD_BLOCK_LI_DETAIL*>(detail), enter);
      case MD_BLOCK_HR:
        if (enter) m_out += "<hr>";
        return;
      case MD_BLOCK_H:  // the page has its own headings above these
        return tag(static_cast<MD_BLOCK_H_DETAIL*>(detail)->level <= 2 ? "h3" : "h4", enter);
      case MD_BLOCK_CODE:
        m_out += enter ? "<pre><code>" : "</code></pre>\n";
        return;
      case MD_BLOCK_P:
        return tag("p", enter);
      case MD_BLOCK_TABLE:
        m_out += enter ? "<div class=\"scroll\"><table>" : "</table></div>\n";
        return;
      case MD_BLOCK_THEAD:
        return tag("thead", enter);
      case MD_BLOCK_TBODY:
        return tag("tbody", enter);
      case MD_BLOCK_TR:
        return tag("tr", enter);
      case MD_BLOCK_TH:
      case MD_BLOCK_TD:
        return cell(type == MD_BLOCK_TH ? "th" : "td", *static_cast<MD_BLOCK_TD_DETAIL*>(detail),
                    enter);
      default:  // the document, and raw HTML, which is not interpreted
        return;
    }
  }

  void span(MD_SPANTYPE type, bool enter) {
    flush();
    if (type == MD_SPAN_EM) tag("em", enter);
    if (type == MD_SPAN_STRONG) tag("strong", enter);
    if (type == MD_SPAN_CODE) tag("code", enter);
    // Links and pictures would leave the page: only their words are kept.
  }

  void text(MD_TEXTTYPE type, std::string_view words) {
    if (type == MD_TEXT_NORMAL) {
      // An escaped "\[e12]" is quoted text and not a citation by the report.
      if (is_escaped(words) && words.front() == '[') {
        flush();
        m_out += '[';
        words.remove_prefix(1);
      }
      m_pending += words;
      return;
    }
    flush();
    if (type == MD_TEXT_BR) {
      m_out += "<br>";
    } else if (type == MD_TEXT_SOFTBR) {
      m_out += "\n";
    } else if (type == MD_TEXT_ENTITY && is_entity(words)) {
      m_out += words;
    } else if (type != MD_TEXT_NULLCHAR) {
      m_out += escape(words);
    }
  }

  std::string take() {
    flush();
    return std::move(m_out);
  }

 private:
  /// Valid because md4c passes pointers into its input text.
  [[nodiscard]] bool is_escaped(std::string_view words) const {
    const char* begin = m_source.data();
    return !words.empty() && words.data() > begin && words.data() < begin + m_source.size() &&
           words.data()[-1] == '\\';
  }
  void tag(std::string_view name, bool enter) {
    m_out += fmt::format("<{}{}>", enter ? "" : "/", name);
    if (!enter && name != "em" && name != "strong" && name != "code") m_out += "\n";
  }
  void item(const MD_BLOCK_LI_DETAIL& detail, bool enter) {
    tag("li", enter);
    if (!enter || detail.is_task == 0) return;
    m_out += detail.task_mark == ' ' ? "<span class=\"task\" title=\"not done\">[ ]</span> "
                                     : "<span class=\"task\" title=\"done\">[x]</span> ";
  }
  void cell(std::string_view name, const MD_BLOCK_TD_DETAIL& detail, bool enter) {
    if (enter && detail.align == MD_ALIGN_RIGHT) {
      m_out += fmt::format("<{} class=\"r\">", name);
    } else {
      m_out += fmt::format("<{}{}>", enter ? "" : "/", name);
    }
  }

  /// Writes the collected words, with [e12] as links. md4c passes text in pieces.
  void flush() {
    const std::string_view all = m_pending;
    std::size_t done = 0;
    for (std::size_t at = all.find("[e"); at != std::string_view::npos;
         at = all.find("[e", at + 2)) {
      std::int64_t seq = 0;
      const auto [end, fault] = std::from_chars(all.data() + at + 2, all.data() + all.size(), seq);
      if (fault != std::errc() || end == all.data() + all.size() || *end != ']') continue;
      const std::string link = m_cited->link(seq);
      if (link.empty()) continue;
      m_out += escape(all.substr(done, at - done));
      m_out += fmt::format("<a href=\"{}\">[e{}]</a>", link, seq);
      done = static_cast<std::size_t>(end - all.data()) + 1;
    }
    m_out += escape(all.substr(done));
    m_pending.clear();
  }

  std::string_view m_source;
  Citations* m_cited;
  std::string m_out, m_pending;
};

Writer& writer(void* user) {
  return *static_cast<Writer*>(user);
}

}  // namespace

std::string render_markdown(std::string_view markdown, Citations& cited) {
  Writer out(markdown, cited);
  MD_PARSER parser{};
  parser.flags = MD_FLAG_TABLES | MD_FLAG_TASKLISTS | MD_FLAG_NOHTML;
  parser.enter_block = [](MD_BLOCKTYPE type, void* detail, void* user) {
    writer(user).block(type, detail, true);
    return 0;
  };
  parser.leave_block = [](MD_BLOCKTYPE type, void* detail, void* user) {
    writer(user).block(type, detail, false);
    return 0;
  };
  parser.enter_span = [](MD_SPANTYPE type, void*, void* user) {
    writer(user).span(type, true);
    return 0;
  };
  parser.leave_span = [](MD_SPANTYPE type, void*, void* user) {
    writer(user).span(type, false);
    return 0;
  };
  parser.text = [](MD_TEXTTYPE type, const MD_CHAR* words, MD_SIZE size, void* user) {
    writer(user).text(type, {words, size});
    return 0;
  };
  if (md_parse(markdown.data(), static_cast<MD_SIZE>(markdown.size()), &parser, &out) != 0) {
    throw std::bad_alloc();  // md4c fails only without memory: no callback returns an error
  }
  return out.take();
}

SplitReport split_report(std::string_view markdown) {
  SplitReport parts;
  const std::size_t line_end = std::min(markdown.find('\n'), markdown.size());
  parts.title = markdown.substr(0, line_end);
  if (parts.title.starts_with("# ")) parts.title.remove_prefix(2);
  const std::size_t section = std::min(markdown.find("\n## "), markdown.size());
  parts.first_screen = markdown.substr(line_end, section - std::min(section, line_end));
  parts.rest = markdown.substr(section);
  return parts;
}

std::string report_part(std::string_view markdown, Citations& cited, std::size_t max_bytes) {
  std::string note;
  if (markdown.size() > max_bytes) {
    const std::size_t end = markdown.rfind('\n', max_bytes);
    const std::size_t cut = end == std::string_view::npos ? 0 : end;
    note = fmt::format(
        "<p class=\"soft\">The report goes on for {} more bytes: <code>sdpa-wb report</code> "
        "prints it.</p>\n",
        markdown.size() - cut);
    markdown = markdown.substr(0, cut);
  }
  return "<section id=\"report\" class=\"report\"><h2>Report</h2>\n" +
         render_markdown(markdown, cited) + note + "</section>\n";
}

}  // namespace wb::html
