// SPDX-License-Identifier: MIT
#include "trace/analyze.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/json.hpp"
#include "core/writing.hpp"
#include "trace/metrics.hpp"
#include "trace/metrics_row.hpp"

namespace wb::trace {

namespace {

constexpr std::uint64_t k_max_table_bytes = std::uint64_t{1} << 30;
constexpr JsonLimits k_json_limits{.max_bytes = 256u << 20, .max_depth = 64};

Result<Json> read_json(const FileSystem& file_system, const fs::path& path) {
  WB_TRY_ASSIGN(const std::string text, file_system.read(path, k_json_limits.max_bytes));
  WB_TRY_ASSIGN(Json json, parse_json(text, path.string(), k_json_limits));
  if (json.is_object()) return json;
  return Error{ErrorCode::invalid, "read", path.string(), "it is no JSON object", {}};
}

/// Nothing if the folder has no such operations.
Result<std::optional<CategoryData>> read_category(const FileSystem& file_system,
                                                  const fs::path& root,
                                                  const CategoryFiles& category) {
  const auto text = file_system.read(root / category.ops(), k_max_table_bytes);
  if (!text) {
    if (text.error().code == ErrorCode::not_found) return std::optional<CategoryData>{};
    return text.error();
  }
  CategoryData data;
  WB_TRY_ASSIGN(data.ops, parse_csv(*text, (root / category.ops()).string()));
  if (data.ops.rows.empty()) return std::optional<CategoryData>{};
  WB_TRY_ASSIGN(data.metadata, read_json(file_system, root / category.metadata()));
  auto tree = read_json(file_system, root / category.tree());
  if (tree) {
    data.tree = *std::move(tree);
  } else if (tree.error().code != ErrorCode::not_found) {
    return tree.error();
  }
  return std::optional(std::move(data));
}

class Analysis {
 public:
  Analysis(FileSystem& file_system, fs::path root)
      : m_files(file_system), m_root(std::move(root)) {}

  Result<AnalyzeResult> run() {
    std::error_code ignored;
    if (!fs::is_directory(m_root, ignored)) {
      return Error{ErrorCode::not_found, "analyze", m_root.string(), "there is no such folder",
                   "make it with `sdpa-wb trace prepare`"};
    }
    for (const char* folder : {"category_data", "category_findings"}) {
      WB_TRY(m_files.make_directories(m_root / folder));
    }
    WB_TRY(category(false));
    std::error_code error;
    if (fs::exists(m_root / category_files(true).ops(), error)) WB_TRY(category(true));
    return std::move(m_result);
  }

 private:
  Result<void> category(bool backward) {
    const CategoryFiles files = category_files(backward);
    auto done = analyze_safely(files);
    if (done) return {};
    // Remove the results of an earlier run if this one failed.
    WB_TRY(write(
        files.metrics(),
        error_metrics(files, done.error()).dump(2, ' ', false, Json::error_handler_t::replace) +
            "\n"));
    WB_TRY(write(files.findings(), error_page(files, done.error())));
    return done.error();
  }

  /// In tables of other tools, a value of an unexpected type is an error as well.
  Result<void> analyze_safely(const CategoryFiles& files) {
    try {
      return analyze_category(files);
    } catch (const Json::exception& fault) {
      return Error{ErrorCode::invalid, "analyze", m_root.string(), printable(fault.what()), {}};
    }
  }

  Result<void> analyze_category(const CategoryFiles& files) {
    WB_TRY_ASSIGN(const Json manifest, good_manifest());
    WB_TRY_ASSIGN(const auto data, read_category(m_files, m_root, files));
    const bool unseen = !string_member(manifest, "nothing_seen").empty();
    AnalyzeResult::Category entry{
        files.name, unseen ? "unseen" : "none", {}, nothing_page(files, manifest)};
    if (data) {
      WB_TRY_ASSIGN(entry.metrics, metrics_of(*data, files));
      entry.status = "OK";
      entry.findings = findings_page(entry.metrics, data->tree, files);
      WB_TRY(write(files.metrics(),
                   entry.metrics.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"));
    } else {
      std::error_code ignored;
      fs::remove(m_root / files.metrics(), ignored);
    }
    WB_TRY(write(files.findings(), entry.findings));
    m_result.categories.push_back(std::move(entry));
    return {};
  }

  /// A failed preparation leaves no tables, which does not mean "no attention".
  Result<Json> good_manifest() {
    const auto manifest = read_json(m_files, m_root / k_manifest_file);
    if (!manifest) {
      return manifest.error().code == ErrorCode::not_found ? Result<Json>(Json())
                                                           : manifest.error();
    }
    const Json status = manifest->value("status", Json("OK"));
    if (status != Json("ERROR")) return *manifest;
    const Json cause = manifest->value("error", Json(""));
    return Error{ErrorCode::damaged, "analyze", m_root.string(),
                 "its preparation failed: " + (cause.is_string() ? cause.get<std::string>() : ""),
                 "run `sdpa-wb trace prepare` again"};
  }

  Result<void> write(const fs::path& path, const std::string& text) {
    WB_TRY(write_output(m_files, m_root / path, text, Durability::none));
    m_result.files.push_back(m_root / path);
    return {};
  }

  FileSystem& m_files;
  fs::path m_root;
  AnalyzeResult m_result;
};

}  // namespace

Result<AnalyzeResult> analyze(FileSystem& file_system, const fs::path& output_dir) {
  return Analysis(file_system, output_dir).run();
}

std::string vendor_neutral(std::string_view markdown) {
  struct Word {
    std::string_view vendor, common;
  };
  // Longer words come first.
  constexpr std::array<Word, 14> k_words{{{"CUDA kernel", "GPU kernel"},
                                          {"HIP kernel", "GPU kernel"},
                                          {"cuDNN", "DNN primitives"},
                                          {"CUDNN", "DNN primitives"},
                                          {"MIOpen", "DNN primitives"},
                                          {"cuBLAS", "BLAS library"},
                                          {"hipBLASLt", "BLAS library"},
                                          {"rocBLAS", "BLAS library"},
                                          {"Tensor Core", "matrix unit"},
                                          {"tensor core", "matrix unit"},
                                          {"Matrix Core", "matrix unit"},
                                          {"NCCL", "collective communication"},
                                          {"RCCL", "collective communication"},
                                          {"CUDA", "GPU"}}};
  std::string text;
  bool quoted = false;
  for (std::size_t i = 0; i < markdown.size();) {
    if (markdown[i] == '`' || markdown[i] == '\n') {
      quoted = markdown[i] == '`' && !quoted;
      text += markdown[i++];
      continue;
    }
    const auto found = quoted
                           ? k_words.end()
                           : std::find_if(k_words.begin(), k_words.end(), [&](const Word& entry) {
                               return markdown.substr(i).starts_with(entry.vendor);
                             });
    if (found == k_words.end()) {
      text += markdown[i++];
    } else {
      text += found->common;
      i += found->vendor.size();
    }
  }
  return text;
}

}  // namespace wb::trace
