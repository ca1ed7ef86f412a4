-- expect: ok
return {
  name = "reads_catalogue",
  about = "kernels and suites are the real ones",
  run = function(wb, args)
    local tiled = wb.kernels { name = "cpu_tiled" }.kernels[1]
    assert(#tiled.parameters.TILE_M >= 3 and tiled.defaults.TILE_M and tiled.backend == "cpu")
    local names = {}
    for _, kernel in ipairs(wb.kernels {}.kernels) do
      names[kernel.name] = true
    end
    assert(names.cpu_unfused and names.cpu_online and names.cpu_tiled)
    local suite = wb.suites { suite = "n6" }.suites[1]
    assert(suite.name == "n6" and #suite.problems == suite.count)
    assert(not pcall(wb.suites, { suite = "n66" }))
  end,
}
