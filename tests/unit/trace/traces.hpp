// SPDX-License-Identifier: MIT
// What the tests of traces share: traces written by hand into a temporary folder, and a call of a
// library's operator as a profile records it, with the row that comes of it.
#pragma once

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include "core/files.hpp"
#include "core/json.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "trace/op_rows.hpp"
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

/// Places of an operator's schema by number; all others are empty.
struct Call {
  std::string name;
  std::map<int, std::string> dims, types, concrete;

  [[nodiscard]] std::string arguments() const {
    std::size_t count = 0;
    for (const auto* part : {&dims, &types, &concrete}) {
      if (!part->empty())
        count = std::max(count, static_cast<std::size_t>(part->rbegin()->first) + 1);
    }
    Json all_dims = Json::array(), all_types = Json::array(), words = Json::array();
    for (std::size_t i = 0; i < count; ++i) {
      const int place = static_cast<int>(i);
      const auto word = [&](const std::map<int, std::string>& part) {
        const auto found = part.find(place);
        return found == part.end() ? std::string() : found->second;
      };
      const std::string shape = word(dims);
      all_dims.push_back(shape.empty() ? Json::array() : Json::parse(shape));
      std::string type = word(types);
      if (type.empty() && !shape.empty()) type = "c10::BFloat16";
      all_types.push_back(type);
      words.push_back(word(concrete));
    }
    return "\"Input Dims\":" + all_dims.dump() + ",\"Input type\":" + all_types.dump() +
           ",\"Concrete Inputs\":" + words.dump();
  }

  [[nodiscard]] trace::OpRow row() const {
    const trace::Trace trace = linked_trace(
        trace_text({event_text("cpu_op", name, 10, 50, arguments()),
                    event_text("cuda_runtime", "cudaLaunchKernel", 20, 1, "\"correlation\":1"),
                    event_text("kernel", "k", 100, 10, "\"stream\":7,\"correlation\":1")}));
    const auto rows = trace::rows_of(trace, trace::find_sdpa_calls(trace));
    INFO(name);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].kernel_us.sum == Approx(10));
    return rows[0];
  }
  [[nodiscard]] double flops() const {
    const trace::OpRow found = row();
    INFO(name << ": " << found.why_no_model);
    REQUIRE(found.work);
    return found.work->flops;
  }
  [[nodiscard]] std::string why() const {
    const trace::OpRow found = row();
    INFO(name);
    CHECK_FALSE(found.work);
    CHECK_FALSE(found.tflops);
    return found.why_no_model;
  }
};

inline bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

inline std::map<int, std::string> with(std::map<int, std::string> all,
                                       const std::map<int, std::string>& more) {
  for (const auto& [place, text] : more) all[place] = text;
  return all;
}

}  // namespace wb::testing
