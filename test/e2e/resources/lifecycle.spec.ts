import { type Answer, type ApiClient, sharedApp, newOrganization, type TestOrganization } from '#testing';

/** A kind of resource, and the requests for it. */
interface Kind {
  kind: string;
  /** Name of its id member. */
  id: string;
  /** Its type in the audit log. Absent if its changes are stored as versions and not logged. */
  audited?: string;
  /** The path of the collection. */
  collection: (parents: Parents) => string;
  /** Returns the body that creates the nth resource. */
  body: (parents: Parents, n: number) => Record<string, unknown>;
  /** A patch that changes the resource. */
  change: Record<string, unknown>;
  /** The member whose value is unique among live resources. */
  unique?: string;
  /** Scope of `unique`, if not the workspace. */
  uniqueWithin?: 'organization';
  /** The member in its path, if not `id`. */
  key?: string;
  /** Whether its create takes `on_conflict`. */
  onConflict?: true;
  /** Whether paths take its name. */
  inPaths?: true;
  /** Whether it has `GET …/versions`. */
  versioned?: true;
  /** Whether it has `workspace_id`. */
  placed?: true;
  /** Whether its routes need the workspace header. */
  header?: true;
  /** Whether its members are sent in the query of an upload. */
  uploaded?: true;
  /** Whether it must be archived before it is deleted. Absent if its deletion is tested elsewhere. */
  deleted?: 'once archived' | 'directly';
}

interface Parents {
  workspace_id: string;
  datasetPath: string;
  scorerPath: string;
  agentPath: string;
  providerId: string;
  humanScorerId: string;
  experimentId: string;
}

const KINDS: Kind[] = [
  {
    kind: 'workspace',
    id: 'workspace_id',
    audited: 'workspace',
    collection: () => '/registry/v1/workspaces',
    body: (_, n) => ({ name: `workspace ${n}` }),
    change: { description: 'changed' },
    unique: 'name',
    uniqueWithin: 'organization',
  },
  {
    kind: 'service account',
    deleted: 'once archived',
    id: 'service_account_id',
    audited: 'service_account',
    collection: () => '/registry/v1/service-accounts',
    body: ({ workspace_id }, n) => ({
      name: `account-${n}`,
      roles: ['viewer'],
      workspace_ids: [workspace_id],
    }),
    change: { description: 'changed' },
    unique: 'name',
    uniqueWithin: 'organization',
  },
  {
    kind: 'repository',
    deleted: 'once archived',
    id: 'repo_id',
    audited: 'repo',
    collection: () => '/registry/v1/repos',
    body: ({ workspace_id }, n) => ({ workspace_id, url: `https://git.example.com/acme/repo-${n}` }),
    change: { description: 'changed' },
    placed: true,
  },
  {
    kind: 'app',
    deleted: 'once archived',
    id: 'app_id',
    key: 'app',
    audited: 'app',
    collection: () => '/registry/v1/apps',
    body: ({ workspace_id }, n) => ({ workspace_id, app: `app-${n}`, resources: [] }),
    change: { description: 'changed' },
    unique: 'app',
    onConflict: true,
    uniqueWithin: 'organization',
    placed: true,
  },
  {
    kind: 'skill',
    deleted: 'once archived',
    id: 'skill_id',
    audited: 'skill',
    collection: () => '/skill/v1/skills',
    body: ({ workspace_id }, n) => ({
      workspace_id,
      name: `skill-${n}`,
      description: 'Adds.',
      instructions: '# How',
    }),
    change: { description: 'Subtracts.' },
    unique: 'name',
    onConflict: true,
    inPaths: true,
    versioned: true,
    placed: true,
  },
  {
    kind: 'file',
    deleted: 'once archived',
    id: 'file_id',
    audited: 'file',
    collection: () => '/file/v1/files',
    body: ({ workspace_id }, n) => ({ workspace_id, name: `file ${n}` }),
    change: { metadata: { team: 'search' } },
    unique: 'name',
    onConflict: true,
    placed: true,
    uploaded: true,
  },
  {
    kind: 'MCP server',
    deleted: 'once archived',
    id: 'server_id',
    audited: 'mcp_server',
    collection: () => '/mcp/v1/servers',
    body: ({ workspace_id }, n) => ({
      workspace_id,
      name: `server-${n}`,
      url: 'https://mcp.example.com/mcp',
    }),
    change: { description: 'changed' },
    unique: 'name',
    inPaths: true,
    versioned: true,
    placed: true,
  },
  {
    kind: 'API',
    deleted: 'once archived',
    id: 'api_id',
    audited: 'api',
    collection: () => '/registry/v1/apis',
    body: ({ workspace_id }, n) => ({
      workspace_id,
      name: `api ${n}`,
      base_url: 'https://orders.example.com/v2',
    }),
    change: { description: 'changed' },
    unique: 'name',
    versioned: true,
    placed: true,
  },
  {
    kind: 'provider',
    deleted: 'once archived',
    id: 'provider_id',
    audited: 'model_provider',
    collection: () => '/model/v1/providers',
    body: ({ workspace_id }, n) => ({ workspace_id, name: `provider ${n}`, kind: 'openai' }),
    change: { description: 'changed' },
    unique: 'name',
    placed: true,
  },
  {
    kind: 'model',
    deleted: 'once archived',
    id: 'model_id',
    audited: 'model',
    collection: () => '/model/v1/models',
    body: ({ workspace_id, providerId }, n) => ({
      workspace_id,
      name: `model-${n}`,
      targets: [{ provider_id: providerId, upstream_model: 'gpt-4o' }],
    }),
    change: { description: 'changed' },
    unique: 'name',
    onConflict: true,
    inPaths: true,
    placed: true,
  },
  {
    kind: 'agent',
    deleted: 'once archived',
    id: 'agent_id',
    audited: 'agent',
    collection: () => '/agent/v1/agents',
    body: ({ workspace_id }, n) => ({ workspace_id, name: `agent-${n}` }),
    change: { instructions: 'Plan.' },
    unique: 'name',
    onConflict: true,
    inPaths: true,
    versioned: true,
    placed: true,
  },
  {
    kind: 'session',
    deleted: 'directly',
    id: 'session_id',
    collection: ({ agentPath }) => `${agentPath}/sessions`,
    body: (_, n) => ({ prompt: `Hello ${n}` }),
    change: { title: 'changed' },
    placed: true,
  },
  {
    kind: 'dataset',
    id: 'dataset_id',
    audited: 'dataset',
    collection: () => '/eval/v1/datasets',
    body: ({ workspace_id }, n) => ({ workspace_id, name: `dataset ${n}` }),
    change: { description: 'changed' },
    unique: 'name',
    onConflict: true,
    inPaths: true,
    placed: true,
    header: true,
  },
  {
    kind: 'record',
    id: 'dataset_record_id',
    collection: ({ datasetPath }) => `${datasetPath}/records`,
    body: ({ workspace_id }, n) => ({ workspace_id, input: n, external_id: `row ${n}` }),
    change: { expected: 2 },
    unique: 'external_id',
    versioned: true,
    header: true,
  },
  {
    kind: 'experiment',
    id: 'experiment_id',
    audited: 'experiment',
    collection: () => '/eval/v1/experiments',
    body: ({ workspace_id }, n) => ({ workspace_id, name: `experiment ${n}` }),
    change: { description: 'changed' },
    placed: true,
    header: true,
  },
  {
    kind: 'scorer',
    id: 'scorer_id',
    audited: 'scorer',
    collection: () => '/eval/v1/scorers',
    body: ({ workspace_id }, n) => ({
      workspace_id,
      name: `scorer ${n}`,
      scorer_kind: 'code',
      definition: { checks: [{ type: 'contains', path: 'output', value: 'x' }], aggregate: 'all' },
    }),
    change: { grain: 'session' },
    unique: 'name',
    onConflict: true,
    inPaths: true,
    versioned: true,
    placed: true,
    header: true,
  },
  {
    kind: 'scoring rule',
    id: 'rule_id',
    audited: 'scoring_rule',
    collection: ({ scorerPath }) => `${scorerPath}/rules`,
    body: ({ workspace_id }) => ({ workspace_id }),
    change: { sample_rate: 0.5 },
    placed: true,
    header: true,
  },
  {
    kind: 'annotation queue',
    id: 'queue_id',
    audited: 'annotation_queue',
    collection: () => '/eval/v1/annotation-queues',
    body: ({ workspace_id, humanScorerId, experimentId }, n) => ({
      workspace_id,
      name: `queue ${n}`,
      scorer_ids: [humanScorerId],
      source: { experiment_id: experimentId },
      scores_per_item: 1,
    }),
    change: { description: 'changed' },
    unique: 'name',
    onConflict: true,
    inPaths: true,
    placed: true,
    header: true,
  },
];

describe('a resource of the kind', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let owner: ApiClient;
  let parents: Parents;
  /** Another workspace, and a workspace of another organization. */
  const elsewhere: Partial<Record<'workspace' | 'organization', { client: ApiClient; parents: Parents }>> =
    {};
  let resourceCount = 0;

  beforeAll(async () => {
    org = await newOrganization(app);
    owner = await org.as('owner');
    parents = await createParents(owner, org.workspaceId);
    const other = await newOrganization(app);
    elsewhere.workspace = await ownerOf(org, await org.newWorkspace());
    elsewhere.organization = await ownerOf(other, other.workspaceId);
  });

  async function ownerOf(organization: TestOrganization, workspaceId: string) {
    const client = (await organization.member('owner')).in(workspaceId);
    return { client, parents: await createParents(client, workspaceId) };
  }

  /** Creates the parents of resources in a workspace. */
  async function createParents(client: ApiClient, workspace_id: string): Promise<Parents> {
    const pathOf = async (path: string, body: object) =>
      (await client.post(path, { workspace_id, ...body })).headers.get('location')!;
    const idOf = async (path: string, body: object) => (await pathOf(path, body)).split('/').at(-1)!;
    const experimentId = await idOf('/eval/v1/experiments', { name: 'of queues' });
    await pathOf(`/eval/v1/experiments/${experimentId}/results`, { case_id: 'first' });
    return {
      workspace_id,
      experimentId,
      humanScorerId: await idOf('/eval/v1/scorers', {
        name: 'of queues',
        scorer_kind: 'human',
        definition: { rubric: 'Kind?', output: { type: 'boolean' } },
      }),
      datasetPath: await pathOf('/eval/v1/datasets', { name: 'of records' }),
      scorerPath: await pathOf('/eval/v1/scorers', {
        name: 'of rules',
        scorer_kind: 'code',
        definition: { source: 'function score() { return 1 }', language: 'javascript' },
      }),
      agentPath: await pathOf('/agent/v1/agents', { name: 'of-sessions' }),
      providerId: await idOf('/model/v1/providers', { name: 'of models', kind: 'openai' }),
    };
  }

  describe.each(KINDS)(
    '$kind',
    ({
      id,
      audited,
      collection,
      body,
      change,
      unique,
      uniqueWithin,
      onConflict,
      inPaths,
      key = id,
      versioned,
      placed,
      header,
      uploaded,
      deleted,
    }) => {
      const caller = (): ApiClient => owner;
      const send = (
        by: ApiClient,
        to: Parents,
        members: Record<string, unknown>,
        query: Record<string, string> = {},
      ): Promise<Answer> => {
        if (!uploaded) {
          return by.post(`${collection(to)}?${new URLSearchParams(query).toString()}`, members);
        }
        const texts = Object.entries(members).map(([name, value]) => [
          name,
          typeof value === 'string' ? value : JSON.stringify(value),
        ]);
        const fields = new URLSearchParams({ ...query, ...Object.fromEntries(texts) });
        return by.post(`${collection(to)}?${fields.toString()}`, Buffer.from('x'));
      };
      const list = (): string => (id === 'session_id' ? '/agent/v1/sessions' : collection(parents));
      const create = (more: Record<string, unknown> = {}): Promise<Answer> =>
        send(caller(), parents, { ...body(parents, (resourceCount += 1)), ...more });
      /** Creates resources with `on_conflict`. */
      const upsert = (mode: string, members: Record<string, unknown>): Promise<Answer> =>
        send(caller(), parents, members, { on_conflict: mode });
      const createdPath = async (): Promise<{ path: string; view: any; etag: string }> => {
        const answer = await create();
        expect(answer.status).toBe(201);
        return { path: answer.headers.get('location')!, view: answer.body, etag: etagOf(answer) };
      };
      const entriesOf = async (
        resource: string,
      ): Promise<{ action: string; changes: { member: string }[] }[]> => {
        const answer = await owner.get(
          `/registry/v1/audit-log?resource_type=${audited}&resource_id=${resource}&sort=created_at`,
        );
        expect(answer.status).toBe(200);
        return answer.body.items;
      };
      const isListed = async (resource: string, query = ''): Promise<boolean> => {
        const answer = await owner.get(`${list()}?limit=500${query}`);
        expect(answer.status).toBe(200);
        return (answer.body.items as Record<string, unknown>[]).some((one) => one[id] === resource);
      };

      it('is created with 201, a Location and an ETag, and can be read at the Location', async () => {
        const { path, view, etag } = await createdPath();
        expect(path.endsWith(`/${view[key]}`)).toBe(true);
        expect(view).toMatchObject({
          created_by: expect.any(String),
          archived_at: null,
          created_at: view.updated_at,
        });
        const read = await caller().get(path);
        expect(read).toMatchObject({ status: 200, body: view });
        expect(etagOf(read)).toBe(etag);
        expect((await caller().get(path, { 'if-none-match': etag })).status).toBe(304);
      });

      it('changes once, with a new ETag and an audit entry or version', async () => {
        const { path, view, etag } = await createdPath();
        const changed = await caller().patch(path, change, { 'if-match': etag });
        expect(changed).toMatchObject({ status: 200, body: change });
        expect(etagOf(changed)).not.toBe(etag);
        expect(etagOf(await caller().get(path))).toBe(etagOf(changed));
        const again = await caller().patch(path, change);
        expect(etagOf(again)).toBe(etagOf(changed));
        if (audited) {
          const entries = await entriesOf(view[id]);
          expect(entries.map(({ action }) => action)).toEqual(['create', 'update']);
          expect(entries[1]!.changes.map(({ member }) => member)).toEqual(Object.keys(change));
        }
        if (versioned) expect((await caller().get(`${path}/versions`)).body.page.total).toBe(2);
      });

      it('rejects a stale If-Match, and accepts a weakened ETag', async () => {
        const { path, etag } = await createdPath();
        const stale = { 'if-match': '"stale"' };
        const rejected = [
          await caller().patch(path, change, stale),
          await caller().post(`${path}/archive`, undefined, stale),
        ];
        expect((await caller().patch(path, change, { 'if-match': `W/${etag}` })).status).toBe(200);
        expect((await caller().post(`${path}/archive`, undefined, { 'if-match': '*' })).status).toBe(200);
        rejected.push(await caller().post(`${path}/restore`, undefined, stale));
        expect(rejected.map(({ status, body }) => [status, body.code])).toEqual(
          rejected.map(() => [412, 'precondition_failed']),
        );
      });

      it('accepts only one of several concurrent changes with the same ETag', async () => {
        const { path, etag } = await createdPath();
        const edits = Array.from({ length: 3 }, () => caller().patch(path, change, { 'if-match': etag }));
        expect((await Promise.all(edits)).map(({ status }) => status).sort()).toEqual([200, 412, 412]);
      });

      it('cannot change its id or its workspace', async () => {
        const { path, view } = await createdPath();
        const answers = [await caller().patch(path, { [id]: `${view[id]}x` })];
        if (placed) answers.push(await caller().patch(path, { workspace_id: 'wsp_other' }));
        expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 422));
        expect(answers.map(({ body }) => body.code).slice(0, 1)).toEqual(['immutable_field']);
        expect((await caller().get(path)).body).toEqual(view);
      });

      it('is read-only and unlisted once archived', async () => {
        const { path, view, etag } = await createdPath();
        const archived = await caller().post(`${path}/archive`);
        expect(archived).toMatchObject({
          status: 200,
          body: { [id]: view[id], archived_at: expect.any(String) },
        });
        expect(etagOf(archived)).not.toBe(etag);
        const again = await caller().post(`${path}/archive`, undefined, { 'if-match': '"stale"' });
        expect(again).toMatchObject({ status: 200, body: archived.body });
        expect(etagOf(again)).toBe(etagOf(archived));
        expect(archived.body.updated_at).toBe(archived.body.archived_at);
        const read = await caller().get(path, { 'if-none-match': etag });
        expect(read).toMatchObject({ status: 200, body: archived.body });
        expect([await isListed(view[id]), await isListed(view[id], '&include_archived=true')]).toEqual([
          false,
          true,
        ]);
        expect(await caller().patch(path, change)).toMatchObject({ status: 409, body: { code: 'conflict' } });
        if (audited)
          expect((await entriesOf(view[id])).map(({ action }) => action)).toEqual(['create', 'archive']);
      });

      it('is restored once, unchanged', async () => {
        const { path, view } = await createdPath();
        const live = await caller().post(`${path}/restore`);
        expect(live).toMatchObject({ status: 200, body: view });
        const archived = await caller().post(`${path}/archive`);
        const restored = await caller().post(`${path}/restore`, undefined, { 'if-match': etagOf(archived) });
        expect(restored).toMatchObject({ status: 200, body: { [id]: view[id], archived_at: null } });
        expect(etagOf(restored)).not.toBe(etagOf(archived));
        expect((await caller().post(`${path}/restore`)).body).toEqual(restored.body);
        expect(await isListed(view[id])).toBe(true);
        expect((await caller().patch(path, change)).status).toBe(200);
        if (audited) {
          const actions = (await entriesOf(view[id])).map(({ action }) => action);
          expect(actions).toEqual(['create', 'archive', 'restore', 'update']);
        }
      });

      if (deleted) {
        it(`is deleted for good by admins, ${deleted}`, async () => {
          const { path, view } = await createdPath();
          const editor = await org.as('editor');
          expect(await editor.delete(path)).toMatchObject({ status: 403, body: { code: 'access_denied' } });
          if (deleted === 'once archived') {
            const live = await caller().delete(`${path}?force=true`);
            expect(live).toMatchObject({ status: 409, body: { code: 'conflict' } });
            expect(live.body.detail).toContain('is not archived');
            expect((await caller().post(`${path}/archive`)).status).toBe(200);
          }
          const etag = etagOf(await caller().get(path));
          expect((await caller().delete(path, { 'if-match': '"stale"' })).status).toBe(412);
          const admin = await org.as('admin');
          expect(await admin.delete(path, { 'if-match': etag })).toMatchObject({ status: 204 });
          const after = [
            caller().get(path),
            caller().patch(path, change),
            caller().post(`${path}/restore`),
            caller().delete(path),
            ...(versioned ? [caller().get(`${path}/versions`), caller().get(`${path}/versions/1`)] : []),
          ];
          expect((await Promise.all(after)).map(({ status }) => status)).toEqual(after.map(() => 404));
          expect(await isListed(view[id], '&include_archived=true')).toBe(false);
          if (audited) {
            const actions = (await entriesOf(view[id])).map(({ action }) => action);
            expect(actions).toEqual(['create', 'archive', 'delete']);
          }
          if (unique !== undefined) {
            expect((await create({ [unique]: view[unique] })).status).toBe(201);
          }
        });
      }

      if (unique !== undefined) {
        it('has a unique name, and a conflict names the existing resource', async () => {
          const first = await createdPath();
          const name = { [unique]: first.view[unique] };
          const duplicate = await create(name);
          expect(duplicate).toMatchObject({ status: 409, body: { code: 'conflict' } });
          expect(duplicate.body.detail).toContain(first.view[id]);
          const archived = await caller().post(`${first.path}/archive`);
          expect(archived.status).toBe(200);
          const second = await create(name);
          expect(second.status).toBe(201);
          const path = key === id ? first.path : `${collection(parents)}/${first.view[id]}`;
          const back = await caller().post(`${path}/restore`);
          expect(back).toMatchObject({ status: 409, body: { code: 'conflict' } });
          expect(back.body.detail).toContain(second.body[id]);
        });

        it('may have the same name as a resource in another workspace or organization', async () => {
          const { view } = await createdPath();
          const other = elsewhere[uniqueWithin ?? 'workspace']!;
          const same = { ...body(other.parents, (resourceCount += 1)), [unique]: view[unique] };
          expect(await send(other.client, other.parents, same)).toMatchObject({
            status: 201,
            body: { [unique]: view[unique] },
          });
        });

        it('is created once by concurrent clients', async () => {
          const same = body(parents, (resourceCount += 1));
          const answers = await Promise.all(Array.from({ length: 4 }, () => send(caller(), parents, same)));
          expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
        });
      }

      if (onConflict) {
        it('is returned or patched by a create with on_conflict, which writes only changes', async () => {
          const members = body(parents, (resourceCount += 1));
          const first = await upsert('update', members);
          expect(first).toMatchObject({ status: 201, headers: expect.anything() });
          const path = first.headers.get('location')!;
          const changed = { ...members, ...change };
          const returned = await upsert('return', changed);
          const same = await upsert('update', members);
          expect([returned, same].map(({ status, headers }) => [status, headers.get('location')])).toEqual([
            [200, null],
            [200, null],
          ]);
          expect([returned.body, same.body]).toEqual([first.body, first.body]);
          expect([etagOf(returned), etagOf(same)]).toEqual([etagOf(first), etagOf(first)]);
          const updated = await upsert('update', changed);
          expect(updated).toMatchObject({ status: 200, body: { ...change, [id]: first.body[id] } });
          const read = await caller().get(path);
          expect([updated.body, etagOf(updated)]).toEqual([read.body, etagOf(read)]);
          expect(etagOf(await upsert('update', changed))).toBe(etagOf(updated));
          if (audited) {
            const actions = (await entriesOf(first.body[id])).map(({ action }) => action);
            expect(actions).toEqual(['create', 'update']);
          }
          if (versioned) expect((await caller().get(`${path}/versions`)).body.page.total).toBe(2);
          const refused = [await upsert('error', members), await upsert('replace', members)];
          expect(refused.map((one) => [one.status, one.body.code])).toEqual([
            [409, 'conflict'],
            [422, 'validation_failed'],
          ]);
          expect((await caller().post(`${path}/archive`)).status).toBe(200);
          const next = await upsert('return', members);
          expect(next.status).toBe(201);
          expect(next.body[id]).not.toBe(first.body[id]);
        });

        it('is created once by concurrent clients with on_conflict=update', async () => {
          const members = body(parents, (resourceCount += 1));
          const bodies = [members, members, { ...members, ...change }, members];
          const answers = await Promise.all(bodies.map((one) => upsert('update', one)));
          expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 201]);
          expect(new Set(answers.map((one) => one.body[id])).size).toBe(1);
        });
      }

      if (inPaths) {
        it('is found by its name in a path while it is live, except by DELETE and restore', async () => {
          const { path, view } = await createdPath();
          const named = `${collection(parents)}/name:${encodeURIComponent(view[unique!])}`;
          const read = await caller().get(named);
          expect(read).toMatchObject({ status: 200, body: view });
          const changed = await caller().patch(named, change, { 'if-match': etagOf(read) });
          expect(changed).toMatchObject({ status: 200, body: change });
          if (versioned) expect((await caller().get(`${named}/versions`)).body.page.total).toBe(2);
          expect(await caller().post(`${named}/archive`)).toMatchObject({
            status: 200,
            body: { [id]: view[id] },
          });
          const gone = [
            await caller().get(named),
            await caller().patch(named, change),
            await caller().post(`${named}/restore`),
            await caller().delete(named),
          ];
          expect(gone.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
          expect(gone[3]!.body.detail).toContain('take ids, not names');
          expect((await caller().get(path)).status).toBe(200);
        });
      }

      // test/contract/access.spec.ts tests viewers
      it('requires the role for changes', async () => {
        const { path, view } = await createdPath();
        const editor = await org.as('editor');
        const rejected = [await editor.post(`${path}/archive`), await editor.post(`${path}/restore`)];
        expect(rejected.map(({ status, body }) => [status, body.code])).toEqual(
          rejected.map(() => [403, 'access_denied']),
        );
        const archiver = await org.as(header ? 'evaluator' : 'admin');
        expect((await archiver.post(`${path}/archive`)).status).toBe(200);
        expect((await archiver.post(`${path}/restore`)).status).toBe(200);
        expect((await caller().get(path)).body[id]).toBe(view[id]);
      });
    },
  );
});

const etagOf = (answer: Answer): string => answer.headers.get('etag')!;
