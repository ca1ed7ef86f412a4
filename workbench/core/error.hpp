// SPDX-License-Identifier: MIT
// Error and Result<T>: how every module reports an expected failure. A message says what was
// attempted, on what, why it failed and what to do next. Broken invariants throw std::logic_error.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace wb {

/// The kind of a failure; the command line maps each kind to one exit code
/// (docs/guide/command_line.md).
enum class ErrorCode {
  usage,         ///< the caller asked for something that does not exist or is malformed
  not_found,     ///< a named file, kernel, suite, session or event is absent
  parse,         ///< text that should be JSON, a problem, a manifest … is not
  invalid,       ///< well-formed, but breaks a rule
  io,            ///< the operating system refused a read or write
  no_space,      ///< disk full
  locked,        ///< another process holds the session or the device; try again later
  read_only,     ///< the folder or the session may not be written
  too_new,       ///< a newer format than this program knows
  damaged,       ///< a stored file fails its own checks
  compile,       ///< the compiler refused the source
  wrong_result,  ///< a verdict failed
  limit,         ///< a budget, deadline or size cap was reached
  security,      ///< a sandbox rule was broken
  environment,   ///< the machine, not the variant, is at fault
  canceled,      ///< a signal or a closing wire
  internal       ///< a fault of the workbench itself
};

/// The frozen word of a code, as JSON, Lua and Python spell it.
std::string_view to_string(ErrorCode code);
std::optional<ErrorCode> parse_error_code(std::string_view word);

/// True for characters that a reader cannot see or that reorder the text: control characters,
/// bidirectional marks, joiners.
bool is_hidden_character(char32_t point);

/// Escapes hidden characters in JSON text, where they can stand inside strings only: "\u202e".
std::string without_hidden_characters(std::string json);

/// Makes foreign text fit for one line of a message: hidden characters and bytes that are not UTF-8
/// become "\n", "\x1b" …; text after the first `max_bytes` is cut, and the cut bytes are counted.
std::string printable(std::string_view text, std::size_t max_bytes = 120);

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string attempted;  ///< "read the manifest"
  std::string subject;    ///< "kernels/cpu_tiled/kernel.json"
  std::string cause;      ///< "key \"sources\" is missing"
  std::string next;       ///< "add a list of source files"; may be empty

  /// One line of valid UTF-8, whatever the parts hold: "cannot read the manifest kernels/…: key …
  /// is missing; add …".
  [[nodiscard]] std::string message() const;
};

/// A value or an error of type E. It stands in for std::expected, which the compilers of Debian 12
/// lack.
template <typename T, typename E>
class [[nodiscard]] Expected {
 public:
  using value_type = T;
  Expected(T value) : m_state(std::in_place_index<0>, std::move(value)) {}  // NOLINT(implicit)
  Expected(E error) : m_state(std::in_place_index<1>, std::move(error)) {}  // NOLINT(implicit)

  [[nodiscard]] bool ok() const { return m_state.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// Throws std::bad_variant_access without a value: check ok() first.
  T& value() & { return std::get<0>(m_state); }
  const T& value() const& { return std::get<0>(m_state); }
  T&& value() && { return std::get<0>(std::move(m_state)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const E& error() const& { return std::get<1>(m_state); }
  E&& error() && { return std::get<1>(std::move(m_state)); }

 private:
  std::variant<T, E> m_state;
};

template <typename E>
class [[nodiscard]] Expected<void, E> {
 public:
  using value_type = void;
  Expected() = default;
  Expected(E error) : m_error(std::move(error)) {}  // NOLINT(implicit)

  [[nodiscard]] bool ok() const { return !m_error.has_value(); }
  explicit operator bool() const { return ok(); }
  const E& error() const& { return m_error.value(); }
  E&& error() && { return std::move(m_error).value(); }

 private:
  std::optional<E> m_error;
};

/// The return type of almost every function that may fail.
template <typename T>
using Result = Expected<T, Error>;

// Why an evaluation is invalid, and Outcome<T>: the result of building, judging and timing a
// variant. A failing variant is an outcome in the log, never an Error of the workbench.

/// The words are frozen: they stand in logs. `environment` is never held against the variant.
enum class Invalidity { constraints, compile, runtime, timeout, correctness, environment };
std::string_view to_string(Invalidity value);
std::optional<Invalidity> parse_invalidity(std::string_view word);

struct Failure {
  Invalidity invalidity = Invalidity::environment;
  std::string message;           ///< our sentence that says what happened
  std::string untrusted_output;  ///< compiler text or output of the variant, capped
  double compile_cpu_s = 0;      ///< used by a compiler that failed; it costs like one that built
};

template <typename T>
using Outcome = Expected<T, Failure>;

}  // namespace wb

#define WB_CONCAT_INNER(a, b) a##b
#define WB_CONCAT(a, b) WB_CONCAT_INNER(a, b)

/// WB_TRY(expression): returns the Error of a failed Result to the caller.
#define WB_TRY(expression)                                      \
  do {                                                          \
    if (auto wb_try_result = (expression); !wb_try_result.ok()) \
      return std::move(wb_try_result).error();                  \
  } while (false)

/// WB_TRY_ASSIGN(auto x, expression): like WB_TRY, and binds the value.
#define WB_TRY_ASSIGN(declaration, expression)                 \
  auto WB_CONCAT(wb_result_, __LINE__) = (expression);         \
  if (!WB_CONCAT(wb_result_, __LINE__).ok())                   \
    return std::move(WB_CONCAT(wb_result_, __LINE__)).error(); \
  declaration = *std::move(WB_CONCAT(wb_result_, __LINE__))
