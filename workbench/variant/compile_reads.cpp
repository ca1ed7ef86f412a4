// SPDX-License-Identifier: MIT
#include "variant/compile_reads.hpp"

#include <algorithm>
#include <array>

#include "core/ascii.hpp"

namespace wb::variant {

namespace {

constexpr std::string_view k_no_date = "wb_no_date_of_a_build";
constexpr const char* k_read_list = "wb_reads.d";
constexpr const char* k_assembler_list = "wb_assembled.d";
constexpr std::uint64_t k_list_max_bytes = 8u << 20;

/// Header folders of every compiler of the machine.
constexpr std::array k_system_headers = {
    "/usr/include",   "/usr/local/include", "/usr/lib/gcc",       "/usr/lib64/gcc",
    "/usr/lib/clang", "/usr/lib64/clang",   "/usr/local/lib/gcc", "/usr/local/lib/clang"};

bool is_below(const fs::path& path, const fs::path& folder) {
  const fs::path relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

/// The real path of a file, links resolved; unchanged when the file is already gone.
fs::path real_place(const fs::path& path, const fs::path& folder) {
  std::error_code error;
  const fs::path whole = path.is_absolute() ? path : folder / path;
  fs::path real = fs::weakly_canonical(whole, error);
  return error ? whole.lexically_normal() : real;
}

/// The files that may be read, with links resolved once.
class Covered {
 public:
  Covered(const ReadLists& lists, const Variant& variant,
          const std::vector<fs::path>& include_folders, const std::vector<fs::path>& headers)
      : m_sources(lists.sources), m_seen_as(lists.mounted_as), m_variant(variant) {
    std::error_code ignored;
    m_real_sources = fs::weakly_canonical(lists.sources, ignored);
    for (const char* folder : k_system_headers) add(folder);
    for (const fs::path& folder : include_folders) add(folder);
    for (const fs::path& folder : headers) add(folder);
  }

  [[nodiscard]] bool holds(const std::string& name) const {
    const bool renamed = !m_seen_as.empty() && is_below(name, m_seen_as);
    const fs::path path = renamed ? fs::path(name).lexically_relative(m_seen_as) : fs::path(name);
    const fs::path place = real_place(path, m_sources);
    if (is_below(place, m_real_sources)) {
      return m_variant.files.contains(place.lexically_relative(m_real_sources).generic_string());
    }
    return std::ranges::any_of(
        m_folders, [&place](const fs::path& folder) { return is_below(place, folder); });
  }

 private:
  void add(const fs::path& folder) {
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    m_folders.push_back(error ? folder : real);
  }

  fs::path m_sources, m_real_sources, m_seen_as;
  std::vector<fs::path> m_folders;
  const Variant& m_variant;
};

/// True for a source as the assembler lists it (by its last word), and for the temporary file that
/// the compiler passes to the assembler.
bool is_compilers_own(const std::string& name, const ReadLists& lists, const Variant& variant) {
  const fs::path path = name;
  if (path.is_absolute()) {
    return path.extension() == ".s" && path.parent_path() == lists.temporary;
  }
  return std::ranges::any_of(variant.files, [&path](const auto& file) {
    return fs::path(file.first).filename() == path.filename();
  });
}

}  // namespace

std::vector<std::string> read_list_words(const ReadLists& lists) {
  const bool nvcc = lists.kind == CompilerKind::nvcc;
  std::vector<std::string> words = {"-MD", "-MF", (lists.temporary / k_read_list).string()};
  words.emplace_back(nvcc ? "-Xcompiler=-Wno-builtin-macro-redefined"
                          : "-Wno-builtin-macro-redefined");
  for (const std::string_view macro : {"__DATE__", "__TIME__", "__TIMESTAMP__"}) {
    words.push_back("-D" + std::string(macro) + "=" + std::string(k_no_date));
  }
  if (lists.kind == CompilerKind::gcc) {
    // GNU as records what .incbin and .include read. A comma would end its name.
    const fs::path list = lists.temporary.lexically_relative(lists.sources) / k_assembler_list;
    words.push_back("-Wa,--MD," + list.string());
  }
  return words;
}

std::vector<std::string> names_of_rule(std::string_view rule) {
  std::vector<std::string> names;
  std::string name;
  bool is_target = true;
  const auto end_name = [&] {
    if (name.empty()) return;
    if (is_target && (name == ":" || name.ends_with(':'))) {
      is_target = false;
    } else if (!is_target) {
      names.push_back(name);
    }
    name.clear();
  };
  for (std::size_t i = 0; i < rule.size(); ++i) {
    const char c = rule[i];
    const char next = i + 1 < rule.size() ? rule[i + 1] : '\0';
    if (c == '\\' && (next == '\n' || next == '\r')) {
      end_name();
      ++i;
    } else if ((c == '\\' && (next == ' ' || next == '#' || next == '\\' || next == ':')) ||
               (c == '$' && next == '$')) {
      name += next;
      ++i;
    } else if (c == '\n') {
      end_name();
      is_target = true;  // of another rule
    } else if (ascii::is_space(c)) {
      end_name();
    } else {
      name += c;
    }
  }
  end_name();
  return names;
}

Result<std::optional<std::string>> uncovered_read(const ReadLists& lists, const Variant& variant,
                                                  const std::vector<fs::path>& include_folders,
                                                  const std::vector<fs::path>& headers) {
  const RealFileSystem files;
  const Covered covered(lists, variant, include_folders, headers);
  const fs::path list = lists.temporary / k_read_list;
  WB_TRY_ASSIGN(const std::string rule, files.read(list, k_list_max_bytes));
  for (const std::string& name : names_of_rule(rule)) {
    if (!covered.holds(name)) return std::optional(name);
  }
  if (lists.kind != CompilerKind::gcc) return std::optional<std::string>();
  WB_TRY_ASSIGN(const std::string assembled,
                files.read(lists.temporary / k_assembler_list, k_list_max_bytes));
  for (const std::string& name : names_of_rule(assembled)) {
    if (!is_compilers_own(name, lists, variant) && !covered.holds(name)) return std::optional(name);
  }
  return std::optional<std::string>();
}

std::optional<std::string> uncovered_header(std::string_view printed, const ReadLists& lists,
                                            const Variant& variant,
                                            const std::vector<fs::path>& include_folders,
                                            const std::vector<fs::path>& headers) {
  const Covered covered(lists, variant, include_folders, headers);
  while (!printed.empty()) {
    const std::size_t end = std::min(printed.find('\n'), printed.size());
    const std::string_view line = printed.substr(0, end);
    printed.remove_prefix(std::min(end + 1, printed.size()));
    const std::size_t dots = line.find_first_not_of('.');  // their number is the include depth
    if (dots == 0 || dots == std::string_view::npos || line[dots] != ' ') continue;
    const std::string name(line.substr(dots + 1));
    if (!covered.holds(name)) return name;
  }
  return std::nullopt;
}

bool uses_date_macro(std::string_view words) {
  // A crashing compiler may print its command line, where the word follows a "=".
  for (auto at = words.find(k_no_date); at != std::string_view::npos;
       at = words.find(k_no_date, at + 1)) {
    if (at == 0 || words[at - 1] != '=') return true;
  }
  return false;
}

std::vector<fs::path> header_folders_of(const std::vector<fs::path>& programs) {
  std::vector<fs::path> folders;
  for (const fs::path& named : programs) {
    std::error_code error;
    const fs::path real = fs::canonical(named, error);
    for (const fs::path& program : {named, error ? named : real}) {
      const fs::path bin = program.parent_path();
      const fs::path prefix = bin.filename() == "bin" ? bin.parent_path() : bin;
      if (prefix == "/" || prefix == "/usr" || prefix == "/usr/local" || prefix.empty()) continue;
      // A separate toolkit: its parts are side by side in a package-index installation.
      folders.push_back(prefix);
      for (const char* part : {"cuda_runtime", "cuda_cccl", "cuda_nvcc", "cuda_crt"}) {
        folders.push_back(prefix.parent_path() / part / "include");
      }
    }
  }
  return folders;
}

}  // namespace wb::variant
