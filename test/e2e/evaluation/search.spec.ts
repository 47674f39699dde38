import { type Answer, sharedApp } from '#testing';
import { type Dataset, EvaluationWorkspace, type Experiment, outcome, type Page } from './evaluation.harness';
import { DATASETS, EXPERIMENTS, search } from './search.fixture';

type Fields = Record<string, unknown>;

describe('search', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeEach(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  const items = <View>(answer: Answer<Page<View>>): View[] => {
    if (answer.status !== 200) throw new Error(`not searched: ${JSON.stringify(answer.body)}`);
    return answer.body.items;
  };
  const datasets = async (body: Fields) =>
    items(await search<Dataset>(space, DATASETS, body)).map((one) => one.name);
  const experiments = async (body: Fields) =>
    items(await search<Experiment>(space, EXPERIMENTS, body)).map((one) => one.experiment_name);
  const listed = async (path: string, query: Record<string, string>) =>
    (await space.list<Dataset & Experiment>(`${path}?${new URLSearchParams(query).toString()}`)).map(
      (one) => one.experiment_name ?? one.name,
    );
  /** Sets the creation time of a resource, so that tests need not wait. */
  const madeAt = (table: string, time: string, name: string) =>
    app.database.query(`UPDATE ${table} SET created_at = $1 WHERE name = $2 AND workspace_id = $3`, [
      time,
      name,
      space.id,
    ]);

  describe('of datasets', () => {
    it('returns pages like the list', async () => {
      for (const name of ['b', 'a', 'C']) await space.dataset({ name });
      const first = await search<Dataset>(space, DATASETS, { sort: 'name', limit: 2 });
      expect(first.body.items.map((one) => one.name)).toEqual(['C', 'a']);
      expect(first.body.page).toMatchObject({ limit: 2, offset: 0, total: 3 });
      const again = await search<Dataset>(space, DATASETS, {
        sort: 'name',
        limit: 2,
        cursor: first.body.page.next_cursor,
      });
      expect([again.body.items.map((one) => one.name), again.body.page.next_cursor]).toEqual([['b'], null]);
      const { body: list } = await space.viewer.get<Page<Dataset>>(DATASETS);
      expect((await search(space, DATASETS, {})).body).toEqual(list);
      expect(
        (await search(space, DATASETS, { workspace_id: space.id, cursor: null, sort: null, limit: null }))
          .body,
      ).toEqual(list);
      expect(await datasets({ offset: 1 })).toEqual(['a', 'b']);
      expect((await search(space, DATASETS, { limit: 0 })).body).toMatchObject({
        items: [],
        page: { total: 3 },
      });
      await space.archive(`${DATASETS}/${list.items[1]!.dataset_id}`);
      expect(await datasets({})).toEqual(['C', 'b']);
      expect(await datasets({ include_archived: true })).toEqual(['C', 'a', 'b']);
    });

    it('filters by words, name and tags together', async () => {
      await space.dataset({ name: 'one', description: 'sums of numbers', tags: ['a', 'b'] });
      await space.dataset({ name: 'two', description: 'sums', tags: ['b', 'c'] });
      expect(await datasets({ q: 'sum num' })).toEqual(['one']);
      expect(await datasets({ q: '' })).toEqual(['two', 'one']);
      expect(await datasets({ name: 'two' })).toEqual(['two']);
      expect(await listed(DATASETS, { name: 'two' })).toEqual(['two']);
      expect(await datasets({ tag: 'b' })).toEqual(['two', 'one']);
      expect(await datasets({ tags: ['b'] })).toEqual(['two', 'one']);
      expect(await datasets({ tags: ['b', 'a'] })).toEqual(['one']);
      expect(await datasets({ tags: [] })).toEqual(['two', 'one']);
      expect(await datasets({ tags: ['b'], tag: 'c', q: 'sums', name: 'one' })).toEqual([]);
    });

    it('matches every member of the given metadata', async () => {
      const metadata = {
        team: 'search',
        priority: 3,
        ratio: 1e308,
        tiny: 5e-324,
        draft: false,
        note: null,
        owner: { name: 'ada', mail: { work: 'a@x' } },
        labels: ['x', { k: 1 }, 'y'],
        '': 'empty',
        __proto: 1,
        'été 😀': '\u2028"\\',
      };
      await space.dataset({ name: 'held', metadata });
      await space.dataset({ name: 'other', metadata: { team: 'Search', owner: {} } });
      await space.dataset({ name: 'none' });
      const matches: Fields[] = [
        ...Object.entries(metadata).map(([member, value]) => ({ [member]: value })),
        metadata,
        { priority: 3.0, draft: false },
        { owner: { name: 'ada' } },
        { owner: { mail: { work: 'a@x' } }, team: 'search' },
        { labels: ['y', 'x'] },
        { labels: [{ k: 1 }] },
        { labels: [{}] },
        { labels: [] },
      ];
      for (const filter of matches)
        expect([filter, await datasets({ metadata: filter })]).toEqual([filter, ['held']]);
      expect(await datasets({ metadata: { owner: {} } })).toEqual(['other', 'held']);
      expect(await datasets({ metadata: {} })).toEqual(['none', 'other', 'held']);
      const mismatches: Fields[] = [
        { team: 'sear' },
        { priority: '3' },
        { ratio: 1e307 },
        { note: false },
        { missing: null },
        { owner: { name: 'ada', age: 1 } },
        { owner: 'ada' },
        { labels: 'x' },
        { labels: ['x', 'z'] },
        { name: 'ada' },
        JSON.parse('{"__proto__": {"x": 1}}') as Fields,
      ];
      for (const filter of mismatches)
        expect([filter, await datasets({ metadata: filter })]).toEqual([filter, []]);
    });

    it('reflects changes to metadata', async () => {
      const { dataset_id } = await space.dataset({ name: 'd', metadata: { stage: 'draft', keep: 1 } });
      await space.editor.patch(`${DATASETS}/${dataset_id}`, { metadata: { stage: 'final' } });
      expect(await datasets({ metadata: { stage: 'draft' } })).toEqual([]);
      expect(await datasets({ metadata: { stage: 'final', keep: 1 } })).toEqual(['d']);
    });

    it.each([
      ['datasets', DATASETS],
      ['experiments', EXPERIMENTS],
    ])('includes the start and excludes the end of a time range: %s', async (table, path) => {
      const times = {
        early: '2025-03-01T10:00:00.000Z',
        middle: '2025-03-01T10:00:00.500Z',
        late: '2025-03-01T10:00:01.000Z',
      };
      for (const [name, time] of Object.entries(times)) {
        await (path === DATASETS ? space.dataset({ name }) : space.experiment({ name }));
        await madeAt(table, time, name);
      }
      // The ids are from today. Bounds on ids would hide rows that were created in March.
      await app.database.query(
        `UPDATE ${table} SET ${table.slice(0, -1)}_id = overlay(${table.slice(0, -1)}_id placing '01jn8vw' from $1::int for 7) WHERE workspace_id = $2`,
        [path === DATASETS ? 4 : 5, space.id],
      );
      const within = async (bounds: Record<string, string>) => {
        const names = items(await search<Dataset>(space, path, bounds)).map((one) => one.name);
        expect(await listed(path, bounds)).toEqual(names);
        return names.reverse();
      };
      expect(await within({ since: times.middle })).toEqual(['middle', 'late']);
      expect(await within({ until: times.middle })).toEqual(['early']);
      expect(await within({ since: times.early, until: times.late })).toEqual(['early', 'middle']);
      expect(await within({ since: '2025-03-01T11:00:00.5+01:00' })).toEqual(['middle', 'late']);
      expect(await within({ since: '2025-03-01T10:00:00.5000001Z' })).toEqual(['late']);
      expect(await within({ until: '2025-03-01T10:00:00.5000001Z' })).toEqual(['early', 'middle']);
      expect(await within({ since: times.late, until: times.late })).toEqual([]);
      expect(await within({ since: '0000-01-01T00:00:00Z', until: '9999-12-31T23:59:59Z' })).toHaveLength(3);
    });
  });

  describe('of experiments', () => {
    it('takes every filter of the list', async () => {
      const { dataset_id } = await space.dataset();
      const base = await space.experiment({ name: 'base', experiment_name: 'base' });
      const fields = {
        dataset_id,
        subject_kind: 'skill',
        subject_id: 'skl_1',
        baseline_experiment_id: base.experiment_id,
        name: 'n',
      };
      await space.experiment({
        ...fields,
        experiment_name: 'all',
        tags: ['t', 'u'],
        config: { 'k:x': 'a:b' },
      });
      const frozen = await space.experiment({ ...fields, experiment_name: 'frozen words', tags: ['t'] });
      await space.finalize(frozen.experiment_id, { experiment_status: 'failed' });
      const filters: [Fields, string[]][] = [
        ...Object.entries(fields).map(([member, value]): [Fields, string[]] => [
          { [member]: value },
          ['frozen words', 'all'],
        ]),
        [{ experiment_status: 'failed' }, ['frozen words']],
        [{ experiment_status: 'completed' }, []],
        [{ tag: 't' }, ['frozen words', 'all']],
        [{ tags: ['u', 't'] }, ['all']],
        [{ q: 'words froz' }, ['frozen words']],
        [{ config: ['k:x:a:b'] }, ['all']],
        [{ config: { 'k:x': 'a:b' } }, ['all']],
        [{ sort: 'name' }, ['base', 'all', 'frozen words']],
        [{ sort: '-updated_at', limit: 1 }, ['frozen words']],
        [{ dataset_id: 'ds_x' }, []],
        [{ ...fields, experiment_status: 'running', tags: ['t'], q: 'all', config: ['k:x:a:b'] }, ['all']],
      ];
      for (const [body, names] of filters) {
        expect([body, await experiments(body)]).toEqual([body, names]);
        const { config, tags, ...others } = body as { config?: unknown; tags?: string[] };
        if (tags || (config && !Array.isArray(config))) continue;
        const query = Object.entries(others).map(([member, value]): [string, string] => [
          member,
          String(value),
        ]);
        const pairs = ((config as string[] | undefined) ?? []).map((pair): [string, string] => [
          'config',
          pair,
        ]);
        const path = `${EXPERIMENTS}?${new URLSearchParams([...query, ...pairs]).toString()}`;
        expect((await space.list<Experiment>(path)).map((one) => one.experiment_name)).toEqual(names);
      }
      expect((await search(space, EXPERIMENTS, {})).body).toEqual((await space.viewer.get(EXPERIMENTS)).body);
    });

    it('finds a config by its scalars, as pairs or members', async () => {
      const config = {
        model: 'vendor:m-1:latest',
        'a:b': 'c:d',
        temperature: 0.5,
        big: 1e21,
        minus: -0.25,
        stream: true,
        stop: null,
        empty: '',
        long: 'v'.repeat(300),
        'retrieval.top_k': 5,
      };
      await space.experiment({
        experiment_name: 'one',
        config: { ...config, retrieval: { depth: { 'x.y': 1 } } },
      });
      await space.experiment({ experiment_name: 'texts', config: { stream: 'true', temperature: '0.50' } });
      for (const [key, value] of Object.entries(config)) {
        const names = key === 'stream' ? ['texts', 'one'] : ['one'];
        expect([key, await experiments({ config: { [key]: value } })]).toEqual([key, names]);
        const pair = `${key}:${typeof value === 'number' ? JSON.stringify(value) : String(value)}`;
        expect([pair, await experiments({ config: [pair] })]).toEqual([pair, names]);
        expect(await listed(EXPERIMENTS, { config: pair })).toEqual(names);
      }
      expect(await experiments({ config: { 'retrieval.depth.x.y': 1, model: 'vendor:m-1:latest' } })).toEqual(
        ['one'],
      );
      expect(await experiments({ config: { 'retrieval.depth.x.y': 1, model: 'vendor' } })).toEqual([]);
      expect(await experiments({ config: {} })).toEqual(['texts', 'one']);
      expect(await experiments({ config: { big: 1e20 } })).toEqual([]);
    });

    it('finds a large integer in a config by its exact digits', async () => {
      const body = `{"workspace_id": "${space.id}", "name": "seeded", "config": {"seed": 1152921504606846976}}`;
      expect((await space.editor.post(EXPERIMENTS, body)).status).toBe(201);
      expect(await listed(EXPERIMENTS, { config: 'seed:1152921504606846976' })).toEqual(['seeded']);
      const answer = await space.viewer.post<Page<Experiment>>(
        `${EXPERIMENTS}/search`,
        '{"config": {"seed": 1152921504606846976}}',
      );
      expect(items(answer)).toHaveLength(1);
    });

    it('finds finalized experiments by the mean in their summary, with inclusive bounds', async () => {
      const run = async (experiment_name: string, scores: Fields[], status: string | null = 'completed') => {
        const { experiment_id: id } = await space.experiment({ experiment_name });
        await space.results(
          id,
          scores.map((one, i) => ({ case_id: `c${i}`, scores: one })),
        );
        return status === null ? null : space.finalize(id, { experiment_status: status });
      };
      await run('low', [{ exact: 0.25, tone: 1 }, { exact: 0.25 }]);
      const thirds = await run('thirds', [{ exact: 1 }, { exact: 0 }, { exact: false }, { exact: null }]);
      await run('failed high', [{ exact: true }], 'failed');
      await run('negative', [{ exact: -1e300 }]);
      await run('running', [{ exact: 0.5 }], null);
      await run('unscored', [{ exact: null }]);
      const by = (score: Fields) => experiments({ score, sort: 'created_at' });
      const mean = thirds!.summary!.scores!.exact!.mean;
      expect(await by({ scorer: 'exact', gte: 0.25 })).toEqual(['low', 'thirds', 'failed high']);
      expect(await by({ scorer: 'exact', lte: 0.25 })).toEqual(['low', 'negative']);
      expect(await by({ scorer: 'exact', gte: mean, lte: mean })).toEqual(['thirds']);
      expect(await by({ scorer: 'exact', gte: 0.26, lte: 1 })).toEqual(['thirds', 'failed high']);
      expect(await by({ scorer: 'exact' })).toEqual(['low', 'thirds', 'failed high', 'negative']);
      expect(await by({ scorer: 'tone' })).toEqual(['low']);
      const typo = await search(space, EXPERIMENTS, { score: { scorer: 'Exact' } });
      expect([typo.status, typo.body]).toMatchObject([422, { errors: [{ pointer: '/score/scorer' }] }]);
      const both = { score: { scorer: 'exact', gte: 0 }, experiment_status: 'failed' };
      expect(await experiments(both)).toEqual(['failed high']);
      expect((await search(space, EXPERIMENTS, { ...both, limit: 0 })).body.page.total).toBe(1);
    });

    it('matches every member of the given metadata', async () => {
      await space.experiment({
        experiment_name: 'held',
        metadata: { commit: { id: 'abc', dirty: false }, n: [1, 2] },
      });
      await space.experiment({ experiment_name: 'other', metadata: { commit: 'abc' } });
      expect(await experiments({ metadata: { commit: { id: 'abc' }, n: [2] } })).toEqual(['held']);
      expect(await experiments({ metadata: { commit: 'abc' } })).toEqual(['other']);
    });
  });

  it('is allowed for viewers, and finds nothing of other workspaces', async () => {
    const fields = { tags: ['t'], metadata: { m: 1 } };
    await space.dataset(fields);
    const { experiment_id } = await space.experiment(fields);
    await space.result(experiment_id, { scores: { exact: 1 } });
    await space.finalize(experiment_id);
    const stranger = (await EvaluationWorkspace.open(app)).viewer;
    for (const caller of [stranger, await space.sibling()]) {
      const scored = await search(space, EXPERIMENTS, { score: { scorer: 'exact' } }, caller);
      expect(scored.status).toBe(422);
      for (const [path, bodies] of Object.entries({
        [DATASETS]: [{}, { tags: ['t'] }, { metadata: { m: 1 } }],
        [EXPERIMENTS]: [{}, { metadata: { m: 1 } }, { q: 'evaluation' }],
      })) {
        for (const body of bodies) {
          expect((await search(space, path, body, caller)).body).toMatchObject({
            items: [],
            page: { total: 0 },
          });
        }
      }
    }
    for (const path of [DATASETS, EXPERIMENTS]) {
      const runtime = await space.organization.as('runtime');
      expect(outcome(await search(space, path, {}, runtime))).toEqual([403, 'access_denied']);
    }
  });
});
