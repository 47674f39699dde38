import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import { setLogLevel } from '#platform/logging';
import { ownApp, sharedApp, type TestApp, until } from '#testing';
import { fileOf, orphans, untilSpooled, upload, UPLOAD_FORMS, versionsOf } from './dataset-versions.fixture';
import { type Dataset, EvaluationWorkspace, outcome } from './evaluation.harness';

const MIB = 1024 * 1024;

/** The number of uploads that a process handles at once, and that may wait. */
const RUNNING = 3;
const WAITING = 50;

/** Blocks all writes of a file's bytes until the transaction ends. */
const BLOCK_WRITES = 'LOCK TABLE dataset_chunks IN EXCLUSIVE MODE';

/** Starts to send a file of this many bytes. */
async function beginUpload(
  app: TestApp,
  space: EvaluationWorkspace,
  datasetId: string,
  bytes: number,
): Promise<net.Socket> {
  const { hostname, port } = new URL(app.url);
  const socket = net.connect(Number(port), hostname).on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(
    `POST ${versionsOf(datasetId)} HTTP/1.1\r\nHost: x\r\n` +
      `Authorization: Bearer ${await space.organization.token('editor')}\r\n` +
      `X-Service-Workspace-Id: ${space.id}\r\nContent-Type: text/csv\r\nContent-Length: ${bytes}\r\n\r\n`,
  );
  return socket;
}

describe('an upload in progress', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  const newDataset = async (): Promise<string> => (await space.dataset()).dataset_id;
  const readDataset = async (id: string): Promise<Dataset> =>
    (await space.viewer.get<Dataset>(`/eval/v1/datasets/${id}`)).body;

  /** Sends a file until the signal aborts. */
  async function send(id: string, file: string | Buffer, signal: AbortSignal): Promise<Response> {
    return fetch(`${app.url}${versionsOf(id)}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await space.organization.token('editor')}`,
        'x-service-workspace-id': space.id,
        'content-type': 'text/csv',
      },
      body: new Uint8Array(Buffer.from(file)),
      signal,
    });
  }
  const lockWaits = async (): Promise<number> => {
    const waits = await app.database.query(
      `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
    );
    return waits.length;
  };

  it('holds no transaction open, however slowly the body arrives', async () => {
    const id = await newDataset();
    const file = fileOf(200_000);
    const socket = await beginUpload(app, space, id, file.length);
    socket.write(file.subarray(0, 100_000));
    await untilSpooled(1, 100_000);
    const open = await app.database.query(
      `SELECT 1 FROM pg_stat_activity
       WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()
         AND backend_type = 'client backend'`,
    );
    expect(open).toEqual([]);
    let answer = '';
    socket.setEncoding('utf8').on('data', (text: string) => (answer += text));
    socket.write(file.subarray(100_000));
    await until(() => answer.includes('"version":1'));
    expect(answer).toMatch(/^HTTP\/1.1 201 /);
    socket.destroy();
  });

  it('leaves nothing behind when the connection breaks', async () => {
    const id = await newDataset();
    for (let round = 0; round < 5; round++) {
      const socket = await beginUpload(app, space, id, 1_000_000);
      socket.write(fileOf(1_000_000).subarray(0, round * 200_000));
      await untilSpooled(1, round * 200_000);
      socket.destroy();
      await untilSpooled(0);
    }
    expect((await readDataset(id)).latest_version).toBeNull();
    expect(await orphans(app)).toBe(0);
  });

  it.each([
    ['the write of its bytes', BLOCK_WRITES],
    ['the wait for its number', 'SELECT 1 FROM datasets FOR UPDATE'],
  ])(
    'leaves nothing behind when its client disconnects during %s, and frees its connection',
    async (_, lock) => {
      const id = await newDataset();
      const abort = new AbortController();
      await app.database.transaction(async (tx) => {
        await tx.query(lock);
        const sent = send(id, fileOf(24 * MIB), abort.signal);
        await until(async () => (await lockWaits()) > 0);
        abort.abort();
        await expect(sent).rejects.toThrow();
        await untilSpooled(0);
      });
      const answers = await Promise.all([1, 2, 3, 4, 5, 6].map((n) => upload(space.editor, id, `a\n${n}\n`)));
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
      expect(await space.list(versionsOf(id))).toHaveLength(6);
      expect(await orphans(app)).toBe(0);
    },
  );

  it('waits in a queue that alternates between workspaces, so that none blocks another', async () => {
    const other = await EvaluationWorkspace.open(app);
    const [id, otherId] = [await newDataset(), (await other.dataset()).dataset_id];
    const sendTo = async (to: EvaluationWorkspace, datasetId: string, n: number): Promise<number> =>
      (await upload(to.editor, datasetId, `a\n${n}\n`)).status;
    let sent: Promise<number>[] = [];
    await untilSpooled(0);
    await app.database.transaction(async (tx) => {
      await tx.query(BLOCK_WRITES);
      sent = Array.from({ length: 16 }, (_, n) => sendTo(space, id, n));
      await untilSpooled(16);
      sent.push(sendTo(other, otherId, 0));
      await untilSpooled(17);
    });
    expect(await Promise.all(sent)).toEqual(sent.map(() => 201));
    const times = async (of: EvaluationWorkspace, datasetId: string): Promise<string[]> =>
      (await of.list<{ created_at: string }>(versionsOf(datasetId))).map(({ created_at }) => created_at);
    const [its] = await times(other, otherId);
    const before = (await times(space, id)).filter((time) => time < its!);
    // Three were in progress, and one is next in the queue.
    expect(before.length).toBeLessThan(8);
  });

  it('gets 503 when too many wait, and frees its slot when the client disconnects', async () => {
    const id = await newDataset();
    const abort = new AbortController();
    const answered: Response[] = [];
    let last: Promise<{ status: number }> | undefined;
    await untilSpooled(0);
    await app.database.transaction(async (tx) => {
      await tx.query(BLOCK_WRITES);
      const sent = Array.from({ length: RUNNING + WAITING + 1 }, async (_, n) => {
        answered.push(await send(id, `a\n${n}\n`, abort.signal));
      });
      await until(() => answered.length > 0);
      expect(answered[0]!.status).toBe(503);
      expect(answered[0]!.headers.get('retry-after')).toMatch(/^\d+$/);
      expect(await answered[0]!.json()).toMatchObject({ code: 'service_overloaded' });
      abort.abort();
      await Promise.allSettled(sent);
      await untilSpooled(0);
      last = upload(space.editor, id, 'a\nx\n');
      await untilSpooled(1);
    });
    expect(answered).toHaveLength(1);
    expect((await last)!.status).toBe(201);
  });

  it('leaves no temporary file behind, however it ends', async () => {
    const id = await newDataset();
    for (const form of UPLOAD_FORMS) {
      for (const file of ['a\n1\n', 'a\n"', fileOf(400_000)]) await upload(space.editor, id, file, {}, form);
    }
    await untilSpooled(0);
  });
});

describe('an upload that times out', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  it('gets 504, and stores nothing later', async () => {
    setLogLevel('silent');
    const { dataset_id: id } = await space.dataset();
    const file = Buffer.concat([Buffer.from('a\n'), Buffer.from(randomBytes(1000).toString('hex'))]);
    const hasty = await app.another({ REQUEST_TIMEOUT_MS: '1500' });
    const late = hasty.api(await space.organization.token('editor')).in(space.id);
    await app.database.transaction(async (tx) => {
      await tx.query('SELECT 1 FROM datasets WHERE dataset_id = $1 FOR UPDATE', [id]);
      expect(outcome(await upload(late, id, file))).toEqual([504, 'request_timeout']);
    });
    await hasty.close();
    const again = await upload(space.editor, id, file);
    expect([again.status, again.body.version]).toEqual([201, 1]);
    expect(await orphans(app)).toBe(0);
  });
});

describe('uploads that exhaust the byte budget of temporary files', () => {
  const app = ownApp({ env: { SPOOL_LIMIT_BYTES: String(4 * MIB) } });
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  it('get 503 until others finish, starting with the organization that uses most', async () => {
    const other = await EvaluationWorkspace.open(app);
    const [id, otherId] = [(await space.dataset()).dataset_id, (await other.dataset()).dataset_id];
    await untilSpooled(0);
    const slow = await beginUpload(app, space, id, 3 * MIB);
    slow.write(fileOf(MIB));
    await untilSpooled(1, MIB);
    const answer = await upload(space.editor, id, fileOf(MIB + 1024));
    expect(outcome(answer)).toEqual([503, 'storage_unavailable']);
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
    expect((await upload(other.editor, otherId, fileOf(MIB + 1024))).status).toBe(201);
    slow.destroy();
    await untilSpooled(0);
    expect((await upload(space.editor, id, fileOf(MIB + 1024))).status).toBe(201);
    // A form takes no more space than its file.
    expect((await upload(space.editor, id, fileOf(MIB + 1024), {}, 'form')).status).toBe(200);
  });
});
