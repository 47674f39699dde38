import { type ApiClient, sharedApp, newOrganization, type TestOrganization } from '#testing';

const SCRIPT = { language: 'javascript', source: 'function score({ output }) { return output === 1; }' };
const JUDGE = { prompt: 'Is {{output}} right?', output: { type: 'boolean' } };
const HUMAN = { rubric: 'Is it kind?', output: { type: 'numeric', min: 1, max: 5 } };

describe('scorers', () => {
  const app = sharedApp();
  let organization: TestOrganization;
  let editor: ApiClient;

  beforeEach(async () => {
    organization = await newOrganization(app);
    editor = await organization.as('editor');
  });

  const create = (members: object = {}, caller = editor) =>
    caller.post('/eval/v1/scorers', {
      workspace_id: organization.workspaceId,
      name: 'exact match',
      scorer_kind: 'code',
      definition: SCRIPT,
      ...members,
    });
  const newScorer = async (members: object = {}): Promise<any> => (await create(members)).body;
  const pathOf = (scorer: { scorer_id: string }) => `/eval/v1/scorers/${scorer.scorer_id}`;

  it('are created with version 1, and read back as sent', async () => {
    const definition = { source: SCRIPT.source, timeout_ms: 500, language: 'javascript' };
    const answer = await create({
      definition,
      description: 'Compares.',
      grain: 'session',
      tags: ['a'],
      metadata: { team: 'x' },
    });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('location')).toBe(pathOf(answer.body));
    expect(answer.headers.get('etag')).toBe('"1"');
    expect(answer.body).toMatchObject({
      scorer_id: expect.stringMatching(/^scr_/),
      version_id: expect.stringMatching(/^ver_/),
      workspace_id: organization.workspaceId,
      name: 'exact match',
      description: 'Compares.',
      scorer_kind: 'code',
      grain: 'session',
      definition,
      scorer_version: 1,
      tags: ['a'],
      metadata: { team: 'x' },
      archived_at: null,
    });
    expect(JSON.stringify(answer.body.definition)).toBe(JSON.stringify(definition));
    const read = await editor.get(pathOf(answer.body));
    expect(read.body).toEqual(answer.body);
    expect(read.headers.get('etag')).toBe('"1"');
  });

  it('score traces by default', async () => {
    expect((await newScorer()).grain).toBe('trace');
  });

  it('get a version with each change of their definition or grain, and keep the old ones', async () => {
    const scorer = await newScorer();
    const changed = await editor.patch(pathOf(scorer), { definition: { checks: [{ type: 'equals' }] } });
    expect(changed.status).toBe(200);
    expect(changed.headers.get('etag')).toBe('"2"');
    expect(changed.body).toMatchObject({ scorer_version: 2, definition: { checks: [{ type: 'equals' }] } });
    expect(changed.body.definition.source).toBeUndefined();
    expect(changed.body.version_id).not.toBe(scorer.version_id);

    const versions = await editor.get(`${pathOf(scorer)}/versions`);
    expect(versions.body.items.map((one: any) => one.scorer_version)).toEqual([2, 1]);
    expect(versions.body.page.total).toBe(2);
    const first = await editor.get(`${pathOf(scorer)}/versions/1`);
    expect(first.body).toMatchObject({
      scorer_version: 1,
      version_id: scorer.version_id,
      definition: SCRIPT,
    });
    expect(first.body).not.toHaveProperty('name');
    expect((await editor.get(`${pathOf(scorer)}/versions/3`)).status).toBe(404);
    expect((await editor.get(`${pathOf(scorer)}/versions/x`)).status).toBe(404);
  });

  it('keep their version, but not their ETag, when their name, description, tags or metadata change', async () => {
    const scorer = await newScorer();
    const texts = { name: 'equality', description: 'Compares.', tags: ['a'], metadata: { team: 'x' } };
    for (const [index, [member, value]] of Object.entries(texts).entries()) {
      const ifMatch = { 'if-match': `"${index + 1}"` };
      const changed = await editor.patch(pathOf(scorer), { [member]: value }, ifMatch);
      expect(changed.headers.get('etag')).toBe(`"${index + 2}"`);
      expect((await editor.patch(pathOf(scorer), { [member]: null }, ifMatch)).status).toBe(
        member === 'name' ? 400 : 412,
      );
    }
    const regrained = await editor.patch(pathOf(scorer), { grain: 'session' }, { 'if-match': '"5"' });
    expect(regrained.headers.get('etag')).toBe('"6"');
    expect(regrained.body).toMatchObject({ ...texts, grain: 'session', scorer_version: 2 });
    const { body } = await editor.get(`${pathOf(scorer)}/versions`);
    expect(body.items.map((one: any) => [one.scorer_version, one.version_id, one.grain])).toEqual([
      [2, regrained.body.version_id, 'session'],
      [1, scorer.version_id, 'trace'],
    ]);
  });

  it('keep their ETag with a definition that is equal as JSON', async () => {
    const scorer = await newScorer({ definition: { ...SCRIPT, timeout_ms: 500 } });
    const body = `{"definition": {"timeout_ms": 5e2, "source": ${JSON.stringify(SCRIPT.source)}, "language": "javascript"}}`;
    const same = await editor.patch(pathOf(scorer), Buffer.from(body), {
      'content-type': 'application/json',
    });
    expect(same).toMatchObject({ status: 200, body: scorer });
    expect(same.headers.get('etag')).toBe('"1"');
  });

  it('have one ETag for each state when they are archived and restored', async () => {
    const scorer = await newScorer();
    const evaluator = await organization.as('evaluator');
    const archived = await evaluator.post(`${pathOf(scorer)}/archive`, undefined, { 'if-match': '"1"' });
    expect(archived.headers.get('etag')).toBe('"2"');
    const restored = await evaluator.post(`${pathOf(scorer)}/restore`, undefined, { 'if-match': '"2"' });
    expect(restored.headers.get('etag')).toBe('"3"');
    expect(restored.body.scorer_version).toBe(1);
  });

  it('never change their kind or id', async () => {
    const scorer = await newScorer();
    for (const [member, value] of Object.entries({ scorer_kind: 'human', scorer_id: 'scr_other' })) {
      const changed = await editor.patch(pathOf(scorer), { [member]: value });
      expect(changed.status).toBe(422);
      expect(changed.body).toMatchObject({ code: 'immutable_field', errors: [{ pointer: `/${member}` }] });
    }
    expect((await editor.patch(pathOf(scorer), scorer)).body).toEqual(scorer);
  });

  it.each([
    ['scorer_kind', { scorer_kind: 'robot' }],
    ['grain', { grain: 'span' }],
  ])('are rejected with an unknown %s (422)', async (member, members) => {
    const answer = await create(members);
    expect(answer.status).toBe(422);
    expect(answer.body).toMatchObject({ code: 'validation_failed', errors: [{ pointer: `/${member}` }] });
    expect((await editor.get(`/eval/v1/scorers?${member}=robot`)).status).toBe(422);
  });

  it.each<[string, object, string]>([
    ['code', {}, '/definition'],
    ['code', { language: 'javascript', source: 'function score( {' }, '/definition/source'],
    ['code', { language: 'python', source: 'x' }, '/definition/language'],
    ['code', { ...SCRIPT, 'time/out': 1 }, '/definition/time~1out'],
    ['llm_judge', { ...JUDGE, promt: 'x' }, '/definition/promt'],
    ['human', { ...HUMAN, output: { ...HUMAN.output, step: 1 } }, '/definition/output/step'],
    ['code', { checks: [{ type: 'equals' }, { type: 'sorcery' }] }, '/definition/checks/1/type'],
    ['llm_judge', { output: { type: 'boolean' } }, '/definition/prompt'],
    ['llm_judge', { ...JUDGE, backend: 'oracle' }, '/definition/backend'],
    ['llm_judge', { ...JUDGE, output: { type: 'numeric', min: 2, max: 1 } }, '/definition/output/max'],
    [
      'llm_judge',
      { ...JUDGE, output: { type: 'choice', choices: [{ value: 'a', score: 1 }, { value: 'a' }] } },
      '/definition/output/choices/1/score',
    ],
    ['llm_judge', { ...JUDGE, samples: 0 }, '/definition/samples'],
    ['llm_judge', { ...JUDGE, temperature: 'hot' }, '/definition/temperature'],
    ['llm_judge', { backend: 'classifier', output: { type: 'boolean' } }, '/definition/output/type'],
    ['human', { output: { type: 'boolean' } }, '/definition/rubric'],
    ['human', { ...HUMAN, min_annotations: 0.5 }, '/definition/min_annotations'],
    [
      'human',
      { rubric: 'x', output: { type: 'questions', questions: [{ key: 'a', question: 'b', output: {} }] } },
      '/definition/output/questions/0/output/type',
    ],
  ])('are rejected with an invalid definition of kind %s: %j', async (scorer_kind, definition, pointer) => {
    const answer = await create({ scorer_kind, definition });
    expect(answer.status).toBe(400);
    expect(answer.body.code).toBe('invalid_request');
    expect(answer.body.errors.map((one: any) => one.pointer)).toContain(pointer);
  });

  it('are not changed by a PATCH with an invalid definition', async () => {
    const scorer = await newScorer();
    const answer = await editor.patch(pathOf(scorer), { definition: { checks: [] } });
    expect(answer.status).toBe(400);
    expect((await editor.get(pathOf(scorer))).body.scorer_version).toBe(1);
  });

  it('accept definitions of every kind', async () => {
    const questions = [{ key: 'polite', question: 'Polite?', output: { type: 'boolean' } }];
    const choices = [
      { value: 'good', score: 1, description: 'All is there.' },
      { value: 'bad', score: 0 },
    ];
    const created = await Promise.all([
      create({ name: '1', scorer_kind: 'llm_judge', definition: JUDGE }),
      create({
        name: '2',
        scorer_kind: 'llm_judge',
        definition: { backend: 'classifier', model: 'm', output: { type: 'choice', choices } },
      }),
      create({
        name: '3',
        scorer_kind: 'llm_judge',
        definition: {
          ...JUDGE,
          output: { type: 'questions', questions },
          reasoning: true,
          samples: 3,
          temperature: 0.5,
        },
      }),
      create({ name: '4', scorer_kind: 'human', definition: { ...HUMAN, min_annotations: 2 } }),
    ]);
    expect(created.map((one) => one.status)).toEqual([201, 201, 201, 201]);
  });

  it('are listed newest first, by name, kind, grain, tag and words', async () => {
    const exact = await newScorer({ name: 'exact match', tags: ['text'] });
    const judge = await newScorer({
      name: 'politeness',
      description: 'asks a judge',
      scorer_kind: 'llm_judge',
      definition: JUDGE,
      grain: 'session',
    });
    const ids = async (query: string) =>
      (await editor.get(`/eval/v1/scorers${query}`)).body.items.map((one: any) => one.scorer_id);
    expect(await ids('')).toEqual([judge.scorer_id, exact.scorer_id]);
    expect(await ids('?sort=name')).toEqual([exact.scorer_id, judge.scorer_id]);
    expect(await ids('?name=exact%20match')).toEqual([exact.scorer_id]);
    expect(await ids('?name=Exact%20match')).toEqual([]);
    expect(await ids('?name=exact')).toEqual([]);
    expect(await ids('?scorer_kind=llm_judge')).toEqual([judge.scorer_id]);
    expect(await ids('?grain=trace')).toEqual([exact.scorer_id]);
    expect(await ids('?tag=text')).toEqual([exact.scorer_id]);
    expect(await ids('?q=judg')).toEqual([judge.scorer_id]);
    expect((await editor.get('/eval/v1/scorers?kind=code')).status).toBe(400);
  });

  it('are read by viewers, changed by editors and archived by evaluators', async () => {
    const scorer = await newScorer();
    const viewer = await organization.as('viewer');
    expect((await viewer.get(pathOf(scorer))).status).toBe(200);
    expect((await create({ name: 'x' }, viewer)).status).toBe(403);
    expect((await viewer.patch(pathOf(scorer), { name: 'x' })).status).toBe(403);
    const refused = await editor.post(`${pathOf(scorer)}/archive`);
    expect(refused.status).toBe(403);
    expect(refused.body.code).toBe('access_denied');
  });

  it('are invisible to other organizations and workspaces', async () => {
    const scorer = await newScorer();
    const stranger = await (await newOrganization(app)).as('owner');
    for (const path of ['', '/versions', '/versions/1']) {
      expect((await stranger.get(pathOf(scorer) + path)).status).toBe(404);
    }
    expect((await stranger.patch(pathOf(scorer), { name: 'x' })).status).toBe(404);
    expect((await stranger.post(`${pathOf(scorer)}/archive`)).status).toBe(404);
    const elsewhere = (await organization.member('owner')).in(await organization.newWorkspace());
    expect((await elsewhere.get(pathOf(scorer))).status).toBe(404);
    expect((await elsewhere.get('/eval/v1/scorers')).body.items).toEqual([]);
  });
});
