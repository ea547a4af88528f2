// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Benchmarks",
    products: [.executable(name: "mediagraph-bench", targets: ["MediaGraphBench"])],
    dependencies: [
        .package(name: "MediaGraph", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    ],
    targets: [
        // For the C side only, so that it shares no header and no flag with the product.
        .systemLibrary(
            name: "PlainGStreamer",
            pkgConfig: "gstreamer-app-1.0",
            providers: [.apt(["libgstreamer1.0-dev", "libgstreamer-plugins-base1.0-dev"])]
        ),
        .target(
            name: "PlainC",
            dependencies: ["PlainGStreamer"],
            linkerSettings: [.linkedLibrary("gstvideo-1.0"), .linkedLibrary("gstaudio-1.0")]
        ),
        .executableTarget(
            name: "MediaGraphBench",
            dependencies: [
                "PlainC",
                .product(name: "MediaGraph", package: "MediaGraph"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            // valgrind 3.19 can't read clang's DWARF 5. Function names are kept.
            linkerSettings: [.unsafeFlags(["-Xlinker", "--strip-debug"])]
        ),
    ],
    swiftLanguageModes: [.v6]
)
