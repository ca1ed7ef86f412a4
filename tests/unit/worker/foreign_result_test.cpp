// SPDX-License-Identifier: MIT
// Results in the memory of another process; the tests use this process, which may always be read.
#include "worker/outputs.hpp"
#include "core/json.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "problem/inputs.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::problem;
using namespace wb::worker;

namespace {

ResultAddress place_of(const std::vector<float>& values, std::array<std::int64_t, 4> strides) {
  return {reinterpret_cast<std::uint64_t>(values.data()), strides};
}

std::vector<float> read_floats(const ResultAddress& place, const Problem& problem) {
  std::vector<float> out(out_bytes(problem) / 4);
  const auto read = read_result(::getpid(), place, problem, std::as_writable_bytes(std::span(out)));
  if (!read.ok()) FAIL(read.error().message());
  return out;
}

}  // namespace

TEST_CASE("a result is read where it lies, whatever its strides", "[worker][result]") {
  const Problem problem = *parse_problem("B=2 Hq=3 Sq=4 D=5 f32");
  std::vector<float> values(2 * 3 * 4 * 5);
  std::iota(values.begin(), values.end(), 0.0f);
  CHECK(read_floats(place_of(values, {60, 20, 5, 1}), problem) == values);
  // Rows before heads in memory.
  const auto swapped = read_floats(place_of(values, {60, 5, 15, 1}), problem);
  CHECK(swapped[20] == 5);  // head 1, row 0
  CHECK(swapped[5] == 15);  // head 0, row 1
  // Columns that are not contiguous, and the same for every batch.
  std::vector<float> wide(2 * 60);
  std::iota(wide.begin(), wide.end(), 0.0f);
  const auto thin = read_floats(place_of(wide, {0, 40, 10, 2}), problem);
  CHECK(thin[1] == 2);
  CHECK(thin[60] == thin[0]);
  // The layout of `out` is the problem's.
  const Problem other = *parse_problem("B=1 Hq=2 Sq=3 D=4 f32 layout=BSHD");
  std::vector<float> heads_first(24);
  std::iota(heads_first.begin(), heads_first.end(), 0.0f);
  const auto rows_first = read_floats(place_of(heads_first, {24, 12, 4, 1}), other);
  CHECK(rows_first[4] == 12);
}

TEST_CASE("what a subject tells of its result is not believed", "[worker][result][hostile]") {
  CHECK(may_read_memory_of(::getpid()));
  const Problem problem = *parse_problem("B=2 Hq=3 Sq=4 D=5 f32");
  std::vector<std::byte> out(out_bytes(problem));
  const auto fails = [&](const ResultAddress& place) {
    return !read_result(::getpid(), place, problem, out).ok();
  };
  CHECK(fails({1, {60, 20, 5, 1}}));  // no memory there
  CHECK(fails({4'096, {1'000'000'000, 20, 5, 1}}));
  CHECK(fails({4'096, {60, 20, 5, 40}}));
  // Pages that nobody may read: who protects them to work later has left nothing to read.
  void* closed = ::mmap(nullptr, 4'096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(fails({reinterpret_cast<std::uint64_t>(closed), {60, 20, 5, 1}}));
  ::munmap(closed, 4'096);
  for (const char* text :
       {R"({})", R"({"address":0,"strides":[1,1,1,1]})", R"({"address":-1,"strides":[1,1,1,1]})",
        R"({"address":64,"strides":[1,1,1]})", R"({"address":64,"strides":[1,1,1,-1]})",
        R"({"address":64,"strides":[1,1,1,0.5]})", R"({"address":64,"strides":"1"})",
        R"({"address":64,"strides":[1,1,1,9223372036854775807]})"}) {
    INFO(text);
    CHECK_FALSE(result_address_from_json(Json::parse(text)).ok());
  }
  CHECK(result_address_from_json(Json::parse(R"({"address":64,"strides":[60,20,5,1]})")).ok());
}
