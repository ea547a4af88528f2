import Dispatch
import GStreamer

/// How a run of the graph ends.
extension Graph {
    /// Ends the stream at the sources, waits until all data has arrived, files are complete and handlers have finished,
    /// and stops the graph.
    ///
    /// After `limit` the graph stops even if data is still on its way; the result is then ``GraphEnd/stopped``.
    @discardableResult
    public func finish(within limit: Duration = .seconds(5)) async -> GraphEnd {
        // The caller of `run()`, which ends too, may begin the next run before this returns.
        let run = state.withLock { $0.generation }
        requestEndOfStream(of: run)
        let timer = Task { [self] in
            try await Task.sleep(for: limit)
            finish(.stopped, of: run)
        }
        // In a task of its own, so that a cancelled caller waits too; `limit` bounds the wait.
        let end = await Task { await awaitEnd(of: run) }.value
        timer.cancel()
        await stop(run)
        return end
    }

    /// Stops the graph without waiting for data that is on its way. When this returns, no handler is running and none
    /// will be called.
    ///
    /// Don't call this from inside a handler, where it would wait for that handler's own end and never return. Call
    /// ``requestStop()`` there.
    public func stop() async {
        await stop(state.withLock { $0.generation })
    }

    func stop(_ run: Int) async {
        guard state.withLock({ $0.generation == run }) else { return }
        finish(.stopped, of: run)
        // However the run ended: a streaming thread that waits for a reader of frames would block the state change.
        streams.end(.stopped)
        SessionJoins.cancel(in: pipeline, run: run)
        // Before the queue's turn comes: the start may be waiting for a pipe's reader.
        let pipes = StalledPipes(pipeline)
        await withCheckedContinuation { continuation in
            control.async { [self] in
                if state.withLock({ $0.generation == run }) {
                    playsAlone.store(false, ordering: .releasing)
                    screens.end { [stock, pipeline] in
                        stock.willStop()
                        pipeline.setState(.null)
                    }
                    SessionJoins.forget(pipeline)
                    outputFiles.close()
                    streamWatch.end(in: pipeline)
                    mediaRange.end()
                    padCompletion.end()
                    emptyContainers.end()
                    stock.didStop()
                    state.withLock { $0.stopped(run) }
                }
                pipes.end()
                continuation.resume()
            }
        }
    }

    /// Ends the graph and returns at once; ``run()`` and ``waitUntilEnd()`` then return. Callable from any thread, and
    /// from inside handlers.
    public func requestStop() { finish(.stopped) }

    /// Asks the sources to end their streams, and returns at once. ``waitUntilEnd()`` returns when all data has
    /// arrived.
    ///
    /// Unlike ``finish(within:)``, this doesn't stop the graph afterwards, so its counters can still be read.
    public func requestEndOfStream() { requestEndOfStream(of: state.withLock { $0.generation }) }

    func requestEndOfStream(of run: Int) {
        state.withLock { $0.askToEnd(run) }
        control.async { [self] in
            guard state.withLock({ $0.isCurrent(run) }) else { return }
            // A session that reads nobody, or a speaker without inputs, has no source that could send EOS.
            guard !pipeline.sources.isEmpty else { return finish(.endOfStream, of: run) }
            stock.endStream(of: pipeline) { [weak self] in self?.state.withLock { $0.isCurrent(run) } == true }
        }
    }

    /// Ends the run, unless it has already ended. A `run` of `nil` means the current run.
    func finish(_ end: GraphEnd, of run: Int? = nil) {
        guard let waiting = state.withLock({ $0.end(end, of: run) }) else { return }
        if case .failed(let failure) = end {
            dumpDotFile("error")
            if failure.debug.contains("not-negotiated") {
                control.async { [self] in
                    let found = currentFormatConflict
                    conflict.withLock { $0 = found }
                }
            }
        }
        streams.end(end)
        waiting.resumeAll(.ended(end))
        listener.withLock { $0 }?.receive(.ended(end))
        readers.yield(.ended(end))
        readers.finish()
        statisticsReaders.finish()
    }
}
