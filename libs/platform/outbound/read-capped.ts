/** Drops a byte order mark, which `JSON.parse` would refuse. */
const utf8 = new TextDecoder();

/**
 * Reads a body as UTF-8, without a byte order mark, up to a size in bytes.
 *
 * @returns undefined for a larger body, whose remainder is not read
 */
export async function readCapped(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    // Leaving the loop destroys the stream, and with it the connection.
    if (size > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return utf8.decode(Buffer.concat(chunks));
}
