// SPDX-License-Identifier: MIT
// What the tests of traces share: traces written by hand into a temporary folder.
#pragma once

#include <fstream>
#include <string>

#include "core/files.hpp"
#include "core/json.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "trace/trace.hpp"

namespace wb::testing {

/// A folder with one trace in it, gone with the object.
class TraceFile {
 public:
  explicit TraceFile(const std::string& bytes) : m_folder(*TempDirectory::create("wb-trace-test")) {
    std::ofstream(path(), std::ios::binary) << bytes;
  }
  [[nodiscard]] fs::path path() const { return m_folder.path() / "trace.json"; }

 private:
  TempDirectory m_folder;
};

inline fs::path trace_fixture(const char* name) {
  return source_dir() / "tests/data/trace" / name;
}

/// Read and linked; the test fails when it cannot be read.
inline trace::Trace linked_trace(const fs::path& path) {
  auto read = trace::read_trace(path);
  if (!read.ok()) FAIL(read.error().message());
  trace::Trace trace = *std::move(read);
  trace::link_trace(trace);
  return trace;
}

inline trace::Trace linked_trace(const std::string& text) {
  return linked_trace(TraceFile(text).path());
}

/// The error of reading these bytes, or "accepted".
inline std::string read_refusal(const std::string& bytes) {
  const TraceFile file(bytes);
  const auto read = trace::read_trace(file.path());
  return read.ok() ? "accepted" : read.error().message();
}

/// One complete event as text. `more` are members of its args.
inline std::string event_text(const char* category, const std::string& name, double ts, double dur,
                              const std::string& more = {}, int tid = 1) {
  std::string text = Json{{"ph", "X"},  {"cat", category}, {"name", name}, {"pid", 10},
                          {"tid", tid}, {"ts", ts},        {"dur", dur}}
                         .dump();
  text.pop_back();
  return text + ",\"args\":{" + more + "}}";
}

inline std::string trace_text(std::initializer_list<std::string> events) {
  std::string text;
  for (const std::string& event : events) text += (text.empty() ? "" : ",\n") + event;
  return "{\"traceEvents\":[" + text + "]}";
}

}  // namespace wb::testing
