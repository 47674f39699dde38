import { setTimeout as delay } from 'node:timers/promises';
import { BlobStore } from '#platform/storage';
import { sharedApp } from '#testing';
import {
  FileCallers,
  FILES,
  FORM_TYPE,
  formOf,
  newBytes,
  NO_FILES,
  ONE_FILE,
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

  /** What a client sends before it disconnects: the head of a request and a part of its body. */
  const uploads: [string, () => [string, Record<string, string>, Buffer]][] = [
    [
      'raw, with a Content-Length',
      () => [callers.pathOf(), { 'content-length': '1000000', 'content-type': 'a/b' }, content],
    ],
    [
      'raw, in chunks',
      () => [
        callers.pathOf(),
        { 'transfer-encoding': 'chunked' },
        Buffer.concat([Buffer.from(`${content.length.toString(16)}\r\n`), content, Buffer.from('\r\n')]),
      ],
    ],
    [
      'a form, interrupted within its file',
      () => {
        const body = formOf(callers.form(content));
        return [
          FILES,
          { 'content-length': String(body.length + 1000), 'content-type': FORM_TYPE },
          body.subarray(0, -1000),
        ];
      },
    ],
  ];

  it.each(uploads)('leaves nothing behind: %s', async (_, request) => {
    const [target, headers, body] = request();
    for (const end of ['reset', 'close'] as const) {
      const connection = callers.connection(`POST ${target}`, headers);
      await connection.write(body);
      await callers.untilCounts(IN_PROGRESS);
      if (end === 'reset') connection.reset();
      else connection.socket.end();
      await callers.untilCounts(NO_FILES);
      connection.socket.destroy();
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

  it('returns 408 if its client stalls, and leaves nothing behind', async () => {
    const connections = uploads.map(([, request]) => {
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
