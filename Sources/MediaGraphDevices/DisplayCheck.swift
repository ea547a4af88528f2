import GStreamer
import Glibc
import MediaGraphDescription

/// Checks that there is a display for elements that capture a screen or open a window.
package struct DisplayCheck: DescriptionCheck {
    /// Works only on a framebuffer. Without one, DirectFB ends the process with a segmentation fault (measured with and
    /// without an X server), so it must not be chosen by rank.
    package static let directFB = "dfbvideosink"
    /// The elements that choose a video sink themselves, unless one is set.
    private static let choosers: Set = ["autovideosink", "fpsdisplaysink", "playbin", "playbin3"]

    private let environment: @Sendable (String) -> String?
    private let hasFramebuffer: @Sendable () -> Bool
    /// Whether the kernel drives a display that this process may use.
    private let hasScreen: @Sendable () -> Bool

    package init(
        environment: @escaping @Sendable (String) -> String? = { getenv($0).map { String(cString: $0) } },
        hasFramebuffer: @escaping @Sendable () -> Bool = { access("/dev/fb0", R_OK | W_OK) == 0 },
        hasScreen: @escaping @Sendable () -> Bool = { access("/dev/dri/card0", R_OK | W_OK) == 0 }
    ) {
        self.environment = environment
        self.hasFramebuffer = hasFramebuffer
        self.hasScreen = hasScreen
    }

    package func problems(in element: DescribedElement) -> [Diagnostic] { problems(among: [element]) }

    package func problems(among elements: [DescribedElement]) -> [Diagnostic] {
        elements.flatMap { [$0] + $0.nested }.filter { $0.uriDirection == nil }.flatMap { lackOfDisplay($0) }
    }

    private func lackOfDisplay(_ element: DescribedElement) -> [Diagnostic] {
        var own = "display"
        var known = ["DISPLAY"]
        // A function, because `variable` searches the text, which is slow for every element of a long description.
        func withoutDisplay() -> String {
            element.variable.map { "\($0)=fakesink needs no display" } ?? "fakesink and files need no display"
        }
        var hint: String?
        switch element.factory {
        case Self.directFB:
            if hasFramebuffer() { return [] }
            return [
                element.diagnostic(
                    "dfbvideosink needs a framebuffer, and /dev/fb0 can't be opened: DirectFB would crash the program",
                    hint: "autovideosink chooses a sink that works here; \(withoutDisplay())")
            ]
        case "fbdevsink" where element.property("device") == nil:
            if hasFramebuffer() { return [] }
            return [
                element.diagnostic(
                    "fbdevsink needs a framebuffer, and /dev/fb0 can't be opened", hint: withoutDisplay(),
                    severity: .warning)
            ]
        case "kmssink" where element.property("driver-name") == nil && element.property("bus-id") == nil:
            if hasScreen() { return [] }
            return [
                element.diagnostic(
                    "kmssink needs a display that the kernel drives (KMS), and /dev/dri/card0 can't be opened",
                    hint: withoutDisplay(), severity: .warning)
            ]
        case "waylandsink": known = ["WAYLAND_DISPLAY"]
        case ScreenCapture.factory:
            own = "display-name"
            hint = "export DISPLAY=:0 in your session; without a screen: xvfb-run -a mediagraph run …"
        case _ where Self.choosers.contains(element.factory):
            if element.property("video-sink") != nil { return [] }
            known.append("WAYLAND_DISPLAY")
            hint = "no window will open; \(withoutDisplay())"
        case _ where ScreenCaptures.windowSinks.contains(element.factory): break
        default: return []
        }
        guard element.property(own) == nil, known.allSatisfy({ environment($0)?.isEmpty ?? true }) else { return [] }
        let lack = known.count > 1 ? "neither \(known.joined(separator: " nor ")) is set" : "\(known[0]) isn't set"
        return [
            element.diagnostic(
                "\(element.factory) needs a display, and \(lack)", hint: hint ?? withoutDisplay(), severity: .warning)
        ]
    }
}
