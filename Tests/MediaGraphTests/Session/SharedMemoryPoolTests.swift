import Foundation
import GStreamer
import Synchronization
import Testing

@testable import MediaGraphRoomLink

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
        _ pool: inout SharedMemoryPool<String>, _ size: Int, readers: [String] = ["bob"], now: UInt64 = 0
    ) throws -> SharedMemoryPool<String>.Place {
        let place = pool.free(size, readers: readers, now: now)
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
            replaced += place.replaced
        }
        #expect(replaced == Array(1...15))
    }

    @Test("SE-4 memories that were needed once, and for long no longer, go, and with them their files")
    func unused() throws {
        var pool = makePool()
        var ids: [UInt64] = []
        for _ in 0..<4 {
            let place = try place(&pool, 100)
            pool.hold(place.id, "bob")
            ids.append(place.id)
        }
        for id in ids.dropLast() { pool.release(id, "bob") }
        let keeping = SharedMemoryPool<String>.keeping
        #expect(try place(&pool, 100, now: keeping).replaced.isEmpty)
        // What is used stays, and what somebody reads.
        let later = try place(&pool, 100, now: keeping + 1)
        #expect(later.id == ids[0] && later.replaced == Array(ids[1...2]))
        pool.hold(later.id, "bob")
        let next = try place(&pool, 100, now: 3 * keeping)
        #expect(!ids.contains(next.id) && next.replaced.isEmpty)
        // Also when there is none that fits.
        for id in [ids[0], ids[3]] { pool.release(id, "bob") }
        let larger = try place(&pool, 200, now: 5 * keeping)
        #expect(larger.replaced == [ids[0], ids[3], next.id])
        #expect(pool.isNew(larger.id, to: "bob") && !pool.isNew(ids[0], to: "bob"))
    }

    @Test("SE-4 another process's memory takes no descriptor here, once it can be read")
    func descriptor() throws {
        let memory = try #require(SharedMemory(size: 100))
        let file = dup(try #require(memory.descriptor))
        let other = try #require(SharedMemory(taking: file, size: 100))
        #expect(other.descriptor == nil)
        // Another test may have got its number meanwhile: for another file.
        var (mine, there) = (stat(), stat())
        #expect(fstat(try #require(memory.descriptor), &mine) == 0)
        #expect(fstat(file, &there) != 0 || there.st_ino != mine.st_ino || there.st_dev != mine.st_dev)
        guard let written = Buffer(filledWith: 7, count: 100), let read = other.buffer(count: 100, released: {}) else {
            Issue.record("no buffer")
            return
        }
        let isWritten = memory.copy(written.access)
        #expect(isWritten)
        let isRead = read.access.withBytes { $0.allSatisfy { $0 == 7 } }
        #expect(isRead == true)
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
