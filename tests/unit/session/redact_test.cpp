// SPDX-License-Identifier: MIT
#include "session/redact.hpp"

#include "core/hash.hpp"
#include "session/log_reader.hpp"
#include "session/redacted_copy.hpp"
#include "unit/session/scratch.hpp"

using namespace wb;
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
  CHECK(redactor.counts().at("path") == 7);
  CHECK(redactor.counts().at("email") == 2);
}

TEST_CASE("what looks a little like an address stays", "[session][redact]") {
  Redactor redactor;
  for (const char* text :
       {"cpu_tiled@1f0c44aa", "989.5 TFLOP/s and 4.8 TB/s", "hot/cold", "580.159.04", "13.0.88",
        "2026-11-22T18:03:22.123Z", "pytorch_flash::flash_fwd_kernel", "a // comment",
        "B*Hq = 8 to 128", "playbooks/ladder.lua", "./kernels/x.cu", "1/2", "/proc/meminfo",
        "2.11.0+cu130", "1.2.3.4.5", "999.1.1.1", "e12 [e13]", "x </b> y", "std::abs(a::b)"}) {
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
  CHECK(opened["redacted"]["events"] == 4);
  CHECK(again.envelope(3).t == log.envelope(3).t);
  CHECK(must(again.payload(2))["args_sha256"] == sha256_hex(must(again.payload(2))["args"].dump()));
  CHECK(must(again.payload(3))["log_blob"] == renamed);
  CHECK(must(again.payload(3))["message"] ==
        must(again.payload(2))["args"]["text"].get<std::string>() + " failed");
  CHECK(must(again.payload(4))["pages"]["0001.md"] == page);
  // It is for reading: nobody goes on writing to it.
  spill(copy / "session.json", identity_text(opened));
  for (const char* folder : {"blobs", "kernels", "iterations", "reports"}) {
    fs::create_directory(copy / folder);
  }
  const auto owner = Session::open_owner(files, clock, copy.path());
  REQUIRE_FALSE(owner.ok());
  CHECK(owner.error().code == ErrorCode::read_only);
}
