// SPDX-License-Identifier: MIT
// The reader's statements, and its way through a source.
#include "playbook/lua_reader.hpp"

#include <utility>

namespace wb::playbook::lua {

Node Reader::chunk() {
  Node result = 0;
  in_function({}, [&] {
    m_program.add(m_program.objects[static_cast<std::size_t>(m_functions.back())].rest, 0);
    block();
    if (here().kind != Token::Kind::end) refuse("a statement");
    result = returned(m_functions.back(), 0);
  });
  return result;
}

bool Reader::block_ends() const {
  return here().kind == Token::Kind::end || is("end") || is("else") || is("elseif") || is("until");
}

void Reader::block() {
  while (!block_ends()) {
    if (is("return")) {
      give_back();
      return;
    }
    statement();
  }
}

void Reader::inner_block() {
  in_block(m_block, [&] { block(); });
}

void Reader::give_back() {
  need("return");
  if (!block_ends() && !is(";")) {
    const std::vector<Node> values = nodes_of(expressions(), k_several);
    for (std::size_t i = 0; i < values.size(); ++i) {
      copy(values[i], returned(m_functions.back(), i));
    }
  }
  take(";");
}

void Reader::statement() {
  const Deeper deeper(*this);
  if (take(";") || take("break")) return;
  if (take("::")) {
    name();
    need("::");
  } else if (take("goto")) {
    name();
  } else if (take("do")) {
    inner_block();
    need("end");
  } else if (take("while")) {
    expression();
    need("do");
    inner_block();
    need("end");
  } else if (take("repeat")) {
    in_block(m_block, [&] {
      block();
      need("until");
      expression();
    });
  } else if (take("if")) {
    condition();
  } else if (take("for")) {
    loop();
  } else if (take("function")) {
    named_function();
  } else if (take("local")) {
    local();
  } else {
    assignment();
  }
}

void Reader::condition() {
  expression();
  need("then");
  inner_block();
  while (take("elseif")) {
    expression();
    need("then");
    inner_block();
  }
  if (take("else")) inner_block();
  need("end");
}

void Reader::loop() {
  const int line = here().line;
  std::vector<std::string> names{name()};
  if (take("=")) {
    expressions();
    need("do");
    in_block(m_block, [&] {
      m_program.add(declare(names[0]), 0);
      block();
    });
    need("end");
    return;
  }
  while (take(",")) names.push_back(name());
  need("in");
  const std::vector<Node> over = nodes_of(expressions(), 4);
  need("do");
  in_block(m_block, [&] {
    std::vector<Node> variables;
    for (const std::string& each : names) variables.push_back(declare(each));
    Step& made = step(Step::Kind::each, line);
    made.a = over[0], made.b = over[1];
    made.results = variables;
    block();
  });
  need("end");
}

void Reader::named_function() {
  const int line = here().line;
  const std::string first = name();
  Node object = variable(first);
  std::string key;
  bool is_method = false;
  while (!is_method && (is(".") || is(":"))) {
    is_method = is(":");
    ++m_at;
    if (!key.empty()) object = load(object, key, line);
    key = name();
  }
  const Value made = function_body(is_method);
  if (key.empty()) {
    copy(made.node, object);
  } else {
    store(object, key, made, line);
  }
}

void Reader::local() {
  if (take("function")) {
    const Node node = declare(name());
    copy(function_body(false).node, node);
    return;
  }
  std::vector<std::string> names;
  do {
    names.push_back(name());
    if (take("<")) {
      name();
      need(">");
    }
  } while (take(","));
  std::vector<Node> values;
  if (take("=")) values = nodes_of(expressions(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    copy(i < values.size() ? values[i] : 0, declare(names[i]));
  }
}

void Reader::assignment() {
  std::vector<Target> targets;
  Value value = suffixed(&targets);
  if (!is("=") && !is(",")) {
    if (value.call < 0) refuse("=");
    return;
  }
  while (take(",")) suffixed(&targets);
  need("=");
  const std::vector<Value> values = expressions();
  const std::vector<Node> nodes = nodes_of(values, targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Target& target = targets[i];
    if (target.variable != 0) {
      copy(nodes[i], target.variable);
      continue;
    }
    Value stored{.node = nodes[i]};
    stored.is_nil = i < values.size() && values[i].is_nil;
    store(target.object, target.key, stored, target.line, target.key_node);
  }
}

Result<Node> read_source(Program& program, const std::string& text, const std::string& name) {
  WB_TRY_ASSIGN(std::vector<Token> tokens, tokens_of(text, name));
  const int file = static_cast<int>(program.files.size());
  program.files.push_back(name);
  try {
    return Reader(program, std::move(tokens), file).chunk();
  } catch (const SyntaxFault& unread) {
    return Error{ErrorCode::parse, "follow", name,
                 fmt::format("line {}: {}", unread.line, unread.what), ""};
  }
}

}  // namespace wb::playbook::lua
