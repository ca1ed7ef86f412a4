// SPDX-License-Identifier: MIT
// The audit as Markdown: a summary, then each document section by section. It repeats only figures
// and a few words of the documents.
#include <fmt/format.h>

#include <algorithm>

#include "audit/audit.hpp"
#include "audit/document.hpp"
#include "core/ascii.hpp"

namespace wb::audit {
namespace {

/// The text on one line, with Markdown's marks escaped.
std::string safe(std::string_view text, std::size_t most = 600) {
  std::string made;
  for (const char c : text.substr(0, most)) {
    if (c == '\n' || c == '\r')
      made += ' ';
    else if (c == '|' || c == '<' || c == '[' || c == ']' || c == '*' || c == '_' || c == '`') {
      made += '\\';
      made += c;
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      made += c;
    }
  }
  return made;
}

/// The name as a code span.
std::string code_name(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == '`' || c == '|'; },
      '?');
  return name;
}

std::string lines_of(const Finding& finding) {
  if (finding.also.empty()) return {};
  std::string text;
  for (std::size_t n = 0; n < finding.also.size() && n < 8; ++n) {
    text += fmt::format("{}{}", n == 0 ? "" : ", ", finding.also[n]);
  }
  if (finding.also.size() > 8) text += fmt::format(" and {} more", finding.also.size() - 8);
  return fmt::format(" (see also line{} {})", finding.also.size() == 1 ? "" : "s", text);
}

std::string finding_text(const Audited& document, const Finding& finding) {
  std::string meaning = safe(finding.meaning);
  if (!meaning.empty()) {
    meaning[0] = ascii::upper(meaning[0]);
  }
  std::string text = fmt::format(
      "- `{}:{}` **{}**: printed **{}**. Computed: {}.", code_name(document.name), finding.line,
      to_string(finding.severity), safe(finding.printed), safe(finding.computed));
  text += fmt::format(" {}{}.", meaning, lines_of(finding));
  if (!finding.tolerance.empty()) text += fmt::format(" Tolerance: {}.", safe(finding.tolerance));
  return text + fmt::format(" [{}]\n", finding.check);
}

std::string summary(const std::vector<Audited>& documents) {
  std::string text =
      "| document | lines | figures | recomputed and right | contradictions | doubtful | unknown "
      "|\n|---|---:|---:|---:|---:|---:|---:|\n";
  for (const Audited& one : documents) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", safe(one.name), one.lines,
                        one.figures, one.held.size(), one.count(Severity::contradiction),
                        one.count(Severity::doubtful), one.count(Severity::unknown));
  }
  return text + "\n";
}

std::string first_sentence(const std::vector<Audited>& documents) {
  std::size_t contradictions = 0, doubtful = 0, unknown = 0, held = 0;
  for (const Audited& one : documents) {
    contradictions += one.count(Severity::contradiction);
    doubtful += one.count(Severity::doubtful);
    unknown += one.count(Severity::unknown);
    held += one.held.size();
  }
  const auto plural = [](std::size_t n, std::string_view word) {
    return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s");
  };
  return fmt::format("{}, {} doubtful, {} unknown; {} recomputed and right.\n\n",
                     plural(contradictions, "contradiction"), doubtful, unknown,
                     plural(held, "figure"));
}

std::string document_text(const Audited& document) {
  std::string text = fmt::format("## {}\n\n", safe(document.name));
  if (!document.repaired.empty()) {
    text += fmt::format("Repaired before reading: {}.\n\n", safe(document.repaired));
  }
  for (const std::string& gap : document.gaps) text += fmt::format("Not read: {}.\n\n", safe(gap));
  if (document.findings.empty()) {
    text += document.held.empty() ? "No figure here can be recomputed from others.\n\n"
                                  : "Nothing here contradicts itself.\n\n";
  }
  // Findings are ordered by line, so those of one section are adjacent.
  std::string section = "\n";
  for (std::size_t n = 0; n < document.findings.size(); ++n) {
    if (document.section[n] != section) {
      if (n > 0) text += "\n";
      section = document.section[n];
      text += fmt::format("### {}\n\n",
                          section.empty() ? "before the first heading" : safe(section, 80));
    }
    text += finding_text(document, document.findings[n]);
  }
  if (!document.findings.empty()) text += "\n";
  if (document.held.empty()) return text;
  text += fmt::format("### recomputed and right: {}\n\n", document.held.size());
  constexpr std::size_t k_most = 120;
  for (std::size_t n = 0; n < document.held.size() && n < k_most; ++n) {
    text += fmt::format("- {}: {} [{}]\n", document.held[n].line, safe(document.held[n].what, 300),
                        document.held[n].check);
  }
  if (document.held.size() > k_most) {
    text += fmt::format("- and {} more\n", document.held.size() - k_most);
  }
  return text + "\n";
}

}  // namespace

std::string render(const std::vector<Audited>& documents) {
  std::string text = documents.size() == 1
                         ? fmt::format("# Audit of {}\n\n", safe(documents[0].name))
                         : fmt::format("# Audit of {} documents\n\n", documents.size());
  text += first_sentence(documents) + summary(documents);
  text +=
      "A contradiction: figures of one table or one equation, or a GPU's limits, exclude what is "
      "printed. "
      "Doubtful: what is claimed does not follow, or rests on figures that mislead. Unknown: "
      "cannot be told from the document. Each formula is written with the document's figures; "
      "digits that were not printed are taken as open. Only figures and a few words of the "
      "documents are repeated here.\n\n";
  for (const Audited& document : documents) text += document_text(document);
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

}  // namespace wb::audit
