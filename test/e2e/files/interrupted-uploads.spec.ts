import { setTimeout as delay } from 'node:timers/promises';
import { BlobStore } from '#platform/storage';
import { createTestApp, type TestApp } from '#testing';
import {
  FileCallers,
  FILES,
  FORM_TYPE,
  formOf,
  newBytes,
  NOTHING_KEPT,
  ONE_KEPT,
  partOf,
  sha256Of,
} from './files.fixture';

describe('an upload that breaks off', () => {
  let app: TestApp;
  let callers: FileCallers;

  beforeAll(async () => {
    app = await createTestApp();
  });
  beforeEach(async () => {
    callers = await FileCallers.of(app);
  });
  afterAll(() => app.close());

  const UNDER_WAY = { ...NOTHING_KEPT, writes: 1, incomplete: 1 };
  const content = newBytes(500_000);

  /** What a client sends before it goes: the head of a request, and some of its body. */
  const uploads: [string, () => [string, Record<string, string>, Buffer]][] = [
    [
      'raw, of announced length',
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
      'a form, within its file',
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

  it.each(uploads)('leaves nothing: %s', async (_, request) => {
    const [target, headers, body] = request();
    for (const end of ['reset', 'close'] as const) {
      const connection = callers.connection(`POST ${target}`, headers);
      await connection.write(body);
      await callers.keptInTheEnd(UNDER_WAY);
      if (end === 'reset') connection.reset();
      else connection.socket.end();
      await callers.keptInTheEnd(NOTHING_KEPT);
      connection.socket.destroy();
    }
  });

  it('leaves nothing, when its file is complete and its form is not', async () => {
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
    await callers.keptInTheEnd({ ...NOTHING_KEPT, writes: 1, complete: 1 });
    connection.reset();
    await callers.keptInTheEnd(NOTHING_KEPT);
  });

  it('leaves the versions that there are', async () => {
    const { path } = await callers.created('one');
    const connection = callers.connection(`POST ${path}/versions`, { 'content-length': '1000000' });
    await connection.write(content);
    await callers.keptInTheEnd({ ...ONE_KEPT, writes: 1, incomplete: 1 });
    connection.reset();
    await callers.keptInTheEnd(ONE_KEPT);
    expect((await callers.download(`${path}/content`)).bytes.toString()).toBe('one');
  });

  it('is 408 when its client stalls, and leaves nothing', async () => {
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
    expect(await callers.kept()).toEqual(NOTHING_KEPT);
  }, 60_000);

  it('is never touched by the clean-up while it goes on', async () => {
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
    expect(await callers.kept()).toEqual(ONE_KEPT);
    const [file] = (await callers.editor.get(FILES)).body.items;
    expect(file.sha256).toBe(sha256Of(content));
    expect((await callers.download(`${FILES}/${file.file_id}/content`)).bytes.equals(content)).toBe(true);
  });

  it('is 503 when the clean-up took it for dead, and leaves nothing', async () => {
    const connection = callers.connection(`POST ${callers.pathOf()}`, {
      'content-length': String(content.length),
    });
    await connection.write(content.subarray(0, 100_000));
    await callers.keptInTheEnd(UNDER_WAY);
    // as if the process had been stopped for two hours
    await app.database.query(
      `UPDATE blob_writes SET heartbeat_at = now() - interval '2 hours' WHERE org_id = $1`,
      [callers.org.orgId],
    );
    await app.get(BlobStore).deleteOrphans();
    await connection.write(content.subarray(100_000));
    expect(await connection.response()).toMatch(/^HTTP\/1.1 503 [^]*"storage_unavailable"/);
    connection.socket.destroy();
    await callers.keptInTheEnd(NOTHING_KEPT);
  });
});
