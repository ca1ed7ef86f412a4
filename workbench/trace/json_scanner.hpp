// SPDX-License-Identifier: MIT
// A pull scanner over streamed JSON: the caller states what should come next. It holds only the
// current value, copies nothing and checks everything that it skips: grammar, depth and UTF-8.
// Python's NaN, Infinity and -Infinity count as numbers, since profilers write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/byte_source.hpp"

namespace wb::trace {

/// A part of the text since the last hold(), as offsets, which stay valid when the buffer moves.
struct Slice {
  std::size_t begin = 0, end = 0;
  [[nodiscard]] bool empty() const { return begin == end; }
};

/// After a fault every call returns false (or 0), and `fault()` says what and where.
class JsonScanner {
 public:
  static constexpr int k_max_depth = 512;
  static constexpr std::size_t k_max_held_bytes = std::size_t{64} << 20;

  JsonScanner(ByteSource& source, std::string what);

  /// The next non-blank byte without consuming it; 0 at the end.
  char peek();
  /// Consumes `c` if it comes next; otherwise no fault.
  bool take(char c) {
    if (peek() != c) return false;
    ++m_pos;
    return true;
  }
  bool expect(char c);
  /// A string; the slice is the text between its quotes, with escapes.
  bool string(Slice& out);
  /// Checks and skips any value; the slice is its text.
  bool value(Slice& out);
  bool skip() {
    Slice ignored;
    return value(ignored);
  }
  /// The next bytes, at most `bytes`, without consuming them.
  std::string_view lookahead(std::size_t bytes);
  /// True when only blanks are left.
  bool at_end();
  /// Iterates over the members of an object: `next` is called at each value with the raw key (valid
  /// until the value is begun) and must consume the value.
  template <typename Next>
  bool object(Next next) {
    if (!enter('{')) return false;
    if (take('}')) return leave();
    do {
      peek();
      const bool held = m_hold != k_none;
      if (!held) hold();
      Slice key;
      if (!string(key) || !expect(':')) return false;
      peek();
      const std::string_view name = text(key);
      if (!held) release();
      if (!next(name)) return false;
    } while (next_item('}'));
    return expect('}') && leave();
  }
  template <typename Next>
  bool array(Next next) {
    if (!enter('[')) return false;
    if (take(']')) return leave();
    do {
      if (!next()) return false;
    } while (next_item(']'));
    return expect(']') && leave();
  }

  /// Keeps the text from here on until release(), so that slices can be read with text().
  void hold() { m_hold = m_pos; }
  void release() { m_hold = k_none; }
  [[nodiscard]] std::string_view text(Slice slice) const {
    return {m_buffer.data() + m_hold + slice.begin, slice.end - slice.begin};
  }

  bool fail(ErrorCode code, std::string cause, std::string next = {});
  [[nodiscard]] const std::optional<Error>& fault() const { return m_fault; }
  [[nodiscard]] std::uint64_t bytes_read() const { return m_before + m_end; }

 private:
  static constexpr std::size_t k_none = static_cast<std::size_t>(-1);
  bool refill();
  bool enter(char c);
  /// After a member or element: true when a comma announces another one.
  bool next_item(char close);
  bool leave() {
    --m_depth;
    return true;
  }
  bool has(std::size_t bytes);
  bool escape();
  bool utf8_sequence();
  bool skip_string();
  bool skip_scalar();
  [[nodiscard]] std::size_t held_from() const { return m_hold == k_none ? 0 : m_hold; }

  ByteSource& m_source;
  std::string m_what;
  std::vector<char> m_buffer;  // ends in k_padding zero bytes after m_end
  std::size_t m_pos = 0, m_end = 0, m_hold = k_none;
  std::uint64_t m_before = 0;  // bytes that left the buffer
  int m_depth = 0;
  std::optional<Error> m_fault;
};

/// The content of a JSON string with escapes resolved; lone surrogates become U+FFFD.
std::string unescaped(std::string_view raw);

struct ForeignText {
  std::string_view what, next;
};

/// Number of bytes needed from a file's start.
inline constexpr std::size_t k_kind_bytes = 512;

/// Nothing when the text may be JSON. `head` is the unpacked start of the file.
std::optional<ForeignText> foreign_text(std::string_view head);

}  // namespace wb::trace
