import { type Answer, type ApiClient, newOrganization, sharedApp, type TestOrganization } from '#testing';
import { formOf, skillMd } from '../skills/skills.fixture';
import { zipOf } from '../skills/zip.fixture';

const [APPS, DATASETS, SCORERS] = ['/registry/v1/apps', '/eval/v1/datasets', '/eval/v1/scorers'];
const [UPDATE, RETURN] = ['?on_conflict=update', '?on_conflict=return'];

const codeOf = ({ status, body }: Answer): unknown[] => [status, body.code];

describe('a create with on_conflict', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let editor: ApiClient;
  let workspace_id: string;

  beforeAll(async () => {
    org = await newOrganization(app);
    editor = await org.as('editor');
    workspace_id = org.workspaceId;
  });

  const checks = (value: string) => ({ checks: [{ type: 'contains', path: 'output', value }] });

  it('keeps absent members, clears null ones, and keeps those whose null means a default', async () => {
    const scorer = { workspace_id, name: 'kept', scorer_kind: 'code', definition: checks('a') };
    const full = { ...scorer, grain: 'session', description: 'd', tags: ['t'], metadata: { team: 'search' } };
    expect((await editor.post(SCORERS!, full)).status).toBe(201);
    const absent = await editor.post(`${SCORERS}${UPDATE}`, { ...scorer, metadata: { zone: 'eu' } });
    expect(absent.body).toMatchObject({
      ...full,
      metadata: { team: 'search', zone: 'eu' },
      scorer_version: 1,
    });
    const cleared = { ...scorer, grain: null, description: null, tags: null, definition: checks('b') };
    const patched = await editor.post(`${SCORERS}${UPDATE}`, cleared);
    expect(patched).toMatchObject({
      status: 200,
      body: { grain: 'session', description: null, tags: [], scorer_version: 2 },
    });
  });

  it('rejects what a PATCH would reject', async () => {
    const scorer = { workspace_id, name: 'fixed', scorer_kind: 'code', definition: checks('a') };
    await editor.post(SCORERS!, scorer);
    const human = { scorer_kind: 'human', definition: { rubric: 'Kind?', output: { type: 'boolean' } } };
    const dataset = { workspace_id, name: 'fixed' };
    await editor.post(DATASETS!, dataset);
    const viewer = await org.as('viewer');
    const answers = [
      await editor.post(`${SCORERS}${UPDATE}`, { ...scorer, ...human }),
      await editor.post(`${SCORERS}${UPDATE}`, { ...scorer, definition: { checks: [] } }),
      await editor.post(`${DATASETS}${UPDATE}`, { ...dataset, input_schema: { type: 'nothing' } }),
      await editor.post(`${DATASETS}${UPDATE}`, { ...dataset, colour: 'red' }),
      await editor.post(`${DATASETS}${RETURN}`, { ...dataset, workspace_id: 'wsp_other' }),
      await viewer.post(`${DATASETS}${RETURN}`, dataset),
      await editor.post(`${DATASETS}${UPDATE}&on_conflict=return`, dataset),
      await editor.post(`/eval/v1/experiments${UPDATE}`, { workspace_id, name: 'e' }),
    ];
    expect(answers.map(codeOf)).toEqual([
      [422, 'immutable_field'],
      [400, 'invalid_request'],
      [400, 'invalid_request'],
      [400, 'invalid_request'],
      [400, 'invalid_request'],
      [403, 'access_denied'],
      [400, 'invalid_query'],
      [400, 'invalid_query'],
    ]);
  });

  it('is no way to see or change what the caller may not', async () => {
    const [owner, elsewhere] = [await org.member('owner'), await org.newWorkspace()];
    const slug = { app: 'placed', resources: [] };
    const { body: placed } = await owner.post(APPS!, { ...slug, workspace_id });
    const here = { ...slug, workspace_id: elsewhere };
    expect((await owner.post(`${APPS}${RETURN}`, here)).body).toEqual(placed);
    expect(codeOf(await owner.post(`${APPS}${UPDATE}`, here))).toEqual([422, 'validation_failed']);
    const token = await org.tokenOf('u', { roles: ['editor'], workspace_ids: [elsewhere] });
    const stranger = app.api(token);
    for (const mode of [UPDATE, RETURN]) {
      const hidden = await stranger.post(`${APPS}${mode}`, here);
      expect(codeOf(hidden)).toEqual([409, 'conflict']);
      expect(hidden.body.detail).not.toContain(placed.app_id);
      expect(codeOf(await stranger.post(`${APPS}${mode}`, { ...slug, workspace_id }))).toEqual([
        400,
        'invalid_request',
      ]);
    }
    const dataset = { workspace_id: elsewhere, name: 'per workspace' };
    await editor.post(DATASETS!, { ...dataset, workspace_id });
    expect((await owner.in(elsewhere).post(`${DATASETS}${UPDATE}`, dataset)).status).toBe(201);
  });

  it('creates a version of a skill only if its files differ, whatever the form of the upload', async () => {
    const [skills, zipMedia] = ['/skill/v1/skills', { 'content-type': 'application/zip' }];
    const json = { workspace_id, name: 'sums', description: 'Does sums.', instructions: '# How\n' };
    const files = [{ path: 'a.txt', content: 'a' }];
    const zip = (more: { name: string; content: string }[]) =>
      zipOf([{ name: 'SKILL.md', content: skillMd('sums') }, ...more]);
    const upload = (content: Buffer) =>
      editor.post(`${skills}${UPDATE}&workspace_id=${workspace_id}`, content, zipMedia);
    const form = formOf([['SKILL.md', skillMd('sums')]], workspace_id);
    const multipart = { 'content-type': 'multipart/form-data; boundary=b' };
    const versions: [number, number, number][] = [];
    for (const next of [
      () => editor.post(`${skills}${UPDATE}`, { ...json, files, license: 'MIT' }),
      () => editor.post(`${skills}${UPDATE}`, json),
      () => editor.post(`${skills}${UPDATE}`, { ...json, description: 'Adds.' }),
      () => upload(zip([])),
      () => upload(zip([])),
      () => editor.post(`${skills}${UPDATE}`, form, multipart),
      () => upload(zip([{ name: 'b.txt', content: 'b' }])),
    ]) {
      const { status, body } = await next();
      versions.push([status, body.version_ordinal, body.file_count]);
    }
    expect(versions).toEqual([
      [201, 1, 2],
      [200, 1, 2],
      [200, 2, 2],
      [200, 3, 1],
      [200, 3, 1],
      [200, 3, 1],
      [200, 4, 2],
    ]);
  });

  it('creates a version of a file only if its bytes differ', async () => {
    const path = `/file/v1/files${UPDATE}&workspace_id=${workspace_id}&name=cases.csv`;
    const [answers, text]: [Answer[], Record<string, string>] = [[], { 'content-type': 'text/plain' }];
    for (const bytes of ['a', 'a', 'b']) answers.push(await editor.post(path, Buffer.from(bytes), text));
    expect(answers.map(({ status, body }) => [status, body.version_ordinal])).toEqual([
      [201, 1],
      [200, 1],
      [200, 2],
    ]);
    const returned = await editor.post(path.replace(UPDATE!, RETURN!), Buffer.from('c'), text);
    expect(returned).toMatchObject({ status: 200, body: answers[2]!.body });
    const content = await editor.get(`/file/v1/files/${returned.body.file_id}/content`);
    expect(content.body).toBe('b');
  });

  it('finds a queue again whose source selects nothing any more', async () => {
    const evaluator = await org.as('evaluator');
    const scorer = await evaluator.post(SCORERS!, {
      workspace_id,
      name: 'kind',
      scorer_kind: 'human',
      definition: { rubric: 'Kind?', output: { type: 'boolean' } },
    });
    const experiment = await evaluator.post('/eval/v1/experiments', { workspace_id, name: 'e' });
    const path = experiment.headers.get('location')!;
    const result = await evaluator.post(`${path}/results`, { workspace_id, case_id: '1' });
    const [scorer_id, experiment_id] = [scorer.body.scorer_id, experiment.body.experiment_id];
    const queue = {
      ...{ workspace_id, name: 'by hand', scores_per_item: 1 },
      scorer_ids: [scorer_id, scorer_id],
      source: { experiment_id },
    };
    const queues = `/eval/v1/annotation-queues${UPDATE}`;
    expect((await evaluator.post(queues, queue)).status).toBe(201);
    const admin = await org.as('admin');
    expect((await admin.delete(`${result.headers.get('location')}?force=true`)).status).toBe(204);
    expect((await evaluator.post(queues, queue)).status).toBe(200);
    const other = await evaluator.post(queues, { ...queue, scores_per_item: 2 });
    expect(codeOf(other)).toEqual([422, 'immutable_field']);
  });

  it('works with an idempotency key, also in the transaction of a failed insert', async () => {
    const [name, key] = ['keyed', (value: string) => ({ 'idempotency-key': value })];
    const dataset = { workspace_id, name };
    const answers = await Promise.all(
      ['a', 'b', 'c'].map((value) =>
        editor.post(`${DATASETS}${UPDATE}`, { ...dataset, description: value }, key(value)),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 201]);
    const { body: before } = await editor.get(`${DATASETS}/name:${name}`);
    for (const [index, value] of ['a', 'b', 'c'].entries()) {
      const again = await editor.post(`${DATASETS}${UPDATE}`, { ...dataset, description: value }, key(value));
      expect([again.status, again.body]).toEqual([answers[index]!.status, answers[index]!.body]);
      expect(again.headers.get('idempotency-replayed')).toBe('true');
    }
    expect((await editor.get(`${DATASETS}/name:${name}`)).body).toEqual(before);
    const other = await editor.post(`${DATASETS}${RETURN}`, { ...dataset, description: 'a' }, key('a'));
    expect(codeOf(other)).toEqual([422, 'validation_failed']);
  });

  it('acts on the resource that has the name, while others rename and archive it', async () => {
    const evaluator = await org.as('evaluator');
    const dataset = { workspace_id, name: 'contested' };
    const upserts: Promise<Answer>[] = [];
    for (let round = 0; round < 6; round++) {
      const created = evaluator.post(`${DATASETS}${UPDATE}`, { ...dataset, description: `${round}` });
      upserts.push(created, evaluator.post(`${DATASETS}${RETURN}`, dataset));
      const path = `${DATASETS}/${(await created).body.dataset_id}`;
      upserts.push(evaluator.post(`${DATASETS}${UPDATE}`, { ...dataset, description: 'late' }));
      await (round % 2
        ? evaluator.patch(path, { name: `was contested ${round}` })
        : evaluator.post(`${path}/archive`));
    }
    for (const { status, body } of await Promise.all(upserts)) {
      expect([200, 201]).toContain(status);
      expect(body).toMatchObject({ name: 'contested', archived_at: null });
    }
  });
});
