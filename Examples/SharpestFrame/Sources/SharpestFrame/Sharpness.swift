import MediaGraph

extension VideoPlane {
    /// Returns how much detail a luma plane has: the variance of its Laplacian, which is near 0 for a blurred picture.
    ///
    /// The plane is borrowed: this function reads the decoder's memory row by row, without a copy.
    func sharpness() -> Double {
        guard width > 2, height > 2 else { return 0 }
        var sum = 0
        var sumOfSquares = 0
        for y in 1..<height - 1 {
            let (above, row, below) = (row(y - 1), row(y), row(y + 1))
            for x in 1..<width - 1 {
                let neighbors = Int(above[x]) + Int(below[x]) + Int(row[x - 1]) + Int(row[x + 1])
                let laplacian = neighbors - 4 * Int(row[x])
                sum += laplacian
                sumOfSquares += laplacian * laplacian
            }
        }
        let count = Double((width - 2) * (height - 2))
        let mean = Double(sum) / count
        return Double(sumOfSquares) / count - mean * mean
    }
}
