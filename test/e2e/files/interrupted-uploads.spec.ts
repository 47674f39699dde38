import { setTimeout as delay } from 'node:timers/promises';
import { BlobStore } from '#platform/storage';
import { sharedApp } from '#testing';
import {
  FileCallers,
  FILES,
  FORM_TYPE,
  newBytes,
  NO_FILES,
  ONE_FILE,
  partialUploads,
  partOf,
  sha256Of,
} from './files.fixture';

describe('an interrupted upload', () => {
  const app = sharedApp();
  let callers: FileCallers;

  beforeEach(async () => {
    callers = await FileCallers.of(app);
  });

  const IN_PROGRESS = { ...NO_FILES, writes: 1, incomplete: 1 };
  const content = newBytes(500_000);

  it('leaves nothing behind', async () => {
    for (const [kind, request] of partialUploads(callers, content)) {
      const [target, headers, body] = request();
      for (const end of ['reset', 'close'] as const) {
        const connection = callers.connection(`POST ${target}`, headers);
        await connection.write(body);
        await callers.untilCounts(IN_PROGRESS);
        if (end === 'reset') connection.reset();
        else connection.socket.end();
        await callers.untilCounts(NO_FILES);
        connection.socket.destroy();
        expect([kind, end, await callers.counts()]).toEqual([kind, end, NO_FILES]);
      }
    }
  });

  it('leaves nothing behind if its file is complete but its form is not', async () => {
    const [workspace, file] = callers.form(content);
    const connection = callers.connection(`POST ${FILES}`, {
      'transfer-encoding': 'chunked',
      'content-type': FORM_TYPE,
    });
    const body = Buffer.concat([
      partOf(workspace!),
      partOf(file!),
      Buffer.from('--boundary-of-the-test\r\n'),
    ]);
    await connection.write(
      Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n')]),
    );
    await callers.untilCounts({ ...NO_FILES, writes: 1, complete: 1 });
    connection.reset();
    await callers.untilCounts(NO_FILES);
  });

  it('does not affect existing versions', async () => {
    const { path } = await callers.created('one');
    const connection = callers.connection(`POST ${path}/versions`, { 'content-length': '1000000' });
    await connection.write(content);
    await callers.untilCounts({ ...ONE_FILE, writes: 1, incomplete: 1 });
    connection.reset();
    await callers.untilCounts(ONE_FILE);
    expect((await callers.download(`${path}/content`)).bytes.toString()).toBe('one');
  });

  it('is not touched by the clean-up while it is running', async () => {
    const connection = callers.connection(`POST ${callers.pathOf()}`, {
      'content-length': String(content.length),
      'content-type': 'a/b',
    });
    const store = app.get(BlobStore);
    for (let at = 0; at < content.length; at += 100_000) {
      await connection.write(content.subarray(at, at + 100_000));
      for (let n = 0; n < 3; n++) await store.deleteOrphans();
      await delay(10);
    }
    expect(await connection.response()).toMatch(/^HTTP\/1.1 201 /);
    connection.socket.destroy();
    await store.deleteOrphans();
    expect(await callers.counts()).toEqual(ONE_FILE);
    const [file] = (await callers.editor.get(FILES)).body.items;
    expect(file.sha256).toBe(sha256Of(content));
    expect((await callers.download(`${FILES}/${file.file_id}/content`)).bytes.equals(content)).toBe(true);
  });

  it('returns 503 if the clean-up has removed it, and leaves nothing behind', async () => {
    const connection = callers.connection(`POST ${callers.pathOf()}`, {
      'content-length': String(content.length),
    });
    await connection.write(content.subarray(0, 100_000));
    await callers.untilCounts(IN_PROGRESS);
    // as if the process had been stopped for two hours
    await app.database.query(
      `UPDATE blob_writes SET heartbeat_at = now() - interval '2 hours' WHERE org_id = $1`,
      [callers.org.orgId],
    );
    await app.get(BlobStore).deleteOrphans();
    await connection.write(content.subarray(100_000));
    expect(await connection.response()).toMatch(/^HTTP\/1.1 503 [^]*"storage_unavailable"/);
    connection.socket.destroy();
    await callers.untilCounts(NO_FILES);
  });
});
