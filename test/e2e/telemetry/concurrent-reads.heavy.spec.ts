import { type Scope, workspaceScope } from '#platform/auth';
import { type Answer, type ApiClient, ownApp, type TestApp, until } from '#testing';
import { ReadLimiter } from '../../../src/telemetry/read-limiter';
import { LockHolder } from './lock-holder.fixture';
import { TRACES } from './otlp.harness';
import { ReadingWorkspace, SESSIONS } from './reading.fixture';

const POOL = 8;
const READS_AT_ONCE = 4;

describe('reads of a slow trace store', () => {
  const app = ownApp({ env: { DATABASE_POOL_SIZE: String(POOL) } });
  let hasty: TestApp;
  let space: ReadingWorkspace;
  let viewer: ApiClient;
  let holder: LockHolder;
  let traceId: string;
  let experiment: string;
  let editor: ApiClient;

  beforeAll(async () => {
    space = await ReadingWorkspace.open(app);
    holder = await LockHolder.connect(app.databaseUrl);
    [traceId] = (await space.send([{ name: 'root', attributes: { 'session.id': 's' } }])) as [string];
    editor = await space.organization.as('editor');
    const made = await editor.post('/eval/v1/experiments', { workspace_id: space.id, name: 'e' });
    experiment = `/eval/v1/experiments/${made.body.experiment_id}/traces`;
    const result = { workspace_id: space.id, case_id: '1', trace_id: traceId };
    expect((await editor.post(experiment.replace('traces', 'results'), result)).status).toBe(201);
    hasty = await app.another();
    // Only reads have a short time limit, so that on a slow machine the request does not reach its own first.
    Object.assign(hasty.get(ReadLimiter), { timeoutMs: 1_000 });
    viewer = hasty.api(await space.organization.token('viewer')).in(space.id);
    editor = hasty.api(await space.organization.token('editor')).in(space.id);
    for (const caller of [viewer, editor]) await caller.get('/registry/v1/me');
  });
  afterAll(async () => {
    await holder.end();
    await hasty.close();
  });

  const expectTooSlow = ({ status, body, headers }: Answer, hint: RegExp): void => {
    expect([status, body.code]).toEqual([503, 'service_unavailable']);
    expect(body.detail).toMatch(/^The traces could not be read in time\. /);
    expect(body.detail).toMatch(hint);
    expect(headers.get('retry-after')).toMatch(/^\d+$/);
  };

  it('return 503 with a hint', async () => {
    const paths: [string, RegExp][] = [
      [TRACES, /since, until/],
      [`${TRACES}?q=root`, /since, until/],
      [`${TRACES}/${traceId}`, /smaller limit/],
      [`${TRACES}/${traceId}/spans`, /smaller limit/],
      [`${TRACES}/${traceId}/spans/export`, /smaller limit/],
      [SESSIONS, /since, until/],
      [`${SESSIONS}/s`, /again/],
      [`${SESSIONS}/s/traces`, /since, until/],
      [experiment, /smaller limit/],
      [`${experiment}/${traceId}`, /smaller limit/],
      [`${experiment}/${traceId}/spans`, /smaller limit/],
    ];
    const reads: [read: () => Promise<Answer>, RegExp][] = [
      ...paths.map(([path, hint]): [() => Promise<Answer>, RegExp] => [() => viewer.get(path), hint]),
      [() => editor.post(`${experiment}/stats/query`, {}), /filters/],
    ];
    // as many at a time as are read at once, so that each waits for the lock and not for the others
    for (let start = 0; start < reads.length; start += READS_AT_ONCE) {
      const some = reads.slice(start, start + READS_AT_ONCE);
      await holder.lock('traces');
      const answers = await Promise.all(some.map(([read]) => read()));
      await holder.release();
      answers.forEach((answer, n) => expectTooSlow(answer, some[n]![1]));
    }
    for (const [path] of paths) expect([path, (await viewer.get(path)).status]).toEqual([path, 200]);
  });

  it('pass the remaining time to PostgreSQL with each statement', async () => {
    const left = `SELECT setting::int AS ms FROM pg_settings WHERE name = 'statement_timeout'`;
    const reported = await hasty.get(ReadLimiter).read(scopeOf(space), 'Wait.', async (on) => {
      const first = await on.query<{ ms: number }>(left);
      await on.query('SELECT pg_sleep(0.2)');
      return [...first, ...(await on.query<{ ms: number }>(left))];
    });
    // a read has 1 s
    expect(reported[0]!.ms).toBeLessThanOrEqual(1_000);
    expect(reported[1]!.ms).toBeLessThanOrEqual(800);
  });

  it('cancel their statements and free the connections', async () => {
    await holder.lock('traces');
    await Promise.all(Array.from({ length: READS_AT_ONCE }, () => viewer.get(TRACES)));
    await holder.until(({ statements, transactions }) => statements + transactions === 0);
    await holder.release();
  });

  it('hold their slot until they have really ended', async () => {
    const reading = hasty.get(ReadLimiter);
    const scope = scopeOf(space);
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    const hanging = Array.from({ length: READS_AT_ONCE }, () => reading.read(scope, 'Wait.', () => released));
    for (const { reason } of (await Promise.allSettled(hanging)) as PromiseRejectedResult[]) {
      expect(reason).toMatchObject({ code: 'service_unavailable' });
    }
    let isStarted = false;
    const next = reading.read(scope, 'Wait.', () => Promise.resolve((isStarted = true)));
    await expect(next).rejects.toMatchObject({ detail: 'The traces could not be read in time. Wait.' });
    expect(isStarted).toBe(false);
    release();
    await reading.read(scope, 'Wait.', () => Promise.resolve((isStarted = true)));
    expect(isStarted).toBe(true);
  });
});

/** Runs with enough time, so that nothing times out. */
describe('concurrent reads of traces', () => {
  const app = ownApp({ env: { DATABASE_POOL_SIZE: String(POOL) } });
  let space: ReadingWorkspace;
  let holder: LockHolder;

  beforeAll(async () => {
    space = await ReadingWorkspace.open(app);
    holder = await LockHolder.connect(app.databaseUrl);
    await space.send([{ name: 'root' }]);
  });
  afterAll(async () => {
    await holder.end();
  });

  it('leave half of the connections to others, and do not delay exports', async () => {
    await holder.lock('trace_models');
    const reads = Array.from({ length: 20 }, () => space.viewer.get(`${TRACES}?model=m`));
    await holder.until(({ statements }) => statements === READS_AT_ONCE);
    for (let n = 0; n < 5; n++) {
      await space.send([{ name: 'stored meanwhile' }]);
      expect((await space.viewer.get('/registry/v1/me')).status).toBe(200);
    }
    expect((await holder.waiting()).statements).toBe(READS_AT_ONCE);
    await holder.release();
    expect((await Promise.all(reads)).map(({ status }) => status)).toEqual(reads.map(() => 200));
  });

  it('leave a slot to other organizations, which then take turns', async () => {
    const [other, third] = [await ReadingWorkspace.open(app), await ReadingWorkspace.open(app)];
    const reading = app.get(ReadLimiter);
    const ends: (() => void)[] = [];
    let isOver = false;
    const hold = (): Promise<void> =>
      new Promise((resolve) => (isOver ? resolve() : void ends.push(resolve)));
    const much = Array.from({ length: 30 }, () => reading.read(scopeOf(space), 'Wait.', hold));
    await until(() => ends.length === READS_AT_ONCE);
    const slot = reading.read(scopeOf(third), 'Wait.', hold);
    await until(() => ends.length === READS_AT_ONCE + 1);
    const little = reading.read(scopeOf(other), 'Wait.', () => Promise.resolve('its turn'));
    // if reads were served in order of arrival, both free slots would go to the reads that have waited longer
    for (const end of ends.slice(0, 2)) end();
    expect(await little).toBe('its turn');
    isOver = true;
    for (const end of ends) end();
    await Promise.all([...much, slot]);
  });

  it('are rejected if too many wait', async () => {
    const reading = app.get(ReadLimiter);
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    const many = Array.from({ length: READS_AT_ONCE + 1_000 }, () =>
      reading.read(scopeOf(space), 'Wait.', () => released),
    );
    const { status, body, headers } = await space.viewer.get(TRACES);
    expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'service_overloaded', '1']);
    release();
    await Promise.all(many);
  });

  it('are consistent and read-only', async () => {
    const reading = app.get(ReadLimiter);
    const count = 'SELECT count(*) AS count FROM traces';
    const [before, after] = await reading.read(scopeOf(space), 'Wait.', async (on) => {
      const first = await on.query(count);
      await space.send([{ name: 'stored meanwhile' }]);
      return [first, await on.query(count)];
    });
    expect(after).toEqual(before);
    const writing = reading.read(scopeOf(space), 'Wait.', (on) => on.query('DELETE FROM traces'));
    await expect(writing).rejects.toThrow('read-only transaction');
  });

  it('run statements in sequence, and none after a failure', async () => {
    const reading = app.get(ReadLimiter);
    const failing = reading.read(scopeOf(space), 'Wait.', (on) =>
      Promise.all([on.query('SELECT 1 / 0'), on.query('SELECT 1'), on.query('SELECT 2')]),
    );
    await expect(failing).rejects.toThrow('division by zero');
    let unsent: Promise<unknown> | undefined;
    const givenUp = reading.read(scopeOf(space), 'Wait.', (on) => {
      void on.query('SELECT pg_sleep(0.1)');
      unsent = on.query('SELECT 1');
      unsent.catch(() => undefined);
      throw new Error('given up');
    });
    await expect(givenUp).rejects.toThrow('given up');
    await expect(unsent).rejects.toThrow('ran out of time');
    const rows = await reading.read(scopeOf(space), 'Wait.', (on) =>
      Promise.all([on.query('SELECT 1 AS n'), on.query('SELECT 2 AS n')]),
    );
    expect(rows).toEqual([[{ n: 1 }], [{ n: 2 }]]);
  });
});

const scopeOf = ({ organization, id }: ReadingWorkspace): Scope =>
  workspaceScope(organization.orgId, id, 'test', new Set());
