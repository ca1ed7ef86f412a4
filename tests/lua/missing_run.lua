-- expect: exit 65 "the playbook's table has no function 'run'"
return { name = "missing_run", about = "nothing to run" }
