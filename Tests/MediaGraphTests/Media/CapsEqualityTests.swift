import GStreamer
import Testing

/// Tests how caps are compared.
@Suite struct CapsEqualityTests {
    @Test(
        "EL-2 caps that allow the same formats are equal and have equal hashes, however they are written",
        arguments: [
            ("video/x-raw,width=1,height=2", "video/x-raw,height=2,width=1"),
            ("video/x-raw,format=I420; audio/x-raw", "audio/x-raw; video/x-raw,format=I420"),
            ("video/x-raw,width=[1,2]", "video/x-raw,width={1,2}"),
            ("video/x-raw; video/x-raw,format=I420", "video/x-raw"),
            ("video/x-raw(ANY); video/x-raw(memory:DMABuf)", "video/x-raw(ANY)"), ("ANY", "ANY"), ("EMPTY", "EMPTY"),
        ])
    func equality(one: String, other: String) throws {
        let (one, other) = (try #require(Caps(one)), try #require(Caps(other)))
        #expect(one == other)
        #expect(Set([one, other]).count == 1)
    }
}
