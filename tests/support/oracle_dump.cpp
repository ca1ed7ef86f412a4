// SPDX-License-Identifier: MIT
// Test support: shows the judge's own numbers to tests in other languages. `oracle_dump FOLDER`
// reads lines on standard input and answers each with one line of JSON on standard output:
//   dump ; PROBLEM ; SEED ; DRAW                  writes FOLDER/<line>.{q,k,v,mask,out,lse}.bin,
//                                                 out and lse of the oracle as float64
//   judge ; PROBLEM ; SEED ; DRAW ; OUT ; LSE|-   the verdict on raw files (LSE: f32)
#include <algorithm>
#include <charconv>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "core/json.hpp"
#include "problem/verdict.hpp"

namespace {

using namespace wb;
using namespace wb::problem;

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::size_t begin = 0;
  while (begin <= line.size()) {
    const std::size_t end = std::min(line.find(';', begin), line.size());
    std::string field = line.substr(begin, end - begin);
    field.erase(0, field.find_first_not_of(' '));
    field.erase(field.find_last_not_of(' ') + 1);
    fields.push_back(std::move(field));
    begin = end + 1;
  }
  return fields;
}

struct Request {
  Problem problem;
  std::uint32_t seed = 0;
  Draw draw = Draw::normal;
};

Result<Request> request_of(const std::vector<std::string>& fields) {
  const Error bad{ErrorCode::usage, "read", "a line", "it is not MODE ; PROBLEM ; SEED ; DRAW", ""};
  if (fields.size() < 4) return bad;
  Request request;
  WB_TRY_ASSIGN(request.problem, parse_problem(fields[1]));
  const std::string& seed = fields[2];
  const auto [end, code] = std::from_chars(seed.data(), seed.data() + seed.size(), request.seed);
  const auto draw = parse_draw(fields[3]);
  if (code != std::errc() || end != seed.data() + seed.size() || !draw) return bad;
  request.draw = *draw;
  return request;
}

void write_file(const fs::path& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

Json dump(const Request& request, const fs::path& folder, int line) {
  const Problem& p = request.problem;
  const Inputs inputs = make_inputs(p, request.seed, request.draw);
  // In the layout of the problem, as a subject would write it.
  std::vector<double> out(static_cast<std::size_t>(out_element_count(p)));
  std::vector<double> lse(static_cast<std::size_t>(p.B * p.Hq * p.Sq));
  const TensorStrides strides = out_strides(p);
  for (const RowBlock& block : all_row_blocks(p)) {
    const BlockOutput result = oracle_block(p, inputs, block);
    for (std::int64_t row = block.row_begin; row < block.row_end; ++row) {
      const std::int64_t i = row - block.row_begin;
      const std::int64_t at = block.b * strides.batch + block.h * strides.head + row * strides.row;
      std::copy_n(result.out.begin() + i * p.Dv, p.Dv, out.begin() + at);
      lse[static_cast<std::size_t>((block.b * p.Hq + block.h) * p.Sq + row)] =
          result.lse[static_cast<std::size_t>(i)];
    }
  }
  const std::string base = (folder / std::to_string(line)).string();
  write_file(base + ".q.bin", inputs.q);
  write_file(base + ".k.bin", inputs.k);
  write_file(base + ".v.bin", inputs.v);
  write_file(base + ".mask.bin", inputs.mask);
  write_file(base + ".out.bin", std::as_bytes(std::span(out)));
  write_file(base + ".lse.bin", std::as_bytes(std::span(lse)));
  return {{"base", base}};
}

Result<Json> judge(const Request& request, const std::vector<std::string>& fields) {
  if (fields.size() != 6) {
    return Error{ErrorCode::usage, "judge", "a line", "it needs an OUT and an LSE path (or -)", ""};
  }
  const RealFileSystem files;
  WB_TRY_ASSIGN(const std::string out, files.read(fields[4], std::uint64_t{1} << 30));
  std::vector<float> lse;
  if (fields[5] != "-") {
    WB_TRY_ASSIGN(const std::string bytes, files.read(fields[5], std::uint64_t{1} << 30));
    lse.resize(bytes.size() / sizeof(float));
    std::copy_n(bytes.data(), lse.size() * sizeof(float), reinterpret_cast<char*>(lse.data()));
  }
  const Inputs inputs = make_inputs(request.problem, request.seed, request.draw);
  return to_json(judge_output(request.problem, inputs, std::as_bytes(std::span(out)), lse, {}));
}

Result<Json> answer(const std::string& line, const fs::path& folder, int number) {
  const std::vector<std::string> fields = fields_of(line);
  WB_TRY_ASSIGN(const Request request, request_of(fields));
  if (fields[0] == "dump") return dump(request, folder, number);
  if (fields[0] == "judge") return judge(request, fields);
  return Error{ErrorCode::usage, "read", fields[0], "the mode is neither dump nor judge", ""};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: oracle_dump FOLDER < LINES\n";
    return 2;
  }
  std::string line;
  for (int number = 0; std::getline(std::cin, line); ++number) {
    const auto result = answer(line, argv[1], number);
    if (!result.ok()) {
      std::cerr << "line " << number << ": " << result.error().message() << "\n";
      return 1;
    }
    std::cout << result->dump() << "\n";
  }
  return 0;
}
