// SPDX-License-Identifier: MIT
// Front matter of playbooks for agents: what is read, and what is refused with which reason.
#include "playbook/agent_file.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::playbook;

namespace {

Result<AgentFile> parsed(const std::string& text, const char* path = "agents/reader.md") {
  return parse_agent(text, path);
}

std::string refusal(const std::string& text) {
  const auto agent = parsed(text);
  return agent.ok() ? "accepted" : agent.error().message();
}

}  // namespace

TEST_CASE("an agent's playbook has a name, a description and a model", "[playbook][agent]") {
  const auto agent = parsed(
      "---\r\nname: reader\r\ndescription: \"Reads: all of it\"\nmodel: small-1\n"
      "tools: Bash, Read,\n---\n\n# Steps\n\n---\n");
  REQUIRE(agent.ok());
  CHECK(agent->name == "reader");
  CHECK(agent->description == "Reads: all of it");
  CHECK(agent->model == "small-1");
  CHECK(agent->tools == std::vector<std::string>{"Bash", "Read"});
  CHECK(agent->body == "\n# Steps\n\n---\n");
  // Without a model it is that of whoever calls.
  CHECK(parsed("---\nname: reader\ndescription: d\n---\nx")->model == "inherit");
  CHECK(parsed("---\nname: reader\ndescription: d\nmodel:\n---\nx")->model == "inherit");
}

TEST_CASE("what is no playbook of an agent says why", "[playbook][agent]") {
  const auto says = [](const std::string& text, const char* why) {
    CAPTURE(text);
    CHECK(refusal(text).find(why) != std::string::npos);
  };
  says("", "has no end");
  says("# Steps\n", "first line is not ---");
  says("---\nname: reader\ndescription: d\n", "has no end");
  says("---\nname: reader\nhello\n---\nx", "line 3 is none of its fields: hello");
  says("---\nname: reader\ncolour: red\n---\nx", "line 3 is none of its fields: colour");
  says("---\nname: reader\nname: b\n---\nx", "line 3: name a second time");
  says("---\ndescription: d\n---\nx", "it has no name");
  says("---\nname: reader\n---\nx", "it has no description");
  says("---\nname: other\ndescription: d\n---\nx", "its name, other, is not its file's");
  says("---\nname: reader\ndescription: d\n---\n \n", "nothing follows");
}
