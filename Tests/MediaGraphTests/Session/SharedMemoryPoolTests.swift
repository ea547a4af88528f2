import GStreamer
import Synchronization
import Testing

@testable import MediaGraph

@Suite struct SharedMemoryPoolTests {
    private func makePool() -> SharedMemoryPool<String> {
        let count = Mutex<UInt64>(0)
        return SharedMemoryPool(share: 4) {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }

    private func place(
        _ pool: inout SharedMemoryPool<String>, _ size: Int, readers: [String] = ["bob"]
    ) throws -> SharedMemoryPool<String>.Place {
        let place = pool.free(size, readers: readers)
        return try #require(place)
    }

    @Test("SE-4 a holder that keeps its share gets no more, and the others theirs")
    func share() throws {
        var pool = makePool()
        for _ in 0..<20 {
            let place = try place(&pool, 100, readers: ["stuck", "quick"])
            if pool.hasRoom("stuck") { pool.hold(place.id, "stuck") }
            #expect(pool.hasRoom("quick"))
            pool.hold(place.id, "quick")
            pool.release(place.id, "quick")
        }
        #expect(!pool.hasRoom("stuck"))
        #expect(pool.remove("stuck").count == 4)
        #expect(pool.hasRoom("stuck"))
    }

    @Test("SE-3 a memory's file goes along once, and a memory that is used again is one that nobody reads")
    func reuse() throws {
        var pool = makePool()
        let first = try place(&pool, 100)
        #expect(pool.isNew(first.id, to: "bob"))
        pool.hold(first.id, "bob")
        #expect(!pool.isNew(first.id, to: "bob") && pool.isNew(first.id, to: "carol"))
        let second = try place(&pool, 100)
        #expect(second.id != first.id)
        pool.release(first.id, "bob")
        let again = try place(&pool, 100)
        #expect(again.id == first.id)
        // Too small for what comes now.
        let larger = try place(&pool, 101)
        #expect(larger.memory.size == 101)
    }

    @Test("SE-3 memories of a size that is no longer sent make room, and are told to be forgotten")
    func otherSize() throws {
        var pool = makePool()
        var replaced: [UInt64] = []
        for size in 1...20 {
            let place = try place(&pool, size)
            #expect(place.memory.size == size)
            replaced += place.replaced.map { [$0] } ?? []
        }
        #expect(replaced == Array(1...15))
    }

    @Test("SE-4 what a holder keeps after it has ceased to read is never written to, and takes nothing from the others")
    func kept() throws {
        var pool = makePool()
        var kept: Set<UInt64> = []
        for _ in 0..<4 {
            let place = try place(&pool, 100, readers: ["bob", "carol"])
            pool.hold(place.id, "bob")
            kept.insert(place.id)
        }
        #expect(Set(pool.unsubscribe("bob")) == kept)
        for _ in 0..<4 {
            let place = try place(&pool, 100, readers: ["carol"])
            #expect(!kept.contains(place.id) && pool.isNew(place.id, to: "bob"))
            pool.hold(place.id, "carol")
        }
        // Each may be used again when it is released.
        let first = try #require(kept.min())
        pool.release(first, "bob")
        #expect(try place(&pool, 100, readers: ["carol"]).id == first)
        // The rest never will be.
        kept.remove(first)
        #expect(Set(pool.remove("bob")) == kept)
        #expect(pool.hasRoom("bob"))
        for _ in 0..<4 { #expect(!kept.contains(try place(&pool, 100, readers: ["bob", "carol"]).id)) }
    }
}
