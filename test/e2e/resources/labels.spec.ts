import { sql } from '#platform/db';
import { type Answer, type ApiClient, sharedApp, newOrganization, type TestOrganization } from '#testing';

/** A kind of resource whose versions can have labels. */
interface Kind {
  collection: string;
  body: object;
  /** A change that creates a version. */
  change: object;
  /** The paths below a version. */
  below: string[];
}

const KINDS: Kind[] = [
  {
    collection: '/agent/v1/agents',
    body: { instructions: 'one' },
    change: { instructions: 'two' },
    below: [],
  },
  {
    collection: '/skill/v1/skills',
    body: { description: 'd', instructions: 'one' },
    change: { instructions: 'two' },
    below: ['/content'],
  },
];

const NO_LABELS = ['3', 'latest', 'a..b', '.a', 'a.', '-a', 'Production', 'a/b', '../x', 'a'.repeat(65)];

const NO_VERSIONS: [body: unknown, pointer: string][] = [
  [{ version_ordinal: 3 }, '/version_ordinal'],
  [{ version_ordinal: 0 }, '/version_ordinal'],
  [{ version_ordinal: 2 ** 31 }, '/version_ordinal'],
  [{ version_ordinal: 1.5 }, '/version_ordinal'],
  [{ version_ordinal: '1' }, '/version_ordinal'],
  [{ version_ordinal: 'a..b' }, '/version_ordinal'],
  [{ version_ordinal: 'unknown' }, '/version_ordinal'],
  [{ version_ordinal: null }, '/version_ordinal'],
  [{}, '/version_ordinal'],
  [{ version_ordinal: 1, version: 1 }, '/version'],
];

describe('labels', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let owner: ApiClient;
  let admin: ApiClient;
  let editor: ApiClient;

  beforeAll(async () => {
    org = await newOrganization(app);
    [owner, admin, editor] = [await org.as('owner'), await org.as('admin'), await org.as('editor')];
  });

  let made = 0;
  const create = async (collection: string, body: object): Promise<string> => {
    const name = `labelled-${(made += 1)}`;
    const answer = await editor.post(collection, { workspace_id: org.workspaceId, name, ...body });
    expect(answer.status).toBe(201);
    return answer.headers.get('location')!;
  };
  const set = (path: string, label: string, version_ordinal: unknown, by = editor, ifMatch?: string) =>
    by.put(
      `${path}/labels/${label}`,
      { version_ordinal },
      ifMatch === undefined ? {} : { 'if-match': ifMatch },
    );
  const codeOf = ({ status, body }: Answer) => [status, (body as { code?: string } | undefined)?.code];

  describe.each(KINDS)('of $collection', ({ collection, body, change, below }) => {
    /** Creates a resource with two versions. */
    const withVersions = async (): Promise<string> => {
      const path = await create(collection, body);
      expect((await editor.patch(path, change)).body.version_ordinal).toBe(2);
      return path;
    };

    it('point to a version, and move, without a new version', async () => {
      const path = await withVersions();
      const first = await set(path, 'production', 1);
      expect([first.status, first.body.labels, first.headers.get('etag')]).toEqual([
        200,
        { production: 1 },
        '"3"',
      ]);
      const again = await set(path, 'production', 1);
      expect([again.body, again.headers.get('etag')]).toEqual([first.body, '"3"']);
      // a label can be the name of a member that every object has
      expect((await set(path, 'constructor', 'latest')).body.labels).toEqual({
        constructor: 2,
        production: 1,
      });
      const moved = await set(path, 'production', 'constructor');
      expect(moved.body).toMatchObject({ labels: { constructor: 2, production: 2 }, version_ordinal: 2 });
      const read = await editor.get(path);
      expect([JSON.stringify(read.body), read.headers.get('etag')]).toEqual([
        JSON.stringify(moved.body),
        '"5"',
      ]);
      const { body: page } = await editor.get(`${collection}?name=${read.body.name as string}`);
      expect(page.items[0].labels).toEqual(moved.body.labels);
      const patched = await editor.patch(path, { ...read.body, labels: {} });
      expect([patched.status, patched.body]).toEqual([200, read.body]);
      expect((await editor.delete(`${path}/labels/constructor`)).status).toBe(204);
      expect((await editor.get(path)).body.labels).toEqual({ production: 2 });
      const id = path.split('/').at(-1)!;
      const { body: log } = await owner.get(`/registry/v1/audit-log?resource_id=${id}&limit=4`);
      expect((log.items as { changes: object[] }[]).map(({ changes }) => changes)).toEqual([
        [{ member: 'labels.constructor', before: 2, after: null }],
        [{ member: 'labels.production', before: 1, after: 2 }],
        [{ member: 'labels.constructor', before: null, after: 2 }],
        [{ member: 'labels.production', before: null, after: 1 }],
      ]);
    });

    it('stand for the number of a version in paths, as `latest` does', async () => {
      const path = await withVersions();
      await set(path, 'production', 1);
      for (const end of ['', ...below]) {
        const [one, two] = [
          await editor.get(`${path}/versions/1${end}`),
          await editor.get(`${path}/versions/2${end}`),
        ];
        const etag = one.headers.get('etag')!;
        const read = await editor.get(`${path}/versions/production${end}`);
        expect([read.body, read.headers.get('etag')]).toEqual([one.body, etag]);
        const head = await editor.request('HEAD', `${path}/versions/production${end}`);
        expect([head.status, head.headers.get('etag')]).toEqual([200, etag]);
        expect((await editor.get(`${path}/versions/latest${end}`)).headers.get('etag')).toBe(
          two.headers.get('etag'),
        );
        await set(path, 'production', 2);
        const moved = await editor.get(`${path}/versions/production${end}`, { 'if-none-match': etag });
        expect([moved.status, moved.headers.get('etag')]).toEqual([200, two.headers.get('etag')]);
        await set(path, 'production', 1);
        for (const absent of ['staging', 'valueOf', 'a..b', '01']) {
          expect(codeOf(await editor.get(`${path}/versions/${absent}${end}`))).toEqual([404, 'not_found']);
        }
      }
      expect((await editor.get(`${path}/versions/production`, { 'if-none-match': '"1"' })).status).toBe(304);
    });

    it('reject invalid names and versions, and name them', async () => {
      const path = await withVersions();
      for (const label of NO_LABELS) {
        const encoded = `${path}/labels/${encodeURIComponent(label)}`;
        for (const answer of [
          await editor.put(encoded, { version_ordinal: 1 }),
          await editor.delete(encoded),
        ]) {
          expect([label, codeOf(answer), answer.body.errors]).toEqual([
            label,
            [400, 'invalid_request'],
            [expect.objectContaining({ parameter: 'label' })],
          ]);
        }
      }
      for (const [sent, pointer] of NO_VERSIONS) {
        const answer = await editor.put(`${path}/labels/production`, sent);
        expect([sent, codeOf(answer), answer.body.errors]).toEqual([
          sent,
          [400, 'invalid_request'],
          expect.arrayContaining([expect.objectContaining({ pointer })]),
        ]);
      }
      expect((await editor.get(path)).body).toMatchObject({ labels: {}, generation: 2 });
    });

    it('are changed by one of two writers with the same ETag', async () => {
      const path = await withVersions();
      const answers = await Promise.all(
        [1, 2].map((version) => set(path, 'production', version, editor, '"2"')),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
      const stale = { 'if-match': '"2"' };
      expect(codeOf(await editor.delete(`${path}/labels/production`, stale))).toEqual([
        412,
        'precondition_failed',
      ]);
      // the version comes before the precondition, and the label too
      expect(codeOf(await set(path, 'production', 3, editor, '"2"'))).toEqual([400, 'invalid_request']);
      expect(codeOf(await editor.delete(`${path}/labels/staging`, stale))).toEqual([404, 'not_found']);
    });

    it('cannot be changed by readers, by other organizations, or once the resource is archived', async () => {
      const path = await withVersions();
      await set(path, 'production', 1);
      const requests = (by: ApiClient) => [
        set(path, 'production', 2, by),
        by.delete(`${path}/labels/production`),
      ];
      const codesOf = async (by: ApiClient) => (await Promise.all(requests(by))).map(codeOf);
      expect(await codesOf(await org.as('viewer'))).toEqual(Array(2).fill([403, 'access_denied']));
      const stranger = await (await newOrganization(app)).member('owner');
      expect(await codesOf(stranger)).toEqual(Array(2).fill([404, 'not_found']));
      await admin.post(`${path}/archive`);
      expect(await codesOf(admin)).toEqual(Array(2).fill([409, 'conflict']));
      expect((await editor.get(`${path}/versions/production`)).body.version_ordinal).toBe(1);
    });

    it('belong to admins if the organization protects them', async () => {
      const path = await withVersions();
      const patched = await owner.patch('/registry/v1/org', {
        protected_labels: ['live', 'eu.live', 'live'],
      });
      expect([patched.status, patched.body.protected_labels]).toEqual([200, ['live', 'eu.live']]);
      expect((await editor.get('/registry/v1/org')).body.protected_labels).toEqual(['live', 'eu.live']);
      expect((await set(path, 'live', 1, admin)).status).toBe(200);
      for (const answer of [await set(path, 'live', 2), await editor.delete(`${path}/labels/live`)]) {
        expect(codeOf(answer)).toEqual([403, 'access_denied']);
        expect(answer.body.detail).toContain('`live` is in `protected_labels`');
      }
      expect((await set(path, 'staging', 2)).status).toBe(200);
      expect(
        (await owner.patch('/registry/v1/org', { protected_labels: null })).body.protected_labels,
      ).toEqual([]);
      expect((await set(path, 'live', 2)).status).toBe(200);
    });

    it('keep their version from being deleted, unless it is forced', async () => {
      const path = await withVersions();
      await set(path, 'production', 1);
      await set(path, 'beta', 1);
      await set(path, 'next', 2);
      for (const version of ['1', 'beta']) {
        const answer = await admin.delete(`${path}/versions/${version}`);
        expect([codeOf(answer), answer.body.detail]).toEqual([
          [409, 'conflict'],
          expect.stringContaining('labels: beta, production.'),
        ]);
      }
      expect(codeOf(await admin.delete(`${path}/versions/latest?force=true`))).toEqual([409, 'conflict']);
      expect((await admin.delete(`${path}/versions/production?force=true`)).status).toBe(204);
      expect((await admin.get(path)).body.labels).toEqual({ next: 2 });
    });
  });

  it('are at most 100 for each resource', async () => {
    const path = await create('/agent/v1/agents', {});
    const labels = Object.fromEntries(Array.from({ length: 99 }, (_, index) => [`l${index}`, 1]));
    const id = path.split('/').at(-1)!;
    await app.database.query(
      sql`UPDATE agents SET labels = ${JSON.stringify(labels)}::jsonb WHERE agent_id = ${id}`,
    );
    const answers = await Promise.all([set(path, 'one', 1), set(path, 'another', 1)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422]);
    expect(answers.map(codeOf)).toContainEqual([422, 'validation_failed']);
    expect((await set(path, 'l0', 'latest')).status).toBe(200);
  });

  it('are rejected as protected ones if they are invalid or too many', async () => {
    const tooMany = Array.from({ length: 101 }, (_, index) => `l${index}`);
    for (const protected_labels of ['x', ['latest'], ['a', '3'], [1], tooMany]) {
      const answer = await owner.patch('/registry/v1/org', { protected_labels });
      expect([codeOf(answer), answer.body.errors]).toEqual([
        [400, 'invalid_request'],
        [expect.objectContaining({ pointer: '/protected_labels' })],
      ]);
    }
  });

  describe('in references', () => {
    let skillPath: string;
    let skill_id: string;

    beforeAll(async () => {
      skillPath = await create('/skill/v1/skills', { description: 'd', instructions: 'one' });
      skill_id = skillPath.split('/').at(-1)!;
      await editor.patch(skillPath, { instructions: 'two' });
      await set(skillPath, 'production', 1);
    });

    it('are stored as the numbers that they point to', async () => {
      const pinned = (version_ordinal: unknown) => ({ skills: [{ skill_id, version_ordinal }] });
      const path = await create('/agent/v1/agents', pinned('production'));
      expect((await editor.get(path)).body.skills).toEqual([{ skill_id, version_ordinal: 1 }]);
      expect((await editor.patch(path, pinned('production'))).body.version_ordinal).toBe(1);
      expect((await editor.patch(path, pinned('latest'))).body).toMatchObject(pinned(2));
      await set(skillPath, 'production', 2);
      expect((await editor.get(`${path}/versions/1`)).body).toMatchObject(pinned(1));
      await set(skillPath, 'production', 1);
      for (const [reference, pointer] of [
        [{ skill_id, version_ordinal: 'unknown' }, '/skills/0'],
        [{ skill_id: 'skl_unknown', version_ordinal: 'production' }, '/skills/0'],
        [{ skill_id, version_ordinal: 'a..b' }, '/skills/0/version_ordinal'],
        [{ skill_id, version_ordinal: '1' }, '/skills/0/version_ordinal'],
      ] as const) {
        const answer = await editor.patch(path, { skills: [reference] });
        expect([codeOf(answer), answer.body.errors]).toEqual([
          [400, 'invalid_request'],
          [expect.objectContaining({ pointer })],
        ]);
      }
    });

    it('pin sessions', async () => {
      const path = await create('/agent/v1/agents', {});
      await editor.patch(path, { instructions: 'two' });
      await set(path, 'production', 1);
      const start = (version_ordinal: unknown) =>
        editor.post(`${path}/sessions`, { prompt: 'Hi', version_ordinal });
      const sessions = [await start('production'), await start('latest'), await start(null)];
      expect(sessions.map(({ body }) => body.version_ordinal as number)).toEqual([1, 2, 2]);
      for (const unknown of ['unknown', 'a..b', '1', 3]) {
        const answer = await start(unknown);
        expect([codeOf(answer), answer.body.errors]).toEqual([
          [400, 'invalid_request'],
          [expect.objectContaining({ pointer: '/version_ordinal' })],
        ]);
      }
    });

    it('are resolved by each reconcile of an app, whose own resources can be labelled without drift', async () => {
      const spec = { skills: [{ skill_id, version_ordinal: 'production' }] };
      const resources = [{ kind: 'agent', name: 'declared', spec }];
      const { workspaceId: workspace_id } = org;
      await editor.post('/registry/v1/apps', { workspace_id, app: 'labelled', resources });
      const reconciled = async () => {
        expect((await admin.post('/registry/v1/apps/labelled/reconcile')).status).toBe(200);
        return (await editor.get('/agent/v1/agents?app=labelled')).body.items[0];
      };
      const { agent_id, skills } = await reconciled();
      expect(skills).toEqual([{ skill_id, version_ordinal: 1 }]);
      const labelled = await set(`/agent/v1/agents/${agent_id as string}`, 'production', 1);
      expect(labelled.body).toMatchObject({ sync_state: 'synced', version_ordinal: 1 });
      await set(skillPath, 'production', 2);
      expect(await reconciled()).toMatchObject({
        skills: [{ skill_id, version_ordinal: 2 }],
        labels: { production: 1 },
        version_ordinal: 2,
      });
      await editor.delete(`${skillPath}/labels/production`);
      const failed = await admin.post('/registry/v1/apps/labelled/reconcile');
      expect([codeOf(failed), failed.body.errors]).toEqual([
        [422, 'validation_failed'],
        [expect.objectContaining({ pointer: '/resources/0/spec/skills/0' })],
      ]);
    });
  });
});
