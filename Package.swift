// swift-tools-version: 6.2
import PackageDescription

/// `~Escapable` borrowed frames need lifetime dependencies. Clients of the package don't need this flag.
let lifetimes: [SwiftSetting] = [.enableExperimentalFeature("Lifetimes")]
/// Compiles tests without optimization, in release mode too: only the code that they test needs optimization, and the
/// tests are most of the code that is compiled.
let unoptimized: [SwiftSetting] = [
    .unsafeFlags(
        ["-Onone", "-no-whole-module-optimization", "-enable-batch-mode", "-j2"], .when(configuration: .release))
]

/// Optimizes helpers in debug builds too: tests call them for loops over samples and pixels.
let optimized: [SwiftSetting] = [.unsafeFlags(["-O"], .when(configuration: .debug))]

/// Tests that scripts/sanitize skips aren't compiled for it either.
let isSanitized = Context.environment["MEDIAGRAPH_SANITIZED"] != nil
let notSanitized = [
    "Audio/SpeakerMixTests.swift", "Audio/SyncTests.swift", "CompileFail", "Description", "Handlers/PictureTests.swift",
    "Handlers/ProcessorTests.swift", "Handlers/Y4MTests.swift", "Leaks", "Nodes/ClockDriftTests.swift",
    "Nodes/VirtualMicDriftTests.swift", "Nodes/VirtualMicSoundTests.swift", "Session/ScreenShareTests.swift",
]

let package = Package(
    name: "MediaGraph",
    products: [
        .library(name: "MediaGraph", targets: ["MediaGraph"]),
        .library(name: "MediaGraphTesting", targets: ["MediaGraphTesting"]),
        .library(name: "gstmediagraph", type: .dynamic, targets: ["GstMediaGraph"]),
        .executable(name: "mediagraph", targets: ["MediaGraphCLI"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.1.0"),
    ],
    targets: [
        .systemLibrary(
            name: "CGStreamer",
            pkgConfig: "gstreamer-app-1.0",
            providers: [.apt(["libgstreamer1.0-dev", "libgstreamer-plugins-base1.0-dev"])]
        ),
        .systemLibrary(name: "CGIO", pkgConfig: "gio-unix-2.0", providers: [.apt(["libglib2.0-dev"])]),
        .systemLibrary(name: "CX11"),
        .systemLibrary(name: "CMediaGraphABI", pkgConfig: "gstreamer-video-1.0"),
        .target(name: "CGStreamerShims", dependencies: ["CGStreamer"]),
        .target(
            name: "GStreamer", dependencies: ["CGStreamer", "CGStreamerShims"], swiftSettings: lifetimes),
        .systemLibrary(
            name: "CGStreamerSDP", pkgConfig: "gstreamer-sdp-1.0",
            providers: [.apt(["libgstreamer-plugins-base1.0-dev"])]
        ),
        .systemLibrary(
            name: "CGStreamerRTP", pkgConfig: "gstreamer-rtp-1.0",
            providers: [.apt(["libgstreamer-plugins-base1.0-dev"])]
        ),
        .target(name: "WebRTC", dependencies: ["CGStreamer", "CGStreamerRTP", "CGStreamerSDP", "GStreamer"]),
        .target(name: "LocalSockets", dependencies: ["CGIO"]),
        .target(name: "X11", dependencies: ["CX11"]),
        .target(name: "MediaGraphDescription", dependencies: ["GStreamer"]),
        .target(
            name: "MediaGraphCore",
            dependencies: [
                "CGStreamer", "CMediaGraphABI", "GStreamer",
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            swiftSettings: lifetimes),
        .target(
            name: "MediaGraphHandlers", dependencies: ["GStreamer", "MediaGraphCore", "MediaGraphDescription"],
            swiftSettings: lifetimes),
        .target(
            name: "MediaGraphElements",
            dependencies: [
                "CGStreamer", "CMediaGraphABI", "GStreamer", "MediaGraphCore", "MediaGraphDescription",
                "MediaGraphHandlers", .product(name: "DequeModule", package: "swift-collections"),
            ],
            swiftSettings: lifetimes),
        .target(
            name: "MediaGraphDevices",
            dependencies: [
                "GStreamer", "LocalSockets", "MediaGraphCore", "MediaGraphDescription", "MediaGraphElements", "X11",
            ],
            swiftSettings: lifetimes),
        .target(
            name: "MediaGraphSession",
            dependencies: ["GStreamer", "MediaGraphCore", "MediaGraphDescription", "MediaGraphElements"],
            swiftSettings: lifetimes),
        .target(
            name: "MediaGraphRoomLink",
            dependencies: ["GStreamer", "LocalSockets", "MediaGraphCore", "MediaGraphSession"], swiftSettings: lifetimes
        ),
        .target(
            name: "MediaGraphJanus",
            dependencies: [
                "GStreamer", "LocalSockets", "MediaGraphCore", "MediaGraphSession", "WebRTC",
                .product(name: "DequeModule", package: "swift-collections"),
            ]
        ),
        .target(
            name: "MediaGraph",
            dependencies: [
                "CMediaGraphABI", "GStreamer", "MediaGraphCore", "MediaGraphDescription", "MediaGraphDevices",
                "MediaGraphElements", "MediaGraphHandlers", "MediaGraphJanus", "MediaGraphRoomLink",
                "MediaGraphSession",
            ],
            swiftSettings: lifetimes
        ),
        .target(name: "GstMediaGraph", dependencies: ["CGStreamer", "GStreamer", "MediaGraph"]),
        .executableTarget(
            name: "MediaGraphCLI",
            dependencies: [
                "GStreamer", "MediaGraph", "MediaGraphRoomLink", "X11",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]
        ),
        .systemLibrary(name: "CGStreamerCheck", pkgConfig: "gstreamer-check-1.0"),
        .target(
            name: "MediaGraphTesting", dependencies: ["CGStreamer", "CGStreamerCheck", "GStreamer", "MediaGraph"],
            swiftSettings: lifetimes
        ),
        .target(
            name: "TestSupport", dependencies: ["CGStreamer", "GStreamer", "MediaGraph", "MediaGraphTesting"],
            path: "Tests/TestSupport", swiftSettings: lifetimes + optimized
        ),
        .executableTarget(
            name: "LeakProbe", dependencies: ["GStreamer", "MediaGraph", "TestSupport"], path: "Tests/LeakProbe"),
        .testTarget(
            name: "MediaGraphTests",
            dependencies: [
                "CGStreamer", "CGStreamerShims", "CMediaGraphABI", "GStreamer", "LocalSockets", "MediaGraph",
                "MediaGraphCore", "MediaGraphDescription", "MediaGraphDevices", "MediaGraphElements",
                "MediaGraphHandlers", "MediaGraphJanus", "MediaGraphRoomLink", "MediaGraphSession", "MediaGraphTesting",
                "TestSupport", "LeakProbe", "WebRTC", "X11",
            ],
            exclude: isSanitized ? notSanitized : [],
            swiftSettings: lifetimes + unoptimized
        ),
    ]
        + (isSanitized
            ? []
            : [
                .testTarget(
                    name: "MediaGraphCLITests", dependencies: ["MediaGraph", "MediaGraphCLI", "TestSupport"],
                    swiftSettings: unoptimized)
            ]),
    swiftLanguageModes: [.v6]
)
