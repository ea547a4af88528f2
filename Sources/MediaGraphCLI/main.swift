import MediaGraph
let graph = try Graph("videosource handler=counter pace=fast options=\"frames=50,width=404,height=720\" ! preprocessor name=mark ! tee name=t ! queue ! rawdatapipe name=frames t. ! queue ! rawdatapipe name=two format=NV12 resolution=360p")
try graph.preprocessor("mark").process { frame in
    var luma = try frame.mutablePlane(.y)
    luma.fill(rows: 600..<616, with: 235)
    return .pass
}
try graph.rawDataPipe("two").receive { frame in if frame.width != 202 { print("bad", frame.width) } }
let frames = try graph.rawDataPipe("frames").frames
try await graph.start()
var n = 0
for try await frame in frames { try frame.withFrame { f in if try FrameNumber.read(f) != n { print("bad number") } }; n += 1 }
print("frames", n)
print(graph.nodes)
await graph.stop()
do { _ = try Graph("videosource handler=countr ! fakesin") } catch { print(error) }
