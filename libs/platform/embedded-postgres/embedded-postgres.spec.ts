import { mkdtempSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { startEmbeddedPostgres } from './embedded-postgres';
import * as ports from './free-port';

describe('embedded PostgreSQL', () => {
  it('starts on another port if its chosen port is taken before it listens', async () => {
    const faster = createServer();
    await new Promise<void>((resolve) => faster.listen(0, '127.0.0.1', resolve));
    const usedPort = (faster.address() as AddressInfo).port;
    jest.spyOn(ports, 'freePort').mockResolvedValueOnce(usedPort);

    const dataDir = mkdtempSync(path.join(os.tmpdir(), 'embedded-postgres-'));
    const server = await startEmbeddedPostgres({ dataDir, ephemeral: true });

    expect(ports.freePort).toHaveBeenCalledTimes(2);
    expect(Number(new URL(server.url).port)).not.toBe(usedPort);
    await server.stop();
    faster.close();
  });
});
