-- expect: ok
return {
  name = "no_files",
  about = "none of the ways out of the sandbox is there",
  run = function(wb, args)
    for _, name in ipairs { "io", "os", "package", "debug", "dofile", "loadfile", "warn" } do
      assert(rawget(_G, name) == nil, name)
    end
    assert(string.dump == nil and math.randomseed == nil)
    assert(not load("\27Lua"))
    assert(not pcall(setmetatable, {}, { __gc = print }))
    assert(getmetatable("") == false and not pcall(setmetatable, _G, nil))
    assert(load("return x", "chunk", "t", { x = 4 })() == 4)
  end,
}
