// SPDX-License-Identifier: MIT
// The process that HostProcess starts in these tests.
#include "playbook/playbook.hpp"

int main() {
  return wb::playbook::playbook_host_main();
}
