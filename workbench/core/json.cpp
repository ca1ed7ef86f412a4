// SPDX-License-Identifier: MIT
#include "core/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "core/ascii.hpp"

template class nlohmann::basic_json<>;

namespace wb {
namespace {

/// Iterates over the text and exposes its position to the SAX callbacks, since nlohmann reports
/// positions only for syntax errors and not for duplicate keys.
class TrackingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  TrackingIterator(const char* at, const char** shared) : m_at(at), m_shared(shared) {}
  reference operator*() const { return *m_at; }
  TrackingIterator& operator++() {
    *m_shared = ++m_at;
    return *this;
  }
  TrackingIterator operator++(int) {
    TrackingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const TrackingIterator& other) const { return m_at == other.m_at; }
  bool operator!=(const TrackingIterator& other) const { return m_at != other.m_at; }

 private:
  const char* m_at;
  const char** m_shared;
};

/// Line and column (both from 1) of the character that ends at `end`.
std::string position_words(const char* begin, const char* end) {
  std::size_t line = 1;
  std::size_t column = 0;
  for (const char* at = begin; at != end; ++at) {
    if (at != begin && at[-1] == '\n') {
      ++line;
      column = 0;
    }
    ++column;
  }
  return fmt::format("line {}, column {}", line, column == 0 ? 1 : column);
}

/// Parses a number independent of the locale. nlohmann's own parser uses strtod and inserts only
/// the first byte of the locale's decimal point, which fails for longer ones. Nothing for numbers
/// that underflow.
std::optional<double> number_of(std::string text) {
  constexpr std::string_view k_others = "0123456789+-eE";
  for (char& c : text) c = k_others.find(c) == std::string_view::npos ? '.' : c;
  return ascii::number<double>(text);
}

struct Fault {
  ErrorCode code = ErrorCode::parse;
  std::string cause;
};

/// Builds the value; a callback that returns false stops the parser, which never recurses.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(int max_depth) : m_max_depth(static_cast<std::size_t>(max_depth)) {}

  bool null() override { return add(nullptr) != nullptr; }
  bool boolean(bool value) override { return add(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return add(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return add(value) != nullptr; }
  bool number_float(number_float_t value, const string_t& text) override {
    return add(number_of(text).value_or(value)) != nullptr;
  }
  bool string(string_t& value) override {
    if (!check_nul(value, "a string")) return false;
    return add(std::move(value)) != nullptr;
  }
  bool binary(binary_t&) override { return refuse(ErrorCode::invalid, "binary data"); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (!check_nul(name, "a key")) return false;
    const auto [slot, is_new] = m_open.back()->get_ref<Json::object_t&>().try_emplace(name);
    if (!is_new) {
      return refuse(ErrorCode::invalid, fmt::format("key \"{}\" occurs twice", printable(name)));
    }
    m_slot = &slot->second;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    // Drops nlohmann's prefix "[json.exception…] parse error at line 1, column 2: syntax error …",
    // since our message has the position.
    std::string_view words = error.what();
    if (const auto tag = words.find("] "); tag != std::string_view::npos) {
      words.remove_prefix(tag + 2);
    }
    const auto column = words.find(", column ");
    const auto colon = words.find(": ", column == std::string_view::npos ? 0 : column);
    if (column != std::string_view::npos && colon != std::string_view::npos) {
      words.remove_prefix(colon + 2);
    }
    m_error_position = position;
    return refuse(ErrorCode::parse, printable(words, 200));
  }

  const std::optional<Fault>& fault() const { return m_fault; }
  /// Bytes read at a syntax error (the end counts as one); the lexer looks ahead, so the iterator
  /// may be one further.
  const std::optional<std::size_t>& error_position() const { return m_error_position; }
  Json take() { return std::move(m_root); }

 private:
  template <typename Value>
  Json* add(Value&& value) {
    if (m_open.empty()) return &(m_root = std::forward<Value>(value));
    if (m_open.back()->is_array()) {
      return &m_open.back()->emplace_back(std::forward<Value>(value));
    }
    return &(*m_slot = std::forward<Value>(value));
  }

  bool open(Json container) {
    if (m_open.size() >= m_max_depth) {
      return refuse(ErrorCode::limit, fmt::format("nested deeper than {} levels", m_max_depth));
    }
    m_open.push_back(add(std::move(container)));
    return true;
  }
  bool close() {
    m_open.pop_back();
    return true;
  }
  bool check_nul(const std::string& text, std::string_view where) {
    if (text.find('\0') == std::string::npos) return true;
    return refuse(ErrorCode::invalid, fmt::format("{} holds a NUL character", where));
  }
  bool refuse(ErrorCode code, std::string cause) {
    if (!m_fault) m_fault = Fault{code, std::move(cause)};
    return false;
  }

  std::size_t m_max_depth;
  Json m_root;
  std::vector<Json*> m_open;  // a container moves only when its parent grows, which happens later
  Json* m_slot = nullptr;     // where the value of the last key goes
  std::optional<Fault> m_fault;
  std::optional<std::size_t> m_error_position;
};

Error json_error(ErrorCode code, std::string_view what, std::string cause, std::string next) {
  return Error{code, "parse", std::string(what), std::move(cause), std::move(next)};
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view what, JsonLimits limits) {
  if (text.size() > limits.max_bytes) {
    return json_error(
        ErrorCode::limit, what,
        fmt::format("{} bytes are more than the limit of {}", text.size(), limits.max_bytes),
        "make it smaller");
  }
  const char* const begin = text.data();
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
    return json_error(ErrorCode::invalid, what,
                      position_words(begin, begin + nul + 1) + ": a NUL byte",
                      "save it as plain UTF-8 text");
  }
  if (text.starts_with("\xef\xbb\xbf")) {
    return json_error(ErrorCode::parse, what, "line 1, column 1: a byte order mark",
                      "save it as UTF-8 without one");
  }
  const char* at = begin;
  Builder builder(limits.max_depth);
  const bool done =
      Json::sax_parse(TrackingIterator(begin, &at), TrackingIterator(begin + text.size(), &at),
                      &builder, Json::input_format_t::json, true, false);
  if (done && !builder.fault()) return builder.take();
  if (builder.error_position()) at = begin + std::min(*builder.error_position(), text.size());
  const Fault fault = builder.fault().value_or(Fault{ErrorCode::parse, "not JSON"});
  return json_error(fault.code, what, position_words(begin, at) + ": " + fault.cause,
                    "correct the text there");
}

}  // namespace wb
