import { readdir } from 'node:fs/promises';
import net from 'node:net';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { BlobStore } from '#platform/storage';
import { ownApp } from '#testing';
import { MIB, MeasuredService } from './file-memory.harness';

/** A killed process cannot clean up after itself. */
describe('an upload whose process is killed', () => {
  const app = ownApp();

  const rows = async (): Promise<unknown> => {
    const [counts] = await app.database.query(
      `SELECT (SELECT count(*)::int FROM files) AS files, (SELECT count(*)::int FROM blobs) AS blobs,
              (SELECT count(*)::int FROM blob_writes) AS writes`,
    );
    return counts;
  };
  const stored = async (): Promise<string[]> => {
    const entries = await readdir(fileURLToPath(app.env.STORAGE_URL!), {
      recursive: true,
      withFileTypes: true,
    });
    return entries
      .filter((entry) => entry.isFile() && entry.name !== '.agent-registry.json')
      .map(({ name }) => name);
  };

  it('leaves neither rows nor bytes after the clean-up', async () => {
    const service = await MeasuredService.startApi(app);
    const { url, token, workspaceId } = service.caller;
    const { hostname, port } = new URL(url);
    const client = net.connect(Number(port), hostname);
    client.on('error', () => undefined);
    client.write(
      `POST /file/v1/files?workspace_id=${workspaceId} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${token}\r\n` +
        `Content-Length: ${10 * MIB}\r\n\r\n`,
    );
    client.write(Buffer.alloc(5 * MIB));
    while ((await stored()).length === 0) await delay(10);
    await service.kill();
    client.destroy();
    expect(await rows()).toEqual({ files: 0, blobs: 0, writes: 1 });
    expect(await stored()).toHaveLength(1);

    const store = app.get(BlobStore);
    await store.deleteOrphans();
    expect(await stored()).toHaveLength(1); // its process could still be alive
    await app.database.query(`UPDATE blob_writes SET heartbeat_at = now() - interval '61 minutes'`);
    await store.deleteOrphans();
    expect([await rows(), await stored()]).toEqual([{ files: 0, blobs: 0, writes: 0 }, []]);
  });
});
