// SPDX-License-Identifier: MIT
#include "session/redact.hpp"
#include "core/json.hpp"

#include "core/hash.hpp"
#include "session/log_reader.hpp"
#include "unit/session/scratch.hpp"

using namespace wb;
using namespace wb::session;
using namespace wb::testing;

namespace {

Json opened_by(const std::string& name, const std::string& email) {
  return {{"session", "s"}, {"author", {{"name", name}, {"email", email}}}};
}

}  // namespace

TEST_CASE("addresses, paths and hosts are replaced, the same by the same", "[session][redact]") {
  Redactor redactor;
  CHECK(redactor.text("see /home/Ada/x.cu and /opt/y, again /home/Ada/x.cu(12): error") ==
        "see redacted-path-1 and redacted-path-2, again redacted-path-1(12): error");
  CHECK(redactor.text("-I/usr/include -o/tmp/a.o PATH=/a/b:/c/d") ==
        "-Iredacted-path-3 -oredacted-path-4 PATH=redacted-path-5:redacted-path-6");
  CHECK(redactor.text("mail ada.l+x@example.org, Ada.L+x@Example.org.") ==
        "mail redacted-email-1, redacted-email-1.");
  CHECK(redactor.text("at http://node7.lan:80/x?y=1, https://a.b.") ==
        "at redacted-url-1, redacted-url-2.");
  CHECK(redactor.text("10.0.0.7 and fe80::1:2 and 00:1a:2b:3c:4d:5e") ==
        "redacted-host-1 and redacted-host-2 and redacted-host-3");
  CHECK(redactor.text("GPU-f52003be-70bb-50b7-2279-8bd997e106a6") == "redacted-host-4");
  CHECK(redactor.text("ada@10.0.0.9:22, ada@localhost, ada@localhost.example.org") ==
        "redacted-email-2:22, redacted-email-3, redacted-email-4");
  CHECK(redactor.text("#include </opt/s/x.h> @/opt/args, \u2018/opt/y\u2019 \u201c/opt/y\u201d") ==
        "#include <redacted-path-7> @redacted-path-8, \u2018redacted-path-2\u2019 "
        "\u201credacted-path-2\u201d");
  CHECK(redactor.text(R"("error:\n/opt/y")") == R"("error:\nredacted-path-2")");
  CHECK(redactor.counts().at("path") == 12);
  CHECK(redactor.counts().at("email") == 5);
}

TEST_CASE("what looks a little like an address stays", "[session][redact]") {
  Redactor redactor;
  for (const char* text : {"cpu_tiled@1f0c44aa",
                           "989.5 TFLOP/s and 4.8 TB/s",
                           "hot/cold",
                           "580.159.04",
                           "13.0.88",
                           "2026-11-22T18:03:22.123Z",
                           "pytorch_flash::flash_fwd_kernel",
                           "a // comment",
                           "B*Hq = 8 to 128",
                           "playbooks/ladder.lua",
                           "./kernels/x.cu",
                           "1/2",
                           "/proc/meminfo",
                           "2.11.0+cu130",
                           "1.2.3.4.5",
                           "999.1.1.1",
                           "e12 [e13]",
                           "x </b> y",
                           "</code></pre>",
                           "std::abs(a::b)",
                           "torch@2.13.0"}) {
    INFO(text);
    CHECK(redactor.text(text) == text);
  }
  CHECK(redactor.counts().empty());
}

TEST_CASE("names are learned from the log and replaced as whole words", "[session][redact]") {
  const Scratch scratch;
  RealFileSystem files;
  const FakeClock clock;
  EventLog log = must(EventLog::create(files, clock, scratch.path()));
  must(log.append("session_opened", opened_by("Ada Lovelace", "ada@engine.example")));
  must(log.append("environment_recorded",
                  {{"worker", {{"transport", "ssh -p 22 grace@node-7 docker exec box"}}}}));
  must(log.append("note", {{"text", "built in /home/Charles/k"}}));
  Redactor redactor;
  must(redactor.learn(log));
  CHECK(redactor.text("ada lovelace, ADA, charles and charlesworth") ==
        "redacted-user-1, redacted-user-2, redacted-user-3 and charlesworth");
  CHECK(redactor.text("on node-7 in box, not node-77, by ssh") ==
        "on redacted-host-1 in redacted-host-2, not node-77, by ssh");
  CHECK(redactor.text("the sdpa-wb root user") == "the sdpa-wb root user");
}

TEST_CASE("what the log is read by is no name, whoever has it", "[session][redact]") {
  const Scratch scratch;
  RealFileSystem files;
  const FakeClock clock;
  EventLog log = must(EventLog::create(files, clock, scratch.path()));
  must(log.append("session_opened", opened_by("hot", "pass@engine.example")));
  must(log.append("environment_recorded",
                  {{"device", {{"name", "x"}}},
                   {"worker", {{"transport", "ssh -o HostName=node-7 device@Outcome 'box'"}}}}));
  must(log.append("iteration_closed", {{"outcome", "win"}, {"item", "/home/Outcome/x"}}));
  Redactor redactor;
  must(redactor.learn(log));
  redactor.learn_homes("/home/Device/x /home/Tune/y /home/Grace/z");
  for (const char* word : {"device", "outcome", "HostName", "compile_cpu", "hot", "cold", "eager",
                           "win", "baseline", "pass", "selection", "confirmation", "tune"}) {
    INFO(word);
    CHECK(redactor.text(word) == word);
  }
  CHECK(redactor.text("node-7 of grace, \u2018box\u2019") ==
        "redacted-host-1 of redacted-user-1, \u2018redacted-host-2\u2019");
  CHECK(redactor.json({{"device", {{"name", "x"}}}}) == Json{{"device", {{"name", "x"}}}});
}

TEST_CASE("fields of names are replaced whole, however short or common", "[session][redact]") {
  const Scratch scratch, copy;
  RealFileSystem files;
  const FakeClock clock;
  EventLog log = must(EventLog::create(files, clock, scratch.path()));
  Json opened = opened_by("Al", "al@h");
  opened["repository"] = {{"path", "../al"}, {"branch", "main"}};
  must(log.append("session_opened", opened));
  must(log.append("iteration_closed", {{"author", {{"name", "al"}, {"email", ""}}},
                                       {"committer", {{"name", "root"}, {"email", "r@h"}}}}));
  must(log.append("note", {{"author", "nobody"}, {"repository", {{"path", 1}}}}));
  Redactor redactor;
  must(redactor.learn(log));
  spill(copy / "events.jsonl", must(redacted_log(log, redactor, {})));
  const EventLog again = must(EventLog::open_reader(files, copy.path()));
  const Json first = must(again.payload(1)), second = must(again.payload(2));
  CHECK(first["author"] == Json{{"name", "redacted-user-1"}, {"email", "redacted-email-1"}});
  CHECK(first["repository"] == Json{{"path", "redacted-path-1"}, {"branch", "main"}});
  CHECK(second["author"] == Json{{"name", "redacted-user-1"}, {"email", ""}});
  CHECK(second["committer"] == Json{{"name", "redacted-user-2"}, {"email", "redacted-email-2"}});
  CHECK(must(again.payload(3)) == must(log.payload(3)));
}

TEST_CASE("a blob of JSON is redacted as the value that it is", "[session][redact]") {
  Redactor redactor;
  redactor.learn_homes("/home/Ada/");
  const Json value{{"text", "failed:\n/opt/secret/k.cu\tada\nada"}, {"n", 1.5}};
  const Json changed = Json::parse(redacted_blob(value.dump(), redactor));
  CHECK(changed ==
        Json{{"text", "failed:\nredacted-path-1\tredacted-user-1\nredacted-user-1"}, {"n", 1.5}});
  // All else is text, also what only begins like JSON.
  CHECK(redacted_blob("{ /opt/secret/k.cu\nada\n", redactor) ==
        "{ redacted-path-1\nredacted-user-1\n");
  CHECK(redacted_blob("", redactor).empty());
}

TEST_CASE("values are redacted at every depth, keys too; figures stay", "[session][redact]") {
  Redactor redactor;
  const Json value{{"/a/b/c", {1.5, "x /a/b/c", {{"n", nullptr}, {"t", true}}}}};
  const Json expected{
      {"redacted-path-1", {1.5, "x redacted-path-1", {{"n", nullptr}, {"t", true}}}}};
  CHECK(redactor.json(value) == expected);
}

TEST_CASE("a redacted log is a whole chain of its own that says what it is", "[session][redact]") {
  const Scratch scratch, copy;
  RealFileSystem files;
  const FakeClock clock;
  EventLog log = must(EventLog::create(files, clock, scratch.path()));
  must(log.append("session_opened", opened_by("Ada", "ada@engine.example")));
  const std::string blob(64, 'b'), renamed(64, 'c'), page(64, 'd');
  must(log.append("verb_called", {{"n", 1}, {"args", {{"text", "/x/y"}}}, {"args_sha256", "old"}}));
  must(log.append("variant_built", {{"log_blob", blob}, {"message", "/x/y failed"}}));
  must(log.append("iteration_closed", {{"pages", {{"0001.md", std::string(64, 'e')}}}}));
  must(log.append("verb_called",
                  {{"n", 2}, {"args", nullptr}, {"args_blob", blob}, {"args_sha256", blob}}));
  Redactor redactor;
  must(redactor.learn(log));
  const NewHashes hashes{{{blob, renamed}}, {{"0001.md", page}}};
  const std::string text = must(redacted_log(log, redactor, hashes));
  CHECK(text.find("ada") == std::string::npos);
  CHECK(text.find("/x/y") == std::string::npos);
  spill(copy / "events.jsonl", text);
  const EventLog again = must(EventLog::open_reader(files, copy.path()));
  REQUIRE(again.size() == log.size());
  CHECK(again.head() != log.head());
  const Json opened = must(again.payload(1));
  CHECK(opened["redacted"]["log_head"] == log.head());
  CHECK(opened["redacted"]["events"] == 5);
  CHECK(again.envelope(3).t == log.envelope(3).t);
  CHECK(must(again.payload(2))["args_sha256"] == sha256_hex(must(again.payload(2))["args"].dump()));
  CHECK(must(again.payload(3))["log_blob"] == renamed);
  CHECK(must(again.payload(3))["message"] ==
        must(again.payload(2))["args"]["text"].get<std::string>() + " failed");
  CHECK(must(again.payload(4))["pages"]["0001.md"] == page);
  CHECK(text.find(blob) == std::string::npos);  // nor as the hash of arguments
  CHECK(must(again.payload(5))["args_sha256"] == renamed);
  // It is for reading: nobody goes on writing to it.
  spill(copy / "session.json", identity_text(opened));
  for (const char* folder : {"blobs", "kernels", "iterations", "reports"}) {
    fs::create_directory(copy / folder);
  }
  const auto owner = Session::open_owner(files, clock, copy.path());
  REQUIRE_FALSE(owner.ok());
  CHECK(owner.error().code == ErrorCode::read_only);
}
