// SPDX-License-Identifier: MIT
#include "core/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
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

std::string describe(const Json& value) {
  return printable(value.dump(-1, ' ', false, Json::error_handler_t::replace), 60);
}

/// The kind of a value, for "must be a string, not …", without its content for containers.
std::string kind_words(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  return describe(value);
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

std::optional<std::int64_t> whole_number(const Json& value) {
  constexpr double k_exact = 9'007'199'254'740'992;  // 2^53
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    if (!(std::abs(number) <= k_exact) || number != std::floor(number)) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  constexpr auto k_most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > k_most) return std::nullopt;
  return value.get<std::int64_t>();
}

ObjectReader::ObjectReader(const Json& json, std::string what)
    : m_json(json), m_what(std::move(what)) {
  if (!m_json.is_object()) m_fault = "it must be an object, not " + kind_words(m_json);
}

const Json* ObjectReader::member(std::string_view key) {
  if (!m_json.is_object()) return nullptr;
  m_known.emplace(key);
  const auto found = m_json.find(key);
  return found == m_json.end() ? nullptr : &*found;
}

const Json* ObjectReader::require(std::string_view key) {
  const Json* value = member(key);
  if (value == nullptr && m_fault.empty()) m_fault = fmt::format("key \"{}\" is missing", key);
  return value;
}

void ObjectReader::fail(std::string_view key, std::string cause) {
  if (m_fault.empty()) m_fault = fmt::format("key \"{}\": {}", printable(key), cause);
}

std::string ObjectReader::string(std::string_view key) {
  return require(key) == nullptr ? std::string() : string_or(key, {});
}

std::string ObjectReader::string_or(std::string_view key, std::string fallback) {
  const Json* value = member(key);
  if (value == nullptr) return fallback;
  if (value->is_string()) return value->get<std::string>();
  fail(key, "must be a string, not " + kind_words(*value));
  return fallback;
}

std::int64_t ObjectReader::integer(std::string_view key, std::int64_t min, std::int64_t max) {
  return require(key) == nullptr ? min : integer_or(key, min, min, max);
}

std::int64_t ObjectReader::integer_or(std::string_view key, std::int64_t fallback, std::int64_t min,
                                      std::int64_t max) {
  const Json* value = member(key);
  if (value == nullptr) return fallback;
  if (const auto number = whole_number(*value); number && *number >= min && *number <= max) {
    return *number;
  }
  fail(key, fmt::format("must be an integer from {} to {}, not {}", min, max, kind_words(*value)));
  return fallback;
}

double ObjectReader::real(std::string_view key) {
  return require(key) == nullptr ? 0.0 : real_or(key, 0.0);
}

double ObjectReader::real_or(std::string_view key, double fallback) {
  const Json* value = member(key);
  if (value == nullptr) return fallback;
  if (value->is_number()) {
    const auto number = value->get<double>();
    if (std::isfinite(number)) return number;
  }
  fail(key, "must be a finite number, not " + kind_words(*value));
  return fallback;
}

bool ObjectReader::boolean_or(std::string_view key, bool fallback) {
  const Json* value = member(key);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  fail(key, "must be true or false, not " + kind_words(*value));
  return fallback;
}

std::vector<std::string> ObjectReader::strings_or(std::string_view key,
                                                  std::vector<std::string> fallback) {
  const Json* value = member(key);
  if (value == nullptr) return fallback;
  bool all_strings = value->is_array();
  std::vector<std::string> list;
  for (std::size_t i = 0; all_strings && i < value->size(); ++i) {
    const Json& item = (*value)[i];
    all_strings = item.is_string();
    if (all_strings) list.push_back(item.get<std::string>());
  }
  if (all_strings) return list;
  fail(key, "must be a list of strings");
  return fallback;
}

Result<void> ObjectReader::finish(bool allow_unknown) {
  std::string next;
  if (m_fault.empty() && !allow_unknown) {
    for (const auto& [key, value] : m_json.items()) {
      if (m_known.contains(key)) continue;
      m_fault = fmt::format("key \"{}\" is not known here", printable(key));
      next = fmt::format("known keys: {}", fmt::join(m_known, ", "));
      break;
    }
  }
  if (m_fault.empty()) return {};
  return Error{ErrorCode::invalid, "read", m_what, m_fault, std::move(next)};
}

}  // namespace wb
