import { sharedApp } from '#testing';
import { FileCallers, newBytes, NO_FILES, partialUploads } from './files.fixture';

describe('an upload whose client stalls', () => {
  const app = sharedApp();

  it('returns 408, and leaves nothing behind', async () => {
    const callers = await FileCallers.of(app);
    const connections = partialUploads(callers, newBytes(500_000)).map(([, request]) => {
      const [target, headers, body] = request();
      const connection = callers.connection(`POST ${target}`, headers);
      connection.socket.write(body);
      return connection;
    });
    for (const connection of connections) {
      expect(await connection.response()).toMatch(/^HTTP\/1.1 408 [^]*"request_timeout"/);
      await connection.closed;
    }
    expect(await callers.counts()).toEqual(NO_FILES);
  }, 60_000);
});
