// SPDX-License-Identifier: MIT
// Readable names of kernels.
#include <cxxabi.h>

#include <cstdlib>
#include <memory>

#include "variant/ptxas_record.hpp"

namespace wb::variant {

namespace {

constexpr std::size_t k_name_max_bytes = 120, k_symbol_max_bytes = 4096;
/// Each reference may double the length of the demangled name; more than this is refused.
constexpr int k_references_max = 16;

/// How often the mangled name refers to an earlier part of itself: "S_", "S1_", "T0_".
int references_in(std::string_view symbol) {
  int count = 0;
  for (std::size_t i = 0; i + 1 < symbol.size(); ++i) {
    if (symbol[i] != 'S' && symbol[i] != 'T') continue;
    const std::size_t end = symbol.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", i + 1);
    count += end != std::string_view::npos && symbol[end] == '_' ? 1 : 0;
  }
  return count;
}

bool is_name_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

/// Removes "_GLOBAL__N__<hash>…::" and similar scopes: an unnamed namespace contains its file's
/// hash.
void drop_file_scopes(std::string& name) {
  for (const std::string_view mark : {"_GLOBAL__N__", "_INTERNAL_"}) {
    for (std::size_t at = name.find(mark); at != std::string::npos; at = name.find(mark, at)) {
      std::size_t begin = at, end = at;
      while (begin > 0 && is_name_character(name[begin - 1])) --begin;
      while (end < name.size() && is_name_character(name[end])) ++end;
      if (name.compare(end, 2, "::") == 0) end += 2;
      name.erase(begin, end - begin);
      at = begin;
    }
  }
}

/// The position of the bracket that matches the closing one at `close`.
std::size_t opening_of(std::string_view text, std::size_t close, char open_mark, char close_mark) {
  int depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    if (text[i] == close_mark) ++depth;
    if (text[i] == open_mark && --depth == 0) return i;
  }
  return std::string_view::npos;
}

/// "void f<(int)3>(float*)" -> "f<3>"
std::string without_types(std::string name) {
  drop_file_scopes(name);
  // The namespace of kernels/common carries no information.
  for (const std::string_view scope : {"(anonymous namespace)::", "wb::gpu::"}) {
    replace_all(name, scope, "");
  }
  for (const std::string_view cast : {"(int)", "(bool)", "(unsigned int)", "(long)"}) {
    replace_all(name, cast, "");
  }
  replace_all(name, "> >", ">>");
  if (name.ends_with(')')) {
    const std::size_t open = opening_of(name, name.size() - 1, '(', ')');
    if (open != std::string::npos && open > 0) name.erase(open);
  }
  // Skips a template's return type: up to the first space outside its arguments.
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>') --depth;
    if (name[i] == ' ' && depth == 0) return name.substr(i + 1);
  }
  return name;
}

}  // namespace

std::string cut_in_the_middle(std::string_view text, std::size_t max_bytes, std::string_view mark) {
  if (text.size() <= max_bytes) return std::string(text);
  const std::size_t tail = (max_bytes - mark.size()) / 2;
  std::size_t end = max_bytes - mark.size() - tail, begin = text.size() - tail;
  // At most three continuation bytes count, since text that is not UTF-8 may have any number.
  const auto is_inside = [&](std::size_t at) { return (text[at] & 0xc0) == 0x80; };
  for (int i = 0; i < 3 && end > 0 && is_inside(end); ++i) --end;
  for (int i = 0; i < 3 && begin < text.size() && is_inside(begin); ++i) ++begin;
  return std::string(text.substr(0, end)) + std::string(mark) + std::string(text.substr(begin));
}

std::string kernel_name(std::string_view symbol) {
  const bool is_trap =
      symbol.size() > k_symbol_max_bytes || references_in(symbol) > k_references_max;
  if (is_trap) return cut_in_the_middle(symbol, k_name_max_bytes);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(std::string(symbol).c_str(), nullptr, nullptr, &status), &std::free);
  const bool good = status == 0 && readable != nullptr;
  return cut_in_the_middle(good ? without_types(readable.get()) : std::string(symbol),
                           k_name_max_bytes);
}

}  // namespace wb::variant
