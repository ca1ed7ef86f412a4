-- expect: exit 65 "a function cannot leave the playbook"
return {
  name = "function_result",
  about = "returns what is no data",
  run = function(wb, args)
    return { callback = print }
  end,
}
