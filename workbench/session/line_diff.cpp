// SPDX-License-Identifier: MIT
#include "session/line_diff.hpp"

#include "session/git_library.hpp"

namespace wb::session {
namespace {

constexpr std::size_t k_max_diff_bytes = 64u << 20;

using GitPatch = GitHandle<git_patch, git_patch_free>;

Error diff_error() {
  return Error{ErrorCode::internal, "compare", "two sources", git_message(), {}};
}

void add_line(std::vector<DiffLine>& lines, char kind, const char* text, std::size_t bytes) {
  while (bytes > 0 && (text[bytes - 1] == '\n' || text[bytes - 1] == '\r')) --bytes;
  lines.push_back({kind, std::string(text, bytes)});
}

}  // namespace

Result<std::vector<DiffLine>> line_diff(std::string_view before, std::string_view after) {
  if (before.size() + after.size() > k_max_diff_bytes) {
    return Error{ErrorCode::limit, "compare", "two sources", "they are larger than 64 MiB", {}};
  }
  const GitLibrary library;
  git_diff_options options;
  git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
  options.flags = GIT_DIFF_FORCE_TEXT;
  GitPatch patch;
  if (git_call(patch, git_patch_from_buffers, before.data(), before.size(), nullptr, after.data(),
               after.size(), nullptr, &options) != 0) {
    return diff_error();
  }
  std::vector<DiffLine> lines;
  const std::size_t hunks = git_patch_num_hunks(patch.get());
  for (std::size_t h = 0; h < hunks; ++h) {
    const git_diff_hunk* hunk = nullptr;
    std::size_t count = 0;
    if (git_patch_get_hunk(&hunk, &count, patch.get(), h) != 0) return diff_error();
    add_line(lines, '@', hunk->header, hunk->header_len);
    for (std::size_t n = 0; n < count; ++n) {
      const git_diff_line* line = nullptr;
      if (git_patch_get_line_in_hunk(&line, patch.get(), h, n) != 0) return diff_error();
      // Other origins only mark a missing line end.
      if (line->origin != ' ' && line->origin != '+' && line->origin != '-') continue;
      add_line(lines, line->origin, line->content, line->content_len);
    }
  }
  return lines;
}

}  // namespace wb::session
