import { newId } from '#platform/ids';
import { setLogLevel } from '#platform/logging';
import { type ApiClient, ownApp, newOrganization, type TestOrganization } from '#testing';

import { blockExperiment, untilBlocked } from './blocked-experiment.fixture';

const EXPERIMENTS = '/eval/v1/experiments';

describe('a request with an Idempotency-Key', () => {
  const app = ownApp();
  let org: TestOrganization;
  let editor: ApiClient;

  beforeAll(async () => {
    org = await newOrganization(app);
    editor = await org.as('editor');
    setLogLevel('silent'); // a test makes the service fail
  });

  // names of experiments are not unique, so only the key prevents a second experiment
  const create = (name: string, key: string, by = editor) =>
    by.post<{ experiment_id: string; name: string; code?: string }>(
      EXPERIMENTS,
      { workspace_id: by.workspaceId, name },
      { 'idempotency-key': key },
    );
  const countOf = async (name: string) => {
    const answer = await editor.get<{ page: { total: number } }>(`${EXPERIMENTS}?name=${name}`);
    return answer.body.page.total;
  };

  it('runs once, and replays its response', async () => {
    const first = await create('once', 'once');
    const second = await create('once', 'once');
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('location')).toBe(first.headers.get('location'));
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    expect(await countOf('once')).toBe(1);
  });

  it('is identified by its normalized path', async () => {
    const { body } = await create('spelt', 'spelt');
    const add = (path: string) =>
      editor.post<{ case_id: string }>(
        path,
        { workspace_id: org.workspaceId, case_id: 'c' },
        { 'idempotency-key': 'spelling' },
      );
    const path = `${EXPERIMENTS}/${body.experiment_id}/results`;
    expect((await add(path)).headers.get('idempotency-replayed')).toBeNull();
    for (const other of [`${path}/`, path.replace('exp_', '%65xp_')]) {
      const again = await add(other);
      expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    }
    const elsewhere = (await create('elsewhere', 'elsewhere')).body.experiment_id;
    const there = await add(`${EXPERIMENTS}/${elsewhere}/results`);
    expect([there.status, there.headers.get('idempotency-replayed')]).toEqual([201, null]);
    expect((await add(`${EXPERIMENTS}/${'x'.repeat(8_000)}/results`)).status).toBe(404);
  });

  describe('from a caller whose access has changed', () => {
    const tokenWith = (userId: string, claims: Record<string, unknown>) => org.tokenOf(userId, claims);

    it('returns 403 for every kind of response that names an inaccessible workspace', async () => {
      const other = await org.newWorkspace();
      const user = newId('usr');
      const admin = app.api(await tokenWith(user, { roles: ['admin'] }));
      const bound = app.api(await tokenWith(user, { roles: ['admin'], workspace_ids: [org.workspaceId] }));
      const viewer = app.api(await tokenWith(user, { roles: ['viewer'] }));
      const created = await admin.post('/registry/v1/apps', {
        workspace_id: other,
        app: 'narrowed-a',
        resources: [],
      });
      const path = `/registry/v1/apps/${created.body.app_id}`;
      const calls: [method: string, path: string, body?: unknown][] = [
        ['POST', '/registry/v1/apps', { workspace_id: other, app: 'narrowed-b', resources: [] }],
        ['PATCH', path, { display_name: 'c' }],
        ['POST', `${path}/reconcile`],
        ['POST', `${path}/archive`],
        ['PATCH', `/registry/v1/workspaces/${other}`, { name: `renamed ${other}` }],
      ];
      for (const [index, [method, to, body]] of calls.entries()) {
        const headers = { 'idempotency-key': `narrowed-${index}` };
        const send = (by: ApiClient) => by.request(method, to, { body, headers });
        const first = await send(admin);
        expect([to, first.status]).toEqual([to, method === 'POST' && index === 0 ? 201 : 200]);
        for (const by of [bound, viewer]) {
          const { status, body: refusal } = await send(by);
          expect([to, status, refusal.code]).toEqual([to, 403, 'access_denied']);
        }
        const again = await send(admin);
        expect([again.body, again.headers.get('idempotency-replayed')]).toEqual([first.body, 'true']);
      }
    });

    it('is replayed if the caller still has access to the workspace', async () => {
      const user = newId('usr');
      const bound = app.api(await tokenWith(user, { roles: ['editor'], workspace_ids: [org.workspaceId] }));
      const wide = app.api(await tokenWith(user, { roles: ['editor'] }));
      const send = (by: ApiClient) =>
        by.post(
          '/registry/v1/repos',
          { workspace_id: org.workspaceId, url: 'https://git.example.com/acme/plans' },
          { 'idempotency-key': 'still' },
        );
      expect((await send(wide)).status).toBe(201);
      const again = await send(bound);
      expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    });

    it('is replayed for a new workspace if the role in the organization allows access', async () => {
      const bound = app.api(
        await tokenWith(newId('usr'), { roles: ['admin'], workspace_ids: [org.workspaceId] }),
      );
      const send = () =>
        bound.post('/registry/v1/workspaces', { name: 'beyond' }, { 'idempotency-key': 'beyond' });
      expect((await send()).status).toBe(201);
      expect((await send()).headers.get('idempotency-replayed')).toBe('true');
    });
  });

  it('returns 422 with another body, and 400 with an invalid key', async () => {
    await create('one', 'body');
    const other = await create('other', 'body');
    expect([other.status, other.body.code]).toEqual([422, 'validation_failed']);
    const long = await create('long', 'k'.repeat(256));
    expect([long.status, long.body.code]).toEqual([400, 'invalid_request']);
  });

  it('runs again after a failure', async () => {
    const dataset = () =>
      editor.post<{ dataset_id: string }>(
        '/eval/v1/datasets',
        { workspace_id: org.workspaceId, name: 'taken' },
        { 'idempotency-key': 'again' },
      );
    const { body } = await editor.post<{ dataset_id: string }>('/eval/v1/datasets', {
      workspace_id: org.workspaceId,
      name: 'taken',
    });
    expect((await dataset()).status).toBe(409);
    await editor.patch(`/eval/v1/datasets/${body.dataset_id}`, { name: 'freed' });
    expect((await dataset()).status).toBe(201);
  });

  it('runs once if it is sent many times at once', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => create('many', 'many')));
    expect(answers.filter((one) => one.status === 201).length).toBeGreaterThanOrEqual(1);
    expect(answers.every((one) => one.status === 201 || one.status === 409)).toBe(true);
    expect(await countOf('many')).toBe(1);
  });

  it('shares the transaction of a small write with concurrent requests, whose errors are their own', async () => {
    const { body } = await create('small', 'small');
    const results = `${EXPERIMENTS}/${body.experiment_id}/results`;
    const add = (index: number) =>
      editor.post(
        results,
        { workspace_id: org.workspaceId, case_id: `case ${index}` },
        { 'idempotency-key': `small-${index}` },
      );
    await editor.post(results, { workspace_id: org.workspaceId, case_id: 'case 3' });
    const send = () => Promise.all(Array.from({ length: 16 }, (_, index) => add(index)));
    const [first, second] = [await send(), await send()];
    for (const [index, { status, body: result }] of first.entries()) {
      expect([index, status]).toEqual([index, index === 3 ? 409 : 201]);
      const again = second[index]!;
      const replayed = index === 3 ? null : 'true';
      expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([status, replayed]);
      if (index !== 3) expect(again.body).toEqual(result);
    }
    const [rows] = await app.database.query<{ stored: number; transactions: number }>(
      `SELECT count(*)::int AS stored, count(DISTINCT xmin::text)::int AS transactions FROM results
        WHERE experiment_id = $1`,
      [body.experiment_id],
    );
    expect(rows!.stored).toBe(16);
    expect(rows!.transactions).toBeLessThan(16);
  });

  it('is independent of other principals', async () => {
    const other = await newOrganization(app);
    await create('mine', 'shared');
    const answer = await create('theirs', 'shared', await other.as('editor'));
    expect([answer.status, answer.body.name]).toEqual([201, 'theirs']);
    const colleague = await create('a colleague’s', 'shared', await org.as('editor'));
    expect([colleague.status, colleague.body.name]).toEqual([201, 'a colleague’s']);
  });

  it('replays an export’s response in its encoding', async () => {
    const body = { resourceSpans: [{ scopeSpans: [{ spans: [{ traceId: 'no' }] }] }] };
    const send = (content: unknown) =>
      editor.post('/telemetry/v1/traces', content, { 'idempotency-key': 'export' });
    const first = await send(body);
    const second = await send(body);
    expect(first.body).toMatchObject({ partialSuccess: { rejectedSpans: '1' } });
    expect([second.status, second.body]).toEqual([200, first.body]);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect((await send({ resourceSpans: [] })).status).toBe(422);
  });

  describe('in progress', () => {
    it('returns 409 for a repeat', async () => {
      const { release } = await blockExperiment(app, 'slow');
      const first = create('slow', 'slow');
      await untilBlocked(app);
      const repeat = await create('slow', 'slow');
      expect([repeat.status, repeat.body.code, repeat.headers.get('retry-after')]).toEqual([
        409,
        'conflict',
        '1',
      ]);
      await release();
      expect((await first).status).toBe(201);
      expect((await create('slow', 'slow')).body).toEqual((await first).body);
      expect(await countOf('slow')).toBe(1);
    });

    it('answers a repeat with another body with 422', async () => {
      const { release } = await blockExperiment(app, 'two bodies');
      const first = create('two bodies', 'bodies');
      await untilBlocked(app);
      const other = await create('other body', 'bodies');
      expect([other.status, other.body.code]).toEqual([422, 'validation_failed']);
      await release();
      expect((await first).status).toBe(201);
      expect((await create('other body', 'bodies')).status).toBe(422);
      expect(await countOf('other body')).toBe(0);
    });

    it('takes effect once, even if it was considered dead and runs twice', async () => {
      const { release } = await blockExperiment(app, 'lost');
      const first = create('lost', 'lost');
      await untilBlocked(app);
      await app.database.query(`UPDATE idempotency_claims SET locked_until = now()`);
      const second = create('lost', 'lost');
      await untilBlocked(app, 2);
      await release();
      const answers = await Promise.all([first, second]);
      expect(answers.map(({ status }) => status)).toEqual([201, 201]);
      expect(answers[0].body).toEqual(answers[1].body);
      const replayed = answers.map(({ headers }) => headers.get('idempotency-replayed'));
      expect(replayed.sort()).toEqual([null, 'true'].sort());
      expect(await countOf('lost')).toBe(1);
    });
  });

  it('leaves nothing if its response cannot be stored, and runs again', async () => {
    await app.database.query(`
      CREATE FUNCTION reject_for_test() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'not now'; END $$;
      CREATE TRIGGER reject_for_test BEFORE INSERT ON idempotency_keys
        FOR EACH ROW EXECUTE FUNCTION reject_for_test()`);
    const first = await create('unstored', 'unstored');
    await app.database.query('DROP TRIGGER reject_for_test ON idempotency_keys');
    expect(first.status).toBe(500);
    expect(await countOf('unstored')).toBe(0);
    expect((await create('unstored', 'unstored')).status).toBe(201);
    expect(await countOf('unstored')).toBe(1);
  });
});
