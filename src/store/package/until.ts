/** Passes on a stream until a signal is aborted, and then throws its reason. */
export async function* until(
  signal: AbortSignal,
  bytes: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of bytes) {
    signal.throwIfAborted();
    yield chunk;
  }
  signal.throwIfAborted();
}
