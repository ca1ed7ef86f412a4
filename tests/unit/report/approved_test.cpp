// SPDX-License-Identifier: MIT
// The pages of a realistic session, byte for byte as approved in tests/data/reports. After a wanted
// change, run with WB_APPROVE=1 in the environment, read the difference, and commit it.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/json.hpp"
#include "log_builder.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

namespace {

const std::filesystem::path k_folder = source_dir() / "tests/data/reports";

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void check_approved(const std::string& name, const std::string& text) {
  const char* approve = std::getenv("WB_APPROVE");
  if (approve != nullptr && std::string(approve) == "1") {
    std::ofstream(k_folder / name, std::ios::binary) << text;
  }
  INFO("approved: " << (k_folder / name).string());
  const std::string approved = read_file(k_folder / name);
  REQUIRE_FALSE(approved.empty());
  CHECK(text == approved);
}

}  // namespace

TEST_CASE("the report of a whole session is as approved", "[report][approved]") {
  check_approved("session.md", wb::report::render_session(wb::test::whole_session().view()));
}

TEST_CASE("the pages about causes are as approved", "[report][approved]") {
  const auto log = wb::test::explained_session();
  check_approved("explained_session.md", wb::report::render_session(log.view()));
  check_approved("root_cause.md", wb::report::render_root_cause(log.view()));
  check_approved("bottleneck.md", wb::report::render_bottleneck(log.view()));
  // A log from before causes were kept says so, and how to have them.
  const std::string older = wb::report::render_root_cause(wb::test::whole_session().view());
  CHECK(older.find("no causes were decided in this log") != std::string::npos);
  CHECK(wb::report::render_session(wb::test::whole_session().view()).find("## Causes") ==
        std::string::npos);
}

TEST_CASE("the pages that hand work over are as approved", "[report][approved]") {
  const auto log = wb::test::handed_over_session();
  const wb::session::SessionView& view = log.view();
  check_approved("handover.md", wb::report::render_handover(view));
  check_approved("iteration_1.md", wb::report::render_iteration_report(view, view.iterations[1]));
  check_approved("iteration_3.md", wb::report::render_iteration_report(view, view.iterations[3]));
}

TEST_CASE("pages about causes come out of any causes_decided", "[report][hostile]") {
  for (const wb::Json& payload :
       {wb::Json(), wb::Json::object(), wb::Json{{"causes", 3}}, wb::Json{{"causes", {1, nullptr}}},
        wb::Json{{"causes", {{{"evidence", "x"}, {"needs", {1}}, {"gain", 2}, {"where", {3}}}}},
                 {"start", {{"causes", {{{"state", "supported"}}}}}}}}) {
    auto log = wb::test::whole_session();
    log.view().causes = wb::session::Fact{9, "", payload};
    CHECK_FALSE(wb::report::render_session(log.view()).empty());
    CHECK_FALSE(wb::report::render_root_cause(log.view()).empty());
    CHECK_FALSE(wb::report::render_bottleneck(log.view()).empty());
  }
}

TEST_CASE("iteration pages are as approved", "[report][approved]") {
  const auto log = wb::test::whole_session();
  const wb::session::SessionView& view = log.view();
  for (const wb::session::IterationView& iteration : view.iterations) {
    check_approved("000" + std::to_string(iteration.number) + ".md",
                   wb::report::render_iteration(view, iteration));
  }
  check_approved("0001.json", wb::report::iteration_json(view, view.iterations[1]).dump(2) + "\n");
}

TEST_CASE("the status screen is as approved", "[report][approved]") {
  check_approved("status.txt", wb::report::render_status(wb::test::whole_session().view()));
}
