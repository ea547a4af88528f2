import Testing

@testable import MediaGraphCLI

/// Tests the time limit for creating elements.
@Suite struct TimeLimitTests {
    @Test("GR-12 the time limit for creating elements counts only seconds in which the process waits")
    func idleSeconds() {
        var idle = IdleSeconds(processTime: .seconds(3))
        var time = Duration.seconds(3)
        func second(busy: Duration) -> Int? {
            time += busy
            return idle.add(processTime: time)
        }
        // A description of thousands of elements, or any description on a machine whose processors others use.
        for _ in 0..<100 { #expect(second(busy: .milliseconds(100)) == nil) }
        #expect(second(busy: .milliseconds(1)) == 1)
        #expect(second(busy: .milliseconds(20)) == nil)
        #expect(second(busy: .zero) == 2)
    }
}
