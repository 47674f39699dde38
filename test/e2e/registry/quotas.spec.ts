import { randomBytes } from 'node:crypto';
import { type ApiClient, newSpan, ownApp, until } from '#testing';
import { FileCallers } from '../files/files.fixture';
import { SKILLS } from '../skills/skills.fixture';
import { answered, RawExporter } from '../telemetry/otlp.harness';

const QUOTA = 10_000;
const SPANS = 10;
const USAGE = '/registry/v1/usage';

const app = ownApp({
  env: { FILE_QUOTA_BYTES: String(QUOTA), TELEMETRY_QUOTA_SPANS_PER_DAY: String(SPANS) },
});

const bytesOf = (length: number): Buffer => randomBytes(length);

describe('the quota of files, packages and skills', () => {
  let callers: FileCallers;
  let viewer: ApiClient;

  beforeEach(async () => {
    callers = await FileCallers.of(app);
    viewer = await callers.org.member('viewer');
  });

  const usage = async () => (await viewer.get(USAGE)).body.file_bytes;
  /** The bytes of the distinct stored contents, counted one by one. */
  async function stored(): Promise<number> {
    const [row] = await app.database.query<{ bytes: number }>(
      `SELECT (SELECT coalesce(sum(size_bytes), 0) FROM blobs WHERE org_id = $1)
            + (SELECT coalesce(sum(octet_length(data)), 0) FROM skill_blobs WHERE org_id = $1) AS bytes`,
      [callers.org.orgId],
    );
    return Number(row!.bytes);
  }

  it('counts equal bytes once, and archived files and their versions', async () => {
    expect(await usage()).toEqual({ used: 0, quota: QUOTA });
    const bytes = bytesOf(1_000);
    const first = await callers.created(bytes);
    await callers.created(bytes);
    expect(await usage()).toEqual({ used: 1_000, quota: QUOTA });
    await callers.editor.post(`${first.path}/versions`, bytesOf(500), { 'content-type': 'text/plain' });
    await callers.admin.post(`${first.path}/archive`);
    expect((await usage()).used).toBe(1_500);
    const other = await FileCallers.of(app);
    await other.created(bytes);
    expect((await usage()).used).toBe(1_500);
  });

  it('counts the contents of skills, once for all versions', async () => {
    const made = await callers.editor.post(SKILLS, {
      workspace_id: callers.org.workspaceId,
      name: 'a',
      description: 'Does a.',
      instructions: '# How\n',
    });
    expect(made.status).toBe(201);
    const { used } = await usage();
    expect(used).toBeGreaterThan(0);
    expect(used).toBe(await stored());
    await callers.editor.patch(`${SKILLS}/${made.body.skill_id}`, { instructions: 'x'.repeat(3_000) });
    expect((await usage()).used).toBe(await stored());
    await callers.created(bytesOf(QUOTA - (await stored())));
    const refused = await callers.editor.patch(`${SKILLS}/${made.body.skill_id}`, { instructions: 'more' });
    expect([refused.status, refused.body.code]).toEqual([413, 'payload_too_large']);
    expect((await usage()).used).toBe(QUOTA);
    expect((await callers.editor.get(`${SKILLS}/${made.body.skill_id}`)).body.version_ordinal).toBe(2);
  });

  it('is the exact limit: bytes that fit are stored, and more return 413 that says what to do', async () => {
    await callers.created(bytesOf(QUOTA - 100));
    for (const [headers, form] of [
      [{}, false],
      [{ 'transfer-encoding': 'chunked' }, false],
      [{}, true],
      [{ 'transfer-encoding': 'chunked' }, true],
    ] as [Record<string, string>, boolean][]) {
      const bytes = bytesOf(101);
      const { status, body } = form
        ? await callers.uploadForm(callers.form(bytes), undefined, headers)
        : await callers.upload(bytes, {}, headers);
      expect([status, body.code]).toEqual([413, 'payload_too_large']);
      expect(body.detail).toMatch(/has used 9900 of 10000 bytes \(`FILE_QUOTA_BYTES`\).*operator/);
    }
    await callers.untilCounts({ files: 1, versions: 1, blobs: 1, writes: 0, complete: 1, incomplete: 0 });
    await callers.created(bytesOf(100));
    expect(await usage()).toEqual({ used: QUOTA, quota: QUOTA });
    expect((await callers.upload('x')).status).toBe(413);
    expect((await callers.upload('')).status).toBe(201);
    const other = await FileCallers.of(app);
    expect((await other.upload(bytesOf(QUOTA))).status).toBe(201);
  });

  it('is checked before the body is read if the length is known', async () => {
    const connection = callers.connection(`POST ${callers.pathOf()}`, {
      'content-length': String(QUOTA + 1),
      'content-type': 'text/plain',
    });
    await connection.response();
    expect(connection.received.toString()).toMatch(/^HTTP\/1.1 413 [^]*FILE_QUOTA_BYTES/);
    connection.socket.destroy();
    await callers.untilCounts({ files: 0, versions: 0, blobs: 0, writes: 0, complete: 0, incomplete: 0 });
  });

  it('holds for concurrent uploads, and leaves no bytes of those that do not fit', async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => callers.upload(bytesOf(2_000))));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(5);
    expect(statuses.filter((status) => status === 413)).toHaveLength(7);
    expect((await usage()).used).toBe(await stored());
    await callers.untilCounts({ files: 5, versions: 5, blobs: 5, writes: 0, complete: 5, incomplete: 0 });
  });

  it.each([{ 'content-length': '9000' }, { 'transfer-encoding': 'chunked' }] as Record<string, string>[])(
    'counts an upload in progress (%j) until it ends or breaks off',
    async (length) => {
      const open = callers.connection(`POST ${callers.pathOf()}`, {
        'content-type': 'text/plain',
        ...length,
      });
      const head = 'transfer-encoding' in length ? `${(9_000).toString(16)}\r\n` : '';
      await open.write(Buffer.concat([Buffer.from(head), bytesOf(8_999)]));
      let refused = await callers.upload(bytesOf(0));
      // equal bytes count once, so attempts before the first part of the open upload arrives do not fill the quota
      const bytes = bytesOf(2_000);
      await until(async () => (refused = await callers.upload(bytes)).status === 413);
      expect(refused.body.detail).toMatch(/Other uploads in progress have reserved \d+ more/);
      open.socket.destroy();
      await until(async () => (await callers.upload(bytesOf(QUOTA / 2))).status === 201);
    },
  );

  it('counts concurrent uploads of the same bytes once', async () => {
    // each counts while it is in progress
    const bytes = bytesOf(QUOTA / 8);
    const answers = await Promise.all(Array.from({ length: 8 }, () => callers.upload(bytes)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect((await usage()).used).toBe(QUOTA / 8);
  });

  it('holds for the files of an app, whose reconcile says why it failed', async () => {
    const content = (length: number): string => bytesOf(length).toString('base64');
    const declare = (name: string, length: number) => ({
      kind: 'file',
      name,
      spec: { content: content(length), encoding: 'base64' },
    });
    const app_ = await callers.admin.post('/registry/v1/apps', {
      workspace_id: callers.org.workspaceId,
      app: 'large-files',
      display_name: 'x',
      resources: [declare('a', 6_000), declare('b', 6_000)],
    });
    expect(app_.status).toBe(201);
    const answer = await callers.admin.post('/registry/v1/apps/large-files/reconcile');
    expect([answer.status, answer.body.code]).toEqual([413, 'payload_too_large']);
    expect((await callers.admin.get('/registry/v1/apps/large-files')).body.sync_error.detail).toMatch(
      /FILE_QUOTA_BYTES/,
    );
    expect(await usage()).toEqual({ used: 0, quota: QUOTA });
  });

  it('is read by everybody who may read, and by nobody else', async () => {
    const annotator = await callers.org.member('annotator');
    expect((await annotator.get(USAGE)).status).toBe(200);
    expect((await app.api().get(USAGE)).status).toBe(401);
  });
});

describe('the quota of spans per day', () => {
  let callers: FileCallers;
  let exporter: RawExporter;

  beforeEach(async () => {
    callers = await FileCallers.of(app);
    exporter = new RawExporter(app.url, callers.token, callers.org.workspaceId);
  });

  const spans = (count: number) => Array.from({ length: count }, () => newSpan());
  const usage = async () => (await callers.editor.get(USAGE)).body.spans;

  it('accepts spans up to the quota, and refuses whole exports beyond it', async () => {
    expect((await exporter.json(spans(6))).status).toBe(200);
    const [{ traceId }] = [newSpan()];
    const beyond = await exporter.json([...spans(4), newSpan({ traceId })]);
    expect(beyond.status).toBe(429);
    expect(answered.json(beyond)).toMatchObject({
      code: 'rate_limited',
      detail: expect.stringMatching(
        /has used 6 of 10 spans \(`TELEMETRY_QUOTA_SPANS_PER_DAY`\).*has 5/,
      ) as string,
    });
    const trace = await callers.editor.get(`/telemetry/v1/traces/${traceId}`, {
      'x-service-workspace-id': callers.org.workspaceId,
    });
    expect(trace.status).toBe(404);
    expect((await exporter.protobuf(spans(4))).status).toBe(200);
    const full = await exporter.protobuf(spans(1));
    expect([full.status, answered.status(full).code, answered.status(full).reason]).toEqual([
      429,
      8,
      'rate_limited',
    ]);
    expect(answered.status(full).message).toContain('TELEMETRY_QUOTA_SPANS_PER_DAY');
    const midnight = new Date(`${new Date().toISOString().slice(0, 10)}T00:00:00Z`).getTime() + 86_400_000;
    const seconds = Number(full.headers['retry-after']);
    expect(Math.abs(midnight - Date.now() - seconds * 1_000)).toBeLessThan(60_000);
    // other organizations and other signals are not affected
    const other = await FileCallers.of(app);
    const theirs = new RawExporter(app.url, other.token, other.org.workspaceId);
    expect((await theirs.json(spans(SPANS))).status).toBe(200);
  });

  it('shows what is used today, and when the next day begins', async () => {
    await exporter.json(spans(3));
    const day = new Date().toISOString().slice(0, 10);
    const { resets_at, ...rest } = await usage();
    expect(rest).toEqual({ used: 3, quota: SPANS, day });
    expect(resets_at).toMatch(/T00:00:00\.000Z$/);
    expect(resets_at > new Date().toISOString()).toBe(true);
    const written = async (): Promise<number> => {
      const [row] = await app.database.query<{ spans: number }>(
        'SELECT spans FROM span_usage WHERE org_id = $1',
        [callers.org.orgId],
      );
      return Number(row?.spans ?? 0);
    };
    await until(async () => (await written()) === 3);
    expect((await usage()).used).toBe(3);
  });

  it('holds for concurrent exports', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => exporter.json(spans(3))));
    const stored = answers.filter(({ status }) => status === 200);
    expect([stored.length, answers.length - stored.length]).toEqual([3, 5]);
    expect((await usage()).used).toBe(9);
    expect((await exporter.json(spans(1))).status).toBe(200);
  });

  it('begins again on the next day', async () => {
    await app.database.query("INSERT INTO span_usage VALUES ($1, (now() AT TIME ZONE 'UTC')::date - 1, 99)", [
      callers.org.orgId,
    ]);
    expect((await usage()).used).toBe(0);
    expect((await exporter.json(spans(SPANS))).status).toBe(200);
  });

  it('counts what other processes have stored', async () => {
    await app.database.query("INSERT INTO span_usage VALUES ($1, (now() AT TIME ZONE 'UTC')::date, 9)", [
      callers.org.orgId,
    ]);
    expect((await exporter.json(spans(2))).status).toBe(429);
    expect((await exporter.json(spans(1))).status).toBe(200);
    expect((await exporter.json(spans(1))).status).toBe(429);
  });

  it('counts only spans, and not those that are rejected or not stored', async () => {
    const invalid = { ...newSpan(), spanId: '00' };
    expect((await exporter.json([invalid, newSpan()])).status).toBe(200);
    expect((await exporter.send(Buffer.from('{'), { media: 'application/json' })).status).toBe(400);
    expect((await usage()).used).toBe(1);
  });
});

describe('without quotas', () => {
  const open = ownApp();

  it('half of the disk is the quota of bytes, and spans are not counted', async () => {
    const callers = await FileCallers.of(open);
    const exporter = new RawExporter(open.url, callers.token, callers.org.workspaceId);
    expect((await exporter.json([newSpan()])).status).toBe(200);
    const { body } = await callers.editor.get(USAGE);
    expect(body).toMatchObject({ file_bytes: { used: 0 }, spans: { used: null, quota: null } });
    expect(body.file_bytes.quota).toBeGreaterThan(1024 ** 2);
    const rows = await open.database.query('SELECT 1 FROM span_usage WHERE org_id = $1', [callers.org.orgId]);
    expect(rows).toEqual([]);
  });
});
