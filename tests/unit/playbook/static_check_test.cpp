// SPDX-License-Identifier: MIT
// Unknown names are found anywhere in the text.
#include "playbook/static_check.hpp"

#include <filesystem>

#include "support/catch.hpp"
#include "support/places.hpp"

using namespace wb;
using namespace wb::playbook;

namespace {

std::vector<std::string> faults_of(const std::string& text,
                                   std::map<std::string, std::string> lib = {}) {
  PlaybookMeta meta;
  meta.arguments = {{"kernel", {{"default", "cpu_tiled"}, {"doc", "which"}}}};
  const auto faults = static_faults({"test.lua", text, std::move(lib)}, meta);
  INFO((faults ? std::string("ok") : faults.error().message()));
  REQUIRE(faults.ok());
  return *faults;
}

std::vector<std::string> in_run(const std::string& body) {
  return faults_of("return { name = 'n', about = 'a', run = function(wb, args)\n" + body +
                   "\nend }");
}

void accuses(const std::string& body, const std::string& fragment) {
  INFO(body);
  const auto faults = in_run("if args.kernel == 'never' then " + body + " end");
  REQUIRE(faults.size() == 1);
  INFO(faults.front());
  CHECK(faults.front().find(fragment) != std::string::npos);
  CHECK(faults.front().starts_with("test.lua:2: "));
}

void takes(const std::string& body) {
  INFO(body);
  for (const std::string& fault : in_run(body)) FAIL_CHECK(fault);
}

constexpr const char* k_good = "variant = 'cpu_tiled', hypothesis = 'h', predicted_speedup = 1.1";

}  // namespace

TEST_CASE("a verb that does not exist is found behind any name", "[playbook][unit]") {
  const std::string said = "there is no verb wb.tunee; did you mean wb.tune?";
  for (const char* body : {"wb.tunee {}",
                           "wb['tunee'] {}",
                           "wb[\"tunee\"]()",
                           "local w = wb w.tunee {}",
                           "local w <const> = nil or wb w.tunee {}",
                           "pcall(wb.tunee, {})",
                           "local fine, why = pcall(function() return wb.tunee {} end)",
                           "local name = 'tunee' wb[name] {}",
                           "for _, name in ipairs { 'tune', 'tunee' } do local verb = wb[name] end",
                           "local t = { wb = wb } t.wb.tunee {}",
                           "local t = {} t.api = wb t.api.tunee {}",
                           "local t = { wb } t[1].tunee {}",
                           "local function f(w) w.tunee {} end f(wb)",
                           "local function f() return wb end f().tunee {}",
                           "local o = { w = wb } function o:go() self.w.tunee {} end o:go()",
                           "local function f(...) local w = ... w.tunee {} end f(wb)",
                           "local a, b = 1, wb b.tunee {}",
                           "do local w = wb goto out w.tunee {} ::out:: end",
                           "repeat local w = wb until w.tunee {}",
                           "local x = wb.tunee",
                           "(wb).tunee {}",
                           "coroutine.wrap(function() wb.tunee {} end)()",
                           "table.sort({}, function(a, b) return wb.tunee { a, b } end)"}) {
    accuses(body, said);
  }
}

TEST_CASE("a verb that does not exist is found in libraries that are required",
          "[playbook][unit]") {
  const std::map<std::string, std::string> lib{
      {"lib.steps",
       "local steps = {}\nfunction steps.go(w, name)\n  if name == 'x' then w.tunee {} end\nend\n"
       "local function unused(wb) wb.chek {} end\nreturn steps"},
      {"lib.other", "return { f = function(wb) wb.nothing_of_this {} end }"}};
  const auto faults = faults_of(
      "local steps = require 'lib.steps'\n"
      "return { run = function(wb) steps.go(wb, 'y') end }",
      lib);
  REQUIRE(faults.size() == 2);
  CHECK(faults[0] == "lib.steps.lua:3: there is no verb wb.tunee; did you mean wb.tune?");
  CHECK(faults[1] == "lib.steps.lua:5: there is no verb wb.chek; did you mean wb.check?");
}

TEST_CASE("arguments are held against the verb where they are written", "[playbook][unit]") {
  const std::string good(k_good);
  accuses("wb.iterate { " + good + ", confrim = 'always' }", "did you mean confirm?");
  accuses("wb.iterate { " + good + ", confirm = 'allways' }", "did you mean always?");
  accuses("wb.iterate { " + good + ", ['confrim'] = 1 }", "no argument \"confrim\"");
  accuses("wb.iterate { variant = 3, hypothesis = 'h', predicted_speedup = 1 }", "a string");
  accuses("wb.iterate { variant = 'x', predicted_speedup = 1 }", "\"hypothesis\" is missing");
  accuses("local p = { " + good + ", confrim = 1 } wb.iterate(p)", "confrim");
  accuses("local p = { " + good + " } p.confrim = 'x' wb.iterate(p)", "confrim");
  accuses("pcall(wb.iterate, { " + good + ", confrim = 1 })", "confrim");
  accuses("local function try(what, p) return wb.iterate(p) end try('a', { " + good +
              " }) try('b', { " + good + ", confrim = 'x' })",
          "confrim");
  accuses("wb:note { text = 'x' }", "takes one table");
  accuses("wb.note('a', 'b')", "takes one table");
}

TEST_CASE("fields of answers and of the playbook's arguments are known", "[playbook][unit]") {
  const std::string call = std::string("local a = wb.iterate { ") + k_good + " } ";
  accuses(call + "print(a.outcom)",
          "the answer of wb.iterate has no outcom; did you mean outcome?");
  accuses(call + "if a['speedupp'] then end", "did you mean speedup?");
  accuses("print(wb.status {}.incumbant)", "did you mean incumbent?");
  accuses("local a repeat a = wb.tune { " + std::string(k_good) + " } until a.stop_reson",
          "did you mean stop_reason?");
  accuses("local fine, a = pcall(wb.status, {}) print(a.incumbant)", "incumbant");
  accuses("print(args.kernal)", "did you mean kernel?");
}

TEST_CASE("what may be right is not accused", "[playbook][unit]") {
  const std::string good(k_good);
  takes("local wb = { tunee = print } wb.tunee {}");
  takes("local w = args.kernel == 'y' and wb or { tunee = print } w.tunee {}");
  takes("local function f(wb) wb.tunee {} end f { tunee = print }");
  takes("local api = setmetatable({}, { __index = wb }) api.tunee {}");
  takes("wb.tunee = print wb.tunee {}");
  takes("local a = wb.iterate { " + good + " } a.note = 'x' print(a.note)");
  takes("local fine, a = pcall(wb.status, {}) print(a.message, a.incumbent)");
  takes("local fine, why = pcall(wb.note, {}) print(why:find('x', 1, true), why:upper())");
  takes("local fine, why = pcall(function() return wb['op' .. 'ne'] end)");
  takes("local p = { " + good + ", label = 'x' } p.label = nil wb.iterate(p)");
  takes("local p = { " + good + " } wb.iterate(p) p.seen = true");
  takes("local p = { " + good +
        " } if args.kernel == 'x' then p.strategy = 'racing' wb.tune(p) else wb.iterate(p) end");
  takes("local p = { " + good +
        ", strategy = 'racing' } if args.kernel == 'x' then wb.tune(p) else wb.iterate(p) end");
  takes(
      "local function try(step) wb.iterate { variant = step.variant, hypothesis = step.why, "
      "predicted_speedup = 1.5 } end try { variant = 'a', why = 'b', more = 1 }");
  takes("local list = {} list[#list + 1] = { odd = 1 } wb.note { text = list[1].odd .. '' }");
  takes("local verb = args.kernel wb[verb] {}");
  takes("local k = wb.kernels { name = 'cpu_tiled' }.kernels[1] print(k.about, k.defaults.TILE_M)");
  takes(
      "-- wb.tunee\n--[==[ wb.tunee ]] ]==]\nprint('wb.tunee', [[wb.tunee]], 0x1p-2, 1e+3, 3 // "
      "2)");
  takes("goto done do local x <close> = nil end ::done::");
}

TEST_CASE("playbooks of the project and their libraries can be followed", "[playbook][unit]") {
  namespace fs = std::filesystem;
  const RealFileSystem files;
  int count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(source_dir() / "playbooks")) {
    const fs::path& path = entry.path();
    const std::string folder = path.parent_path().filename().string();
    if (path.extension() != ".lua" || folder == "lib") continue;
    INFO(path.string());
    const auto source = find_playbook(files, {{source_dir()}}, path.string());
    REQUIRE(source.ok());
    const auto faults = static_faults(*source, {});
    REQUIRE(faults.ok());
    // Their arguments come from the host, which does not run here.
    for (const std::string& fault : *faults) {
      if (fault.find("the playbook's arguments") == std::string::npos) FAIL_CHECK(fault);
    }
    ++count;
  }
  CHECK(count >= 15);
}

TEST_CASE("deep and odd texts end with a word, not with the stack", "[playbook][unit]") {
  const auto deep = static_faults(
      {"test.lua", "return " + std::string(100'000, '(') + "1" + std::string(100'000, ')'), {}},
      {});
  REQUIRE_FALSE(deep.ok());
  for (const char* text : {"x = = 1", "return {", "local 1", "a.b", "'", "--[[", "x = 1 $", "f("}) {
    INFO(text);
    CHECK_FALSE(static_faults({"test.lua", text, {}}, {}).ok());
  }
}
