import { sharedApp, newOrganization } from '#testing';
import { outcome, places } from './evaluation.harness';
import { ScoringFixture } from './scoring.fixture';

const HUMAN = { scorer_kind: 'human', definition: { rubric: 'Kind?', output: { type: 'boolean' } } };
const JUDGE = { scorer_kind: 'llm_judge', definition: { prompt: 'Kind?', output: { type: 'boolean' } } };
const UNKNOWN = 'rule_00000000000000000000000000';

describe('a scoring rule', () => {
  const app = sharedApp();
  let on: ScoringFixture;
  let scorer: any;
  let rules: string;

  beforeEach(async () => {
    on = await ScoringFixture.create(app);
    scorer = await on.scorer();
    rules = rulesOf(scorer);
  });

  const rulesOf = ({ scorer_id }: any): string => `/eval/v1/scorers/${scorer_id}/rules`;
  const create = (members: object = {}, path = rules, caller = on.evaluator) =>
    caller.post(path, { workspace_id: on.workspaceId, ...members });
  const made = async (members: object = {}): Promise<any> => {
    const answer = await create(members);
    expect(answer.status).toBe(201);
    return answer.body;
  };
  const patch = (rule: any, body: object, headers?: Record<string, string>) =>
    on.evaluator.patch(`${rules}/${rule.rule_id}`, body, headers);

  it('is created with its values and the defaults', async () => {
    const answer = await create();
    expect(answer.status).toBe(201);
    expect(answer.headers.get('location')).toBe(`${rules}/${answer.body.rule_id}`);
    expect(answer.headers.get('etag')).toBe('"1"');
    expect(answer.body).toEqual({
      rule_id: expect.stringMatching(/^rule_/),
      scorer_id: scorer.scorer_id,
      workspace_id: on.workspaceId,
      sample_rate: 1,
      filters: [],
      grain: 'trace',
      enabled: true,
      quiet_seconds: 60,
      enabled_at: expect.any(String),
      last_seen_at: null,
      seen_count: 0,
      chosen_count: 0,
      ordered_count: 0,
      last_run_at: null,
      last_score_run_id: null,
      last_error: null,
      max_cost_usd_per_day: null,
      pace: 'even',
      spent_today_usd: 0,
      sent_count: 0,
      skipped_count: 0,
      scored_count: 0,
      paused_until: null,
      last_paused_at: null,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      created_by: expect.any(String),
      archived_at: null,
    });
    const fields = {
      sample_rate: 0.25,
      filters: [
        { field: 'model', op: 'in', value: ['gpt', null] },
        { field: 'duration_ms', op: 'gte', value: 1.5 },
        { field: 'agent_version', op: 'eq', value: '1.2' },
      ],
      grain: 'session',
      enabled: false,
    };
    const { body } = await create(fields);
    expect(body).toMatchObject({ ...fields, quiet_seconds: 900 });
    const read = await on.evaluator.get(`${rules}/${body.rule_id}`);
    expect([read.body, read.headers.get('etag')]).toEqual([body, '"1"']);
  });

  it('takes the grain of its scorer', async () => {
    const sessions = await on.scorer({ grain: 'session' });
    expect((await create({}, rulesOf(sessions))).body).toMatchObject({
      grain: 'session',
      quiet_seconds: 900,
    });
  });

  it('is listed newest first until it is archived', async () => {
    const [first, second, third] = [await made(), await made(), await made()];
    const other = await on.scorer();
    await create({}, rulesOf(other));
    await on.evaluator.post(`${rules}/${second.rule_id}/archive`);
    const ids = async (query: string) => {
      const { body } = await on.evaluator.get(`${rules}?${query}`);
      return body.items.map((one: any) => one.rule_id);
    };
    expect(await ids('')).toEqual([third.rule_id, first.rule_id]);
    expect(await ids('sort=created_at&include_archived=true')).toEqual(
      [first, second, third].map(({ rule_id }) => rule_id),
    );
    await patch(first, { sample_rate: 0.5 });
    expect(await ids('sort=-updated_at')).toEqual([first.rule_id, third.rule_id]);
    const { body } = await on.evaluator.get(`${rules}?limit=1`);
    expect(body.page.total).toBe(2);
    expect(await ids(`limit=1&cursor=${body.page.next_cursor}`)).toEqual([first.rule_id]);
    expect(outcome(await on.evaluator.get(`${rules}?enabled=true`))).toEqual([400, 'invalid_query']);
  });

  it('is listed with the rules of all scorers of the workspace', async () => {
    const other = await on.scorer();
    const [first, second, off] = [
      await made(),
      (await create({}, rulesOf(other))).body,
      await made({ enabled: false, pace: 'greedy' }),
    ];
    const foreign = await ScoringFixture.create(app);
    await foreign.evaluator.post(rulesOf(await foreign.scorer()), { workspace_id: foreign.workspaceId });
    const viewer = await on.organization.as('viewer');
    const ids = async (query: string) => {
      const { body } = await viewer.get(`/eval/v1/scoring-rules?${query}`);
      return body.items.map((one: any) => one.rule_id);
    };
    expect(await ids('')).toEqual([off.rule_id, second.rule_id, first.rule_id]);
    expect(await ids(`scorer_id=${other.scorer_id}`)).toEqual([second.rule_id]);
    expect(await ids('enabled=false')).toEqual([off.rule_id]);
    expect(await ids('enabled=true&sort=updated_at')).toEqual([first.rule_id, second.rule_id]);
    expect(await ids('scorer_id=scr_x')).toEqual([]);
    await on.evaluator.post(`${rules}/${first.rule_id}/archive`);
    expect(await ids('enabled=true')).toEqual([second.rule_id]);
    expect(await ids('limit=2&include_archived=true')).toEqual([off.rule_id, second.rule_id]);
    expect(outcome(await viewer.get('/eval/v1/scoring-rules?enabled=maybe'))).toEqual([400, 'invalid_query']);
  });

  it('spends evenly by default, and rejects an unknown pace', async () => {
    const rule = await made({ pace: 'greedy' });
    expect(rule.pace).toBe('greedy');
    expect((await patch(rule, { pace: null })).body).toMatchObject({ pace: 'even' });
    expect(outcome(await create({ pace: 'slow' }))).toEqual([422, 'validation_failed']);
    expect(outcome(await patch(rule, { pace: 'slow' }))).toEqual([422, 'validation_failed']);
  });

  it('is changed by PATCH, which replaces its filters', async () => {
    const rule = await made({ filters: [{ field: 'status', op: 'eq', value: 'error' }], quiet_seconds: 5 });
    const filters = [{ field: 'model', op: 'eq', value: 'gpt' }];
    const changed = await patch(rule, { filters, sample_rate: 0.5 }, { 'if-match': '"1"' });
    expect(changed.status).toBe(200);
    expect(changed.headers.get('etag')).toBe('"2"');
    expect(changed.body).toMatchObject({ filters, sample_rate: 0.5, quiet_seconds: 5, enabled: true });
    expect(outcome(await patch(rule, { enabled: false }, { 'if-match': '"1"' }))).toEqual([
      412,
      'precondition_failed',
    ]);
    const same = await patch(rule, { filters, workspace_id: on.workspaceId, scorer_id: scorer.scorer_id });
    expect([same.status, same.headers.get('etag'), same.body]).toEqual([200, '"2"', changed.body]);
    const cleared = await patch(rule, { filters: null, quiet_seconds: null, grain: 'session' });
    const readBack = await patch(rule, { quiet_seconds: 900 });
    expect([readBack.headers.get('etag'), readBack.body]).toEqual(['"3"', cleared.body]);
    expect(cleared.body).toMatchObject({ filters: [], quiet_seconds: 900, grain: 'session' });
  });

  it('ignores earlier arrivals when it is enabled again', async () => {
    const rule = await made();
    const patched = await patch(rule, { sample_rate: 0.5 });
    expect(patched.body.enabled_at).toBe(rule.enabled_at);
    const disabled = await patch(rule, { enabled: false });
    expect(disabled.body).toMatchObject({ enabled: false, enabled_at: rule.enabled_at });
    const enabled = await patch(rule, { enabled: true });
    expect(Date.parse(enabled.body.enabled_at)).toBeGreaterThan(Date.parse(rule.enabled_at));
  });

  it('ignores earlier arrivals when it is restored', async () => {
    const rule = await made();
    const path = `${rules}/${rule.rule_id}`;
    const archived = await on.evaluator.post(`${path}/archive`);
    expect(archived.body.enabled_at).toBe(rule.enabled_at);
    const restored = await on.evaluator.post(`${path}/restore`);
    expect(restored.body).toMatchObject({ rule_id: rule.rule_id, enabled: true, archived_at: null });
    expect(Date.parse(restored.body.enabled_at)).toBeGreaterThan(Date.parse(rule.enabled_at));
  });

  it.each([
    ['a rate above 1', { sample_rate: 1.01 }, '/sample_rate'],
    ['a rate below 0', { sample_rate: -0.01 }, '/sample_rate'],
    ['a rate as text', { sample_rate: '1' }, '/sample_rate'],
    ['a quiet time of 0', { quiet_seconds: 0 }, '/quiet_seconds'],
    ['a quiet time of more than a day', { quiet_seconds: 86_401 }, '/quiet_seconds'],
    ['a quiet time that is not an integer', { quiet_seconds: 1.5 }, '/quiet_seconds'],
    ['`enabled` as text', { enabled: 'yes' }, '/enabled'],
    ['filters that are not a list', { filters: 'all' }, '/filters'],
    ['too many filters', { filters: Array(21).fill({ field: 'model', op: 'eq', value: 'm' }) }, '/filters'],
    ['a filter without a value', { filters: [{ field: 'model', op: 'eq' }] }, '/filters/0/value'],
    [
      'a text for a numeric filter',
      { filters: [{ field: 'cost_usd', op: 'gte', value: '1' }] },
      '/filters/0/value',
    ],
    ['a bound for a text filter', { filters: [{ field: 'model', op: 'gte', value: 'm' }] }, '/filters/0/op'],
    [
      'an `in` filter without a list',
      { filters: [{ field: 'model', op: 'in', value: 'm' }] },
      '/filters/0/value',
    ],
    [
      'bounds that exclude each other',
      {
        filters: [
          { field: 'span_count', op: 'gte', value: 2 },
          { field: 'span_count', op: 'lte', value: 1 },
        ],
      },
      '/filters/1/value',
    ],
    [
      'an unknown member of a filter',
      { filters: [{ field: 'model', op: 'eq', value: 'm', not: 1 }] },
      '/filters/0/not',
    ],
    ['a misspelt member', { filter: [] }, '/filter'],
  ])('is rejected with %s', async (_, members, place) => {
    const rule = await made();
    for (const answer of [await create(members), await patch(rule, members)]) {
      expect(outcome(answer)).toEqual([400, 'invalid_request']);
      expect(places(answer)).toEqual([place]);
    }
  });

  it.each([
    ['grain', { grain: 'span' }, '/grain'],
    ['field', { filters: [{ field: 'case_id', op: 'eq', value: 'c' }] }, '/filters/0/field'],
    ['operator', { filters: [{ field: 'model', op: 'ne', value: 'm' }] }, '/filters/0/op'],
    ['status', { filters: [{ field: 'status', op: 'in', value: ['ok', 'fine'] }] }, '/filters/0/value'],
  ])('is rejected with an unknown %s', async (_, members, place) => {
    const rule = await made();
    for (const answer of [await create(members), await patch(rule, members)]) {
      expect(outcome(answer)).toEqual([422, 'validation_failed']);
      expect(places(answer)).toEqual([place]);
    }
  });

  it('keeps its workspace and scorer', async () => {
    expect(outcome(await on.evaluator.post(rules, {}))).toEqual([400, 'invalid_request']);
    expect(outcome(await create({ workspace_id: 'wsp_x' }))).toEqual([400, 'invalid_request']);
    const rule = await made();
    expect(outcome(await patch(rule, { workspace_id: 'wsp_x' }))).toEqual([422, 'validation_failed']);
    expect(outcome(await patch(rule, { scorer_id: 'scr_x' }))).toEqual([422, 'immutable_field']);
    expect(outcome(await patch(rule, { rule_id: 'rule_x' }))).toEqual([422, 'immutable_field']);
  });

  it('is not found under another scorer', async () => {
    const rule = await made();
    const other = rulesOf(await on.scorer());
    for (const path of [
      `${other}/${rule.rule_id}`,
      `${rules}/${UNKNOWN}`,
      `${rulesOf({ scorer_id: 'scr_x' })}/${rule.rule_id}`,
    ]) {
      const answers = [
        await on.evaluator.get(path),
        await on.evaluator.patch(path, { enabled: false }),
        await on.evaluator.post(`${path}/archive`),
        await on.evaluator.post(`${path}/restore`),
      ];
      expect(answers.map(outcome)).toEqual(Array(4).fill([404, 'not_found']));
    }
    const nowhere = rulesOf({ scorer_id: 'scr_x' });
    expect(outcome(await create({}, nowhere))).toEqual([404, 'not_found']);
    expect(outcome(await on.evaluator.get(nowhere))).toEqual([404, 'not_found']);
  });

  it('is invisible to other organizations and workspaces', async () => {
    const rule = await made();
    const stranger = await ScoringFixture.create(app);
    const sibling = on.evaluator.in(await on.organization.newWorkspace());
    for (const caller of [stranger.evaluator, sibling]) {
      const answers = [
        await caller.get(rules),
        await caller.get(`${rules}/${rule.rule_id}`),
        await caller.patch(`${rules}/${rule.rule_id}`, { enabled: false }),
        await caller.post(`${rules}/${rule.rule_id}/archive`),
        await caller.post(rules, { workspace_id: caller.workspaceId }),
      ];
      expect(answers.map(outcome)).toEqual(Array(5).fill([404, 'not_found']));
    }
  });

  it('is read by viewers, and created, changed and archived by evaluators', async () => {
    const rule = await made();
    const path = `${rules}/${rule.rule_id}`;
    for (const role of ['viewer', 'editor'] as const) {
      const caller = await on.organization.as(role);
      expect((await caller.get(rules)).status).toBe(200);
      expect((await caller.get(path)).status).toBe(200);
      const refused = [
        await create({}, rules, caller),
        await caller.patch(path, { enabled: false }),
        await caller.post(`${path}/archive`),
      ];
      expect(refused.map(outcome)).toEqual(Array(3).fill([403, 'access_denied']));
    }
    const { status } = await (await on.organization.as('runtime')).get(rules);
    expect(status).toBe(403);
  });

  it('is rejected for human scorers, and for judges without a backend', async () => {
    const people = await on.scorer(HUMAN);
    expect(outcome(await create({}, rulesOf(people)))).toEqual([400, 'invalid_request']);
    const judge = rulesOf(await on.scorer(JUDGE));
    expect(outcome(await create({}, judge))).toEqual([503, 'service_unavailable']);
    expect((await on.evaluator.get(judge)).body.page.total).toBe(0);
  });

  it('is read-only once it or its scorer is archived', async () => {
    const rule = await made();
    const path = `${rules}/${rule.rule_id}`;
    const archived = await on.evaluator.post(`${path}/archive`);
    expect(archived.body).toMatchObject({ rule_id: rule.rule_id, archived_at: expect.any(String) });
    expect(archived.headers.get('etag')).toBe('"2"');
    expect((await on.evaluator.post(`${path}/archive`)).body).toEqual(archived.body);
    expect(outcome(await patch(rule, { enabled: false }))).toEqual([409, 'conflict']);
    expect((await on.evaluator.get(path)).body).toEqual(archived.body);

    const left = await made();
    await on.evaluator.post(`/eval/v1/scorers/${scorer.scorer_id}/archive`);
    expect(outcome(await create())).toEqual([409, 'conflict']);
    expect(outcome(await patch(left, { enabled: false }))).toEqual([409, 'conflict']);
    expect((await on.evaluator.post(`${rules}/${left.rule_id}/archive`)).status).toBe(200);
    expect(outcome(await on.evaluator.post(`${rules}/${left.rule_id}/restore`))).toEqual([409, 'conflict']);
  });

  it('is limited to 20 per scorer, even for concurrent requests', async () => {
    const answers = await Promise.all(Array.from({ length: 22 }, () => create()));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(20).fill(201), 409, 409]);
    const [one] = (await on.evaluator.get(rules)).body.items;
    await on.evaluator.post(`${rules}/${one.rule_id}/archive`);
    expect((await create()).status).toBe(201);
    expect(outcome(await create())).toEqual([409, 'conflict']);
    expect(outcome(await on.evaluator.post(`${rules}/${one.rule_id}/restore`))).toEqual([409, 'conflict']);
  });

  it('is created once per Idempotency-Key', async () => {
    const key = { 'idempotency-key': 'once' };
    const body = { workspace_id: on.workspaceId };
    const [first, again] = [
      await on.evaluator.post(rules, body, key),
      await on.evaluator.post(rules, body, key),
    ];
    expect(again.body).toEqual(first.body);
    expect((await on.evaluator.get(rules)).body.page.total).toBe(1);
  });

  it('is not found by another organization', async () => {
    const rule = await made();
    const { workspaceId } = await newOrganization(app);
    const answer = await on.evaluator.in(workspaceId).get(`${rules}/${rule.rule_id}`);
    expect(outcome(answer)).toEqual([409, 'conflict']);
  });
});
