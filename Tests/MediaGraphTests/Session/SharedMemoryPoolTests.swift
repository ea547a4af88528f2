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

    private func allocate(
        _ pool: inout SharedMemoryPool<String>, _ size: Int, readers: [String] = ["bob"], now: UInt64 = 0
    ) throws -> SharedMemoryPool<String>.Allocation {
        let allocation = pool.allocate(size, readers: readers, now: now)
        return try #require(allocation)
    }

    @Test("SE-4 a holder that keeps its share of memories gets no more, and others still get theirs")
    func share() throws {
        var pool = makePool()
        for _ in 0..<20 {
            let allocation = try allocate(&pool, 100, readers: ["stuck", "quick"])
            if pool.hasRoom("stuck") { pool.hold(allocation.id, "stuck") }
            #expect(pool.hasRoom("quick"))
            pool.hold(allocation.id, "quick")
            pool.release(allocation.id, "quick")
        }
        #expect(!pool.hasRoom("stuck"))
        #expect(pool.remove("stuck").count == 4)
        #expect(pool.hasRoom("stuck"))
    }

    @Test("SE-3 a memory's file is sent once to each reader, and only an unread memory is reused")
    func reuse() throws {
        var pool = makePool()
        let first = try allocate(&pool, 100)
        #expect(pool.isNew(first.id, to: "bob"))
        pool.hold(first.id, "bob")
        #expect(!pool.isNew(first.id, to: "bob") && pool.isNew(first.id, to: "carol"))
        let second = try allocate(&pool, 100)
        #expect(second.id != first.id)
        pool.release(first.id, "bob")
        let again = try allocate(&pool, 100)
        #expect(again.id == first.id)
        // The free memory is too small for this size.
        let larger = try allocate(&pool, 101)
        #expect(larger.memory.size == 101)
    }

    @Test("SE-3 memories of a size that is no longer sent are replaced and reported")
    func otherSize() throws {
        var pool = makePool()
        var replaced: [UInt64] = []
        for size in 1...20 {
            let allocation = try allocate(&pool, size)
            #expect(allocation.memory.size == size)
            replaced += pool.takeRemoved()
        }
        #expect(replaced == Array(1...15))
    }

    @Test("SE-4 after a reader has left, a larger buffer gets room at once, and removed memories are reported")
    func lowerLimit() throws {
        var pool = makePool()
        var ids: [UInt64] = []
        for _ in 0..<9 {
            let allocation = try allocate(&pool, 100, readers: ["bob", "carol"])
            pool.hold(allocation.id, "bob")
            ids.append(allocation.id)
        }
        for id in ids { pool.release(id, "bob") }
        _ = pool.unsubscribe("carol")
        #expect(try allocate(&pool, 200).memory.size == 200)
        #expect(pool.takeRemoved() == Array(ids[0..<5]))
        // The limit is still reached, by memories that are in use.
        for id in ids[5...] { pool.hold(id, "bob") }
        _ = try allocate(&pool, 300)
        #expect(pool.takeRemoved() == [10])
        pool.hold(11, "bob")
        #expect(pool.allocate(400, readers: ["bob"], now: 0) == nil)
    }

    @Test("SE-4 memories that are unused for a long time are released with their files")
    func unused() throws {
        var pool = makePool()
        var ids: [UInt64] = []
        for _ in 0..<4 {
            let allocation = try allocate(&pool, 100)
            pool.hold(allocation.id, "bob")
            ids.append(allocation.id)
        }
        for id in ids.dropLast() { pool.release(id, "bob") }
        let keeping = SharedMemoryPool<String>.keeping
        _ = try allocate(&pool, 100, now: keeping)
        #expect(pool.takeRemoved().isEmpty)
        // Used memories stay, and so do those that are being read.
        let later = try allocate(&pool, 100, now: keeping + 1)
        #expect(later.id == ids[0] && pool.takeRemoved() == Array(ids[1...2]))
        pool.hold(later.id, "bob")
        let next = try allocate(&pool, 100, now: 3 * keeping)
        #expect(!ids.contains(next.id) && pool.takeRemoved().isEmpty)
        // Unused memories are released even if none fits.
        for id in [ids[0], ids[3]] { pool.release(id, "bob") }
        let larger = try allocate(&pool, 200, now: 5 * keeping)
        #expect(pool.takeRemoved() == [ids[0], ids[3], next.id])
        #expect(pool.isNew(larger.id, to: "bob") && !pool.isNew(ids[0], to: "bob"))
    }

    @Test("SE-4 another process's memory needs no descriptor once it is mapped")
    func descriptor() throws {
        let memory = try #require(SharedMemory(size: 100))
        let file = dup(try #require(memory.descriptor))
        let other = try #require(SharedMemory(taking: file, size: 100))
        #expect(other.descriptor == nil)
        // Another test may have reused the descriptor's number meanwhile, for another file.
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

    @Test("SE-4 memory that a former reader still holds isn't written to, and isn't counted")
    func kept() throws {
        var pool = makePool()
        var kept: Set<UInt64> = []
        for _ in 0..<4 {
            let allocation = try allocate(&pool, 100, readers: ["bob", "carol"])
            pool.hold(allocation.id, "bob")
            kept.insert(allocation.id)
        }
        #expect(Set(pool.unsubscribe("bob")) == kept)
        for _ in 0..<4 {
            let allocation = try allocate(&pool, 100, readers: ["carol"])
            #expect(!kept.contains(allocation.id) && pool.isNew(allocation.id, to: "bob"))
            pool.hold(allocation.id, "carol")
        }
        // Each memory may be reused after its release.
        let first = try #require(kept.min())
        pool.release(first, "bob")
        #expect(try allocate(&pool, 100, readers: ["carol"]).id == first)
        // The others are never reused.
        kept.remove(first)
        #expect(Set(pool.remove("bob")) == kept)
        #expect(pool.hasRoom("bob"))
        for _ in 0..<4 { #expect(!kept.contains(try allocate(&pool, 100, readers: ["bob", "carol"]).id)) }
    }
}
