// SPDX-License-Identifier: MIT
#include "report/source_changes.hpp"

#include <charconv>

#include "core/json.hpp"
#include "report/facts.hpp"
#include "session/line_diff.hpp"

namespace wb::report {

using session::IterationView;

std::string variant_id_of(const session::SessionView& view, std::string_view label) {
  const std::string_view name = base_name(label);
  const std::string_view hash = label.size() > name.size() ? label.substr(name.size() + 1) : "";
  for (const IterationView& iteration : view.iterations) {
    for (const session::Fact& built : iteration.built) {
      const std::string subject = text(built.payload, "subject");
      const std::string id = text(built.payload, "variant_id");
      const bool is_it =
          subject == label || (!hash.empty() && base_name(subject) == name && id.starts_with(hash));
      if (is_it && !id.empty()) return id;
    }
  }
  return {};
}

std::string own_variant_id(const IterationView& iteration) {
  if (const session::Fact* built = candidate_build(iteration)) {
    const std::string id = text(built->payload, "variant_id");
    if (!id.empty()) return id;
  }
  return text(iteration.opened.payload, "variant_id");
}

SourceFiles without_own_folder(SourceFiles files) {
  SourceFiles result;
  for (auto& [path, content] : files) {
    const bool is_shared = path.starts_with("common/");
    const std::size_t slash = path.find('/');
    const std::string name =
        is_shared || slash == std::string::npos ? path : path.substr(slash + 1);
    result.emplace(result.contains(name) ? path : name, std::move(content));
  }
  return result;
}

namespace {

/// The first line of the new file in a hunk: 12 of "@@ -10,3 +12,5 @@".
std::int64_t first_line_of(std::string_view head) {
  const std::size_t plus = head.find('+');
  std::int64_t line = 0;
  if (plus != std::string_view::npos) {
    std::from_chars(head.data() + plus + 1, head.data() + head.size(), line);
  }
  return line;
}

void add_line(std::vector<LineRange>& lines, std::int64_t line) {
  if (!lines.empty() && line <= lines.back().second + 1) {
    lines.back().second = std::max(lines.back().second, line);
  } else {
    lines.emplace_back(line, line);
  }
}

Result<SourceChange> change_between(const SourceFiles& before, const SourceFiles& after) {
  SourceChange change;
  const auto add = [&](const std::string& path, const std::string* was,
                       const std::string* is) -> Result<void> {
    const std::string none;
    WB_TRY_ASSIGN(FileChange file,
                  file_change(path, was != nullptr ? *was : none, is != nullptr ? *is : none));
    file.is_new = was == nullptr;
    file.is_gone = is == nullptr;
    if (file.added + file.removed > 0) change.files.push_back(std::move(file));
    return {};
  };
  for (const auto& [path, content] : after) {
    const auto old = before.find(path);
    WB_TRY(add(path, old == before.end() ? nullptr : &old->second, &content));
  }
  for (const auto& [path, content] : before) {
    if (!after.contains(path)) WB_TRY(add(path, &content, nullptr));
  }
  return change;
}

SourceChange change_of(const session::Session& session, const std::string& before_id,
                       const std::string& after_id) {
  if (!before_id.empty() && before_id == after_id) return {};
  const auto before = session.load_variant_files(before_id);
  const auto after = session.load_variant_files(after_id);
  if (!before || !after) {
    return {"the session does not hold the sources of both sides", {}};
  }
  auto change = change_between(without_own_folder(*before), without_own_folder(*after));
  if (!change) return {change.error().message(), {}};
  return *std::move(change);
}

}  // namespace

Result<FileChange> file_change(std::string path, std::string_view before, std::string_view after) {
  FileChange change;
  change.path = std::move(path);
  WB_TRY_ASSIGN(const std::vector<session::DiffLine> lines, session::line_diff(before, after));
  std::int64_t line = 1;    // of the new file
  bool is_removal = false;  // only removals since the last shared line
  const auto end_run = [&] {
    if (is_removal) add_line(change.lines, std::max<std::int64_t>(line - 1, 1));
    is_removal = false;
  };
  std::int64_t added_in_run = 0;
  for (const session::DiffLine& one : lines) {
    if (one.kind == '-') {
      ++change.removed;
      is_removal = added_in_run == 0;
      continue;
    }
    if (one.kind == '+') {
      ++change.added;
      ++added_in_run;
      is_removal = false;
      add_line(change.lines, line++);
      continue;
    }
    end_run();
    added_in_run = 0;
    line = one.kind == '@' ? first_line_of(one.text) : line + 1;
  }
  end_run();
  return change;
}

SourceChanges source_changes(const session::Session& session, const session::SessionView& view) {
  SourceChanges changes;
  for (const IterationView& iteration : view.iterations) {
    if (!iteration.incumbent_changed || outcome_of(iteration) != IterationOutcome::win) continue;
    const std::string from = text(iteration.incumbent_changed->payload, "from");
    changes[iteration.number] =
        change_of(session, variant_id_of(view, from), own_variant_id(iteration));
  }
  return changes;
}

}  // namespace wb::report
