// SPDX-License-Identifier: MIT
// What the tests of a fault plan share: whether every point is asked for or a selection (`make
// torture` sets WB_TORTURE=1), and how many were tried, told to the file named by WB_TORTURE_OUT.
#pragma once

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

namespace wb::testing {

inline std::string torture_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// Every point of the plan, instead of the quick selection.
inline bool torture() {
  static const bool asked = torture_variable("WB_TORTURE") == "1";
  return asked;
}

/// `all` of them under `make torture`, else `few`.
template <typename Number>
Number points_of(Number all, Number few) {
  return torture() ? all : few;
}

/// Counts the points of one row of the plan. A point passed when begin() was followed by pass().
class Points {
 public:
  explicit Points(std::string row) : m_row(std::move(row)) {}
  Points(const Points&) = delete;
  Points& operator=(const Points&) = delete;
  /// Appends one JSON line; tests/torture/run.py adds the lines of a row up.
  ~Points() {
    const std::string path = torture_variable("WB_TORTURE_OUT");
    if (path.empty()) return;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - m_begin;
    std::ofstream(path, std::ios::app)
        << "{\"row\":\"" << m_row << "\",\"tried\":" << m_tried << ",\"passed\":" << m_passed
        << ",\"seconds\":" << took.count() << "}\n";
  }
  void begin() { ++m_tried; }
  void pass() { ++m_passed; }
  [[nodiscard]] int tried() const { return m_tried; }
  [[nodiscard]] int passed() const { return m_passed; }

 private:
  std::string m_row;
  int m_tried = 0, m_passed = 0;
  std::chrono::steady_clock::time_point m_begin = std::chrono::steady_clock::now();
};

}  // namespace wb::testing
