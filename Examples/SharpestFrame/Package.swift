// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "SharpestFrame",
    dependencies: [
        .package(name: "MediaGraph", path: "../.."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    ],
    targets: [
        .target(name: "SharpestFrame", dependencies: [.product(name: "MediaGraph", package: "MediaGraph")]),
        .executableTarget(
            name: "sharpest",
            dependencies: ["SharpestFrame", .product(name: "ArgumentParser", package: "swift-argument-parser")]),
        .testTarget(name: "SharpestFrameTests", dependencies: ["SharpestFrame"]),
    ],
    swiftLanguageModes: [.v6]
)
