-- Asks for the paths of a file in turn, and prints what came of it as JSON.
--     wrk ... -s get.lua URL -- FILE
local requests, last = {}, 0

function init(args)
    for path in io.lines(args[1]) do
        requests[#requests + 1] = wrk.format("GET", path)
    end
    last = math.random(#requests)
end

function request()
    last = last % #requests + 1
    return requests[last]
end

function done(summary, latency)
    local errors = summary.errors
    io.write(string.format(
        '\n{"requests": %d, "seconds": %.6f, "bytes": %d, "p50_ms": %.4f, "p99_ms": %.4f, "errors": %d}\n',
        summary.requests, summary.duration / 1e6, summary.bytes, latency:percentile(50) / 1e3,
        latency:percentile(99) / 1e3,
        errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
