/** Numbers that Python wrote in half precision, two bytes each, as float32. */
export function fromHalves(bytes: Uint8Array): Float32Array {
  const table = (halves ??= makeTable())
  const out = new Float32Array(bytes.length / 2)
  for (let i = 0; i < out.length; i++) out[i] = table[bytes[2 * i] | (bytes[2 * i + 1] << 8)]
  return out
}

let halves: Float32Array | undefined

function makeTable(): Float32Array {
  const table = new Float32Array(65536)
  for (let bits = 0; bits < 65536; bits++) {
    const exponent = (bits >> 10) & 31
    const fraction = bits & 1023
    const size =
      exponent === 0 ? fraction * 2 ** -24 : exponent === 31 ? (fraction ? NaN : Infinity) : (1 + fraction / 1024) * 2 ** (exponent - 15)
    table[bits] = bits & 32768 ? -size : size
  }
  return table
}
