import { type Answer, type ApiClient, sharedJudge } from '#testing';
import { AgreementFixture } from './agreement.fixture';
import { type Experiment, outcome, type Page, places, type Result } from './evaluation.harness';
import { BOOLEAN, type HumanScore as Score, SCORES, STARS, SURVEY, TONE } from './human-scores.fixture';

type Fields = Record<string, unknown>;

describe('the scores of a workspace', () => {
  const service = sharedJudge();
  let fixture: AgreementFixture;
  let runtime: ApiClient;

  beforeEach(async () => {
    fixture = await AgreementFixture.open(service.app);
    runtime = await fixture.space.organization.as('runtime');
  });

  const post = (fields: Fields, by: ApiClient = fixture.space.evaluator): Promise<Answer<Score>> =>
    by.post<Score>(SCORES, { workspace_id: fixture.space.id, ...fields });
  const score = async (fields: Fields, by?: ApiClient): Promise<Score> => {
    const answer = await post(fields, by);
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  };
  const listed = async (query: string): Promise<Score[]> => fixture.space.list<Score>(`${SCORES}?${query}`);
  const idsOf = async (query: string): Promise<string[]> =>
    (await listed(query)).map(({ score_id }) => score_id);
  const outcomeOf = async (fields: Fields, by?: ApiClient): Promise<unknown[]> => {
    const answer = await post(fields, by);
    return [...outcome(answer), ...places(answer)];
  };
  const run = async (scorerId: string, body: Fields): Promise<void> => {
    const { evaluator, viewer } = fixture.space;
    const started = await evaluator.post(`/eval/v1/scorers/${scorerId}/score`, body);
    expect(started.status).toBe(202);
    const path = started.headers.get('location')!;
    for (;;) {
      const { run_status } = (await viewer.get<{ run_status: string }>(path)).body;
      if (run_status === 'succeeded') return;
      if (run_status === 'failed') throw new Error('the run failed');
      await new Promise((then) => setTimeout(then, 50));
    }
  };
  const resultOf = ({ experiment_id, result_id }: Result): Promise<Result> =>
    fixture.on.result({ experiment_id, result_id });

  it('supersede scores that were recorded under a name before a scorer had that name', async () => {
    const trace_id = await fixture.on.exportTrace('talk');
    const thumb = { scorer_name: 'thumbs', trace_id, source: 'end_user', author: 'user 7' };
    const before = await score({ ...thumb, score: true }, runtime);
    const other = await score({ ...thumb, author: 'user 8', score: true }, runtime);
    const scorer = {
      name: 'thumbs',
      scorer_kind: 'human',
      definition: { rubric: 'Good?', output: { type: 'boolean' } },
    };
    const { scorer_id } = (await fixture.space.post<{ scorer_id: string }>('/eval/v1/scorers', scorer)).body;
    const after = await score({ ...thumb, score: false }, runtime);
    expect([after.scorer_id, after.supersedes_score_id]).toEqual([scorer_id, before.score_id]);
    expect(await idsOf('scorer_name=thumbs')).toEqual([after.score_id, other.score_id]);
  });

  it('are in one list, whatever their source', async () => {
    const { on, space } = fixture;
    const judge = await fixture.code();
    const person = await on.scorer(STARS);
    const trace_id = await on.exportTrace('talk');
    const { experiment_id } = await space.experiment();
    const result = await space.result(experiment_id, {
      trace_id,
      session_id: 'talk',
      output: 'yes',
      scores: { exact: { score: 0.5, comment: 'half', label: 'near', metadata: { a: 1 } } },
    });
    await run(judge.scorer_id, { experiment_id });
    await on.score(person, { result_id: result.result_id, score: 4 });
    await score({ scorer_name: 'thumbs', trace_id, score: true, author: 'user 7' }, runtime);
    await score({ scorer_name: 'latency', trace_id, score: 12.5 });

    const all = await listed(`trace_id=${trace_id}&sort=created_at`);
    const ofResult = { target_kind: 'result', trace_id, session_id: 'talk', experiment_id, result_id: result.result_id, case_id: result.case_id };
    const ofTrace = { target_kind: 'trace', trace_id, session_id: 'talk', experiment_id: null, result_id: null, case_id: null };
    expect(all).toEqual([
      expect.objectContaining({ ...ofResult, source: 'client', scorer_name: 'exact', scorer_id: null, scorer_kind: null, scorer_version: null, score: 0.5, comment: 'half', label: 'near', metadata: { a: 1 }, created_by: space.editorId }),
      expect.objectContaining({ ...ofResult, source: 'hosted', scorer_name: judge.name, scorer_id: judge.scorer_id, scorer_kind: 'code', scorer_version: 1, score: 1, score_run_id: expect.stringMatching(/^run_/) as string }),
      expect.objectContaining({ ...ofResult, source: 'human', scorer_name: person.name, scorer_kind: 'human', scorer_version: 1, score: 4, created_by: on.ann.id }),
      expect.objectContaining({ ...ofTrace, source: 'end_user', scorer_name: 'thumbs', scorer_id: null, score: 1, author: 'user 7' }),
      expect.objectContaining({ ...ofTrace, source: 'client', scorer_name: 'latency', scorer_id: null, score: 12.5, author: null }),
    ]);
    const filters: [string, number[]][] = [
      ['source=hosted', [1]],
      ['source=client', [4, 0]],
      ['target_kind=trace', [4, 3]],
      ['target_kind=result&source=client', [0]],
      ['scorer_kind=human', [2]],
      [`scorer_id=${judge.scorer_id}`, [1]],
      [`scorer_id=${judge.scorer_id}&scorer_version=2`, []],
      ['scorer_name=thumbs', [3]],
      [`experiment_id=${experiment_id}`, [2, 1, 0]],
      [`result_id=${result.result_id}&source=human`, [2]],
      [`case_id=${encodeURIComponent(result.case_id)}`, [2, 1, 0]],
      ['session_id=talk', [4, 3, 2, 1, 0]],
      ['author=user%207', [3]],
      ['label=near', [0]],
      [`score_run_id=${all[1]!.score_run_id}`, [1]],
      [`created_by=${on.ann.id}`, [2]],
      ['min_score=1&max_score=4', [3, 2, 1]],
      ['max_score=0.5', [0]],
      [`since=${all[4]!.created_at}`, [4]],
      [`until=${all[1]!.created_at}`, [0]],
      [`trace_id=${trace_id}&scorer_name=latency`, [4]],
    ];
    for (const [query, places] of filters) {
      expect([query, await idsOf(query)]).toEqual([query, places.map((place) => all[place]!.score_id)]);
    }
  }, 120_000); // oxfmt-ignore

  it('list the three worst traces of a day in one request', async () => {
    const { on } = fixture;
    const values = [0.9, 0.1, 0.5, 0.3, 0.7];
    const traces: string[] = [];
    for (const value of values) {
      const trace_id = await on.exportTrace();
      traces.push(trace_id);
      await score({ scorer_name: 'helpful', trace_id, score: value });
      await score({ scorer_name: 'other', trace_id, score: -value });
    }
    const today = new Date().toISOString().slice(0, 10);
    const worst = await listed(`scorer_name=helpful&since=${today}T00:00:00Z&sort=score&limit=3`);
    expect(worst.map(({ trace_id }) => trace_id)).toEqual([traces[1], traces[3], traces[2]]);
    const best = await listed('scorer_name=helpful&sort=-score&max_score=0.8&limit=2');
    expect(best.map((one) => one.score)).toEqual([0.7, 0.5]);
    expect(await listed(`scorer_name=helpful&until=${today}T00:00:00Z&sort=score`)).toEqual([]);
  });

  it('are listed in pages, by time or by score, each exactly once', async () => {
    const trace_id = await fixture.on.exportTrace();
    const values = [3, 1, 2, 1, 3, 2, 1];
    for (const [i, value] of values.entries()) {
      await score({ scorer_name: 's', trace_id, score: value, author: `a${i}` });
    }
    await score({ scorer_name: 's', trace_id, score: null, author: 'abstains' });
    for (const [query, expected] of [
      ['scorer_name=s&sort=score', [1, 1, 1, 2, 2, 3, 3]],
      ['scorer_name=s&sort=-score', [3, 3, 2, 2, 1, 1, 1]],
      ['scorer_name=s&sort=created_at', [...values, null]],
    ] as const) {
      const seen: Score[] = [];
      let cursor = '';
      do {
        const { body } = await fixture.space.viewer.get<Page<Score>>(`${SCORES}?${query}&limit=2${cursor}`);
        expect([query, body.page.total]).toEqual([query, expected.length]);
        seen.push(...body.items);
        cursor = body.page.next_cursor === null ? '' : `&cursor=${body.page.next_cursor}`;
      } while (cursor !== '');
      expect(seen.map((one) => one.score)).toEqual(expected);
      expect(new Set(seen.map((one) => one.score_id)).size).toBe(seen.length);
    }
  });

  it('are sorted by score over all scorers, without superseded scores and nulls', async () => {
    const trace_id = await fixture.on.exportTrace();
    for (const [scorer_name, value] of [['a', 3], ['b', 1], ['c', null], ['b', 2], ['a', -1]] as const) {
      await score({ scorer_name, trace_id, score: value, author: `${value}` });
    }
    await score({ scorer_name: 'b', trace_id, score: 5, author: '1' });
    const byScore = async (query: string) => (await listed(query)).map((one) => [one.scorer_name, one.score]);
    const ascending = [['a', -1], ['b', 2], ['a', 3], ['b', 5]];
    expect(await byScore('sort=score')).toEqual(ascending);
    expect(await byScore('sort=-score')).toEqual([...ascending].reverse());
    expect(await byScore('sort=score&min_score=0&author=3')).toEqual([['a', 3]]);
    const { body } = await fixture.space.viewer.get<Page<Score>>(`${SCORES}?sort=-score&limit=3`);
    expect(await byScore(`sort=-score&limit=3&cursor=${body.page.next_cursor}`)).toEqual([['a', -1]]);
  }); // oxfmt-ignore

  it('are filtered by every member that the list shows', async () => {
    const trace_id = await fixture.on.exportTrace();
    const survey = await fixture.on.scorer(SURVEY);
    const answers = { tone: 'kind', right: true, stars: 4 };
    const answered = await fixture.on.score(survey, { trace_id, answers, comment: 'Say “50%_ off” \\o/' });
    const metadata = { build: { branch: 'main', id: 12345678901234567000 }, tags: ['a', 'b'], 'zero\0': 1 };
    const measured = await score({ scorer_name: 'm', trace_id, score: 1, metadata, comment: 'ÄRGER' });
    const corrected = await score({ scorer_name: 'm', trace_id, score: 0 });
    const includes = async (query: Record<string, string>) =>
      idsOf(new URLSearchParams({ include_superseded: 'true', ...query }).toString());
    const filters: [Record<string, string>, Score[]][] = [
      [{ comment: '50%_ OFF' }, [answered]],
      [{ comment: '\\o/' }, [answered]],
      [{ comment: '50__' }, []],
      [{ comment: 'ärger' }, [measured]],
      [{ answers: '{"tone": "kind"}' }, [answered]],
      [{ answers: '{"stars": 4.0, "right": true}' }, [answered]],
      [{ answers: '{"tone": "rude"}' }, []],
      [{ answers: '{}' }, [answered]],
      [{ metadata: '{"build": {"branch": "main"}}' }, [measured]],
      [{ metadata: '{"tags": ["b"]}' }, [measured]],
      [{ metadata: '{"build": {"id": 1e300}}' }, []],
      [{ metadata: '{"build": "main"}' }, []],
      [{ metadata: '{"zero\\u0000": 1}' }, [measured]],
      [{ metadata: '{"build": {}}', comment: 'ärger', answers: '{}' }, []],
      [{ supersedes_score_id: measured.score_id }, [corrected]],
      [{ superseded_by_score_id: corrected.score_id }, [measured]],
      [{ is_truncated: 'true' }, []],
      [{ is_truncated: 'false', trace_id, scorer_name: 'm' }, [corrected, measured]],
    ];
    for (const [query, expected] of filters) {
      expect([query, await includes(query)]).toEqual([query, expected.map(({ score_id }) => score_id)]);
    }
    const { experiment_id } = await fixture.space.experiment();
    const result = await fixture.space.result(experiment_id, { scores: { s: 1 } });
    expect(await listed(`result_version=1&result_id=${result.result_id}`)).toHaveLength(1);
    expect(await listed('result_version=2')).toEqual([]);
    for (const name of ['model', 'judge_digest', 'span_id']) expect(await listed(`${name}=x`)).toEqual([]);
    for (const query of ['metadata=1', 'metadata=x', 'answers=[]', 'comment=', 'answers={"a":NaN}', 'result_version=0', 'is_truncated=x']) {
      const answer = await fixture.space.viewer.get(`${SCORES}?${query}`);
      expect([query, ...outcome(answer)]).toEqual([query, 400, 'invalid_query']);
    }
  }); // oxfmt-ignore

  it('are rejected for wrong filters and sorts (400, 422)', async () => {
    const { viewer } = fixture.space;
    expect(outcome(await viewer.get(`${SCORES}?sort=name`))).toEqual([422, 'validation_failed']);
    expect(outcome(await viewer.get(`${SCORES}?source=judge`))).toEqual([422, 'validation_failed']);
    for (const query of ['min_score=x', 'min_score=2&max_score=1', 'since=yesterday', 'scorer_version=0', 'scorer=x']) {
      expect([query, ...outcome(await viewer.get(`${SCORES}?${query}`))]).toEqual([query, 400, 'invalid_query']);
    }
  }); // oxfmt-ignore

  describe('of hosted scoring', () => {
    it('supersede the earlier score of the same version and target, even if several runs score it concurrently', async () => {
      const { on } = fixture;
      const judge = await fixture.code();
      const trace_id = await on.exportTrace();
      await run(judge.scorer_id, { trace_ids: [trace_id] });
      await Promise.all([1, 2, 3].map(() => run(judge.scorer_id, { trace_ids: [trace_id] })));
      const [current, ...others] = await listed(`trace_id=${trace_id}`);
      expect(others).toEqual([]);
      const all = await listed(`trace_id=${trace_id}&include_superseded=true`);
      expect(all).toHaveLength(4);
      expect(new Set(all.flatMap((one) => one.supersedes_score_id ?? [])).size).toBe(3);
      expect(all.filter((one) => one.superseded_at === null)).toEqual([current]);
    }, 120_000);

    it('of results never hide a score of the trace itself from lists of traces', async () => {
      const { on, space } = fixture;
      const [good, bad, unscored] = [await on.exportTrace(), await on.exportTrace(), await on.exportTrace()];
      const scores: [string, number][] = [[good, 1], [bad, 0]]; // oxfmt-ignore
      for (const [trace_id, value] of scores) await score({ scorer_name: 'N', trace_id, score: value });
      const { experiment_id } = await space.experiment();
      for (const [trace_id, value] of [...scores, [unscored, 0.4] as const]) {
        await space.result(experiment_id, { trace_id, scores: { N: 1 - value, other: 0.5 } });
      }
      const traces = (query: string) =>
        space.list<{ trace_id: string; scores: Score[] }>(`/telemetry/v1/traces?${query}`);
      const idsFor = async (query: string) => (await traces(query)).map(({ trace_id }) => trace_id);
      expect(await idsFor('score=N:lte:0.5')).toEqual([bad]);
      expect((await idsFor('score=N:gte:0.6')).sort()).toEqual([good, unscored].sort());
      expect(await idsFor('sort=score:N')).toEqual([bad, unscored, good]);
      expect(await idsFor('sort=-score:N')).toEqual([good, unscored, bad]);
      expect(await idsFor('sort=score:N&since=2000-01-01T00:00:00Z')).toEqual([bad, unscored, good]);
      expect(await idsFor('score=other:eq:0.5')).toHaveLength(3);
      const shown = new Map((await traces('limit=10')).map((one) => [one.trace_id, one.scores]));
      const shownOf = (id: string) =>
        shown
          .get(id)!
          .map((one) => [one.scorer_name, one.score])
          .sort();
      expect(shownOf(good)).toEqual([['N', 1], ['other', 0.5]]); // oxfmt-ignore
      expect(shownOf(bad)).toEqual([['N', 0], ['other', 0.5]]); // oxfmt-ignore
      expect(shownOf(unscored)).toEqual([['N', 0.6], ['other', 0.5]]); // oxfmt-ignore
    });

    it('remain current for an older version, but traces are sorted by the scores of the newest version', async () => {
      const { on, space } = fixture;
      const judge = await fixture.code('function score() { return 0.2 }');
      const [both, one] = [await on.exportTrace(), await on.exportTrace()];
      await run(judge.scorer_id, { trace_ids: [both] });
      const source = (value: number) => ({
        language: 'javascript',
        source: `function score() { return ${value} }`,
      });
      await space.editor.patch(`/eval/v1/scorers/${judge.scorer_id}`, { definition: source(0.8) });
      await run(judge.scorer_id, { trace_ids: [both] });
      await space.editor.patch(`/eval/v1/scorers/${judge.scorer_id}`, { definition: source(0.5) });
      await run(judge.scorer_id, { trace_ids: [one] });
      expect(await listed(`trace_id=${both}`)).toHaveLength(2);
      const name = encodeURIComponent(judge.name);
      const worst = await space.list<{ trace_id: string }>(`/telemetry/v1/traces?sort=score:${name}`);
      expect(worst.map(({ trace_id }) => trace_id)).toEqual([one, both]);
      expect(await space.list(`/telemetry/v1/traces?score=${name}:lte:0.3`)).toEqual([]);
    }, 120_000);
  });

  describe('that a client records', () => {
    it('supersede the earlier score of the same author only', async () => {
      const trace_id = await fixture.on.exportTrace();
      const first = await score({ scorer_name: 's', trace_id, score: 1 });
      const byA = await score({ scorer_name: 's', trace_id, score: 2, author: 'a' });
      const byB = await score({ scorer_name: 's', trace_id, score: 3, author: 'b' });
      const again = await score({ scorer_name: 's', trace_id, score: 4, author: 'a' });
      expect([first, byA, byB, again].map((one) => one.supersedes_score_id)).toEqual([null, null, null, byA.score_id]);
      expect(await idsOf('scorer_name=s')).toEqual([again.score_id, byB.score_id, first.score_id]);
      const other = await score({ scorer_name: 's', trace_id, score: 5 }, fixture.on.ann.api);
      const asUser = await score({ scorer_name: 's', trace_id, score: 6, author: 'a', source: 'end_user' });
      expect([other, asUser].map((one) => one.supersedes_score_id)).toEqual([null, null]);
      const past = await listed('scorer_name=s&include_superseded=true&author=a&source=client');
      expect(past.map(({ score_id, superseded_by_score_id }) => [score_id, superseded_by_score_id])).toEqual([
        [again.score_id, null],
        [byA.score_id, again.score_id],
      ]);
    }); // oxfmt-ignore

    it('form one chain when one author sends many at the same time', async () => {
      const trace_id = await fixture.on.exportTrace();
      const made = await Promise.all(
        Array.from({ length: 12 }, (_, i) => score({ scorer_name: 's', trace_id, score: i, author: 'a' })),
      );
      const superseded = made.flatMap((one) => one.supersedes_score_id ?? []);
      expect(new Set(superseded).size).toBe(11);
      expect(await listed('scorer_name=s')).toHaveLength(1);
    });

    it('can name a scorer, and then have its id but no version', async () => {
      const judge = await fixture.judge({ type: 'numeric', min: 0, max: 10 });
      const trace_id = await fixture.on.exportTrace();
      expect(await score({ scorer_name: judge.name, trace_id, score: 7 })).toMatchObject({
        scorer_id: judge.scorer_id,
        scorer_name: judge.name,
        scorer_version: null,
        scorer_kind: 'llm_judge',
        source: 'client',
      });
      await fixture.space.archive(`/eval/v1/scorers/${judge.scorer_id}`);
      expect(await outcomeOf({ scorer_id: judge.scorer_id, trace_id, score: 7 })).toEqual([409, 'conflict']);
      expect(await score({ scorer_name: judge.name, trace_id, score: 70 })).toMatchObject({
        scorer_id: null,
      });
    });

    it('are rejected if they are outside the range of the scorer (400, 422)', async () => {
      const trace_id = await fixture.on.exportTrace();
      const numeric = await fixture.judge({ type: 'numeric', min: 1, max: 5 });
      const truth = await fixture.judge(BOOLEAN);
      const choice = await fixture.judge(TONE);
      const outcomeBy = (scorer: { scorer_id: string }, fields: Fields) =>
        outcomeOf({ scorer_id: scorer.scorer_id, trace_id, ...fields });
      for (const value of [0.99, 5.01, 1e308]) {
        expect(await outcomeBy(numeric, { score: value })).toEqual([400, 'invalid_request', '/score']);
      }
      expect(await outcomeBy(truth, { score: 1.5 })).toEqual([400, 'invalid_request', '/score']);
      expect(await outcomeBy(choice, { score: -2 })).toEqual([400, 'invalid_request', '/score']);
      expect(await outcomeBy(choice, { label: 'kind', score: 0.5 })).toEqual([400, 'invalid_request', '/score']);
      expect(await outcomeBy(choice, { label: 'loud' })).toEqual([422, 'validation_failed', '/label']);
      expect(await score({ scorer_id: choice.scorer_id, trace_id, label: 'curt' })).toMatchObject({ score: 0.25 });
      expect(await score({ scorer_id: truth.scorer_id, trace_id, score: 0.7 })).toMatchObject({ score: 0.7 });
      expect(await listed('')).toHaveLength(2);
    }); // oxfmt-ignore

    it.each<[string, Fields, string[]]>([
      ['NaN', { score: 'NaN' }, ['/score']],
      ['a list', { score: [1] }, ['/score']],
      ['no value', {}, ['']],
      ['an author of 256 characters', { score: 1, author: 'a'.repeat(256) }, ['/author']],
      ['an empty author', { score: 1, author: '' }, ['/author']],
      ['a label of 256 characters', { score: 1, label: 'l'.repeat(256) }, ['/label']],
      ['answers over 16 KiB', { score: 1, answers: { a: 'x'.repeat(17_000) } }, ['/answers']],
      ['both the id and the name of a scorer', { score: 1, scorer_id: 'scr_x' }, ['/scorer_name']],
      ['no scorer', { score: 1, scorer_name: null }, ['']],
      ['a version of an unknown scorer name', { score: 1, scorer_version: 1 }, ['/scorer_version']],
      ['the source human without a human scorer', { score: 1, source: 'human' }, ['/source']],
    ])('are rejected with %s (400)', async (_, fields, pointers) => {
      const trace_id = await fixture.on.exportTrace();
      expect(await outcomeOf({ scorer_name: 's', trace_id, ...fields })).toEqual([
        400,
        'invalid_request',
        ...pointers,
      ]);
      expect(await listed('')).toEqual([]);
    });

    it('are rejected with NaN or Infinity in the JSON (400), or with the source hosted (422)', async () => {
      const trace_id = await fixture.on.exportTrace();
      for (const number of ['NaN', 'Infinity', '1e999']) {
        const body = `{"workspace_id": "${fixture.space.id}", "scorer_name": "s", "trace_id": "${trace_id}", "score": ${number}}`;
        const answer = await fixture.space.evaluator.post(SCORES, Buffer.from(body), {
          'Content-Type': 'application/json',
        });
        expect([number, ...outcome(answer)]).toEqual([number, 400, 'invalid_request']);
      }
      expect(await outcomeOf({ scorer_name: 's', trace_id, score: 1, source: 'hosted' })).toEqual([
        422,
        'validation_failed',
        '/source',
      ]);
    });

    it('are rejected for sessions of another organization like for unknown ones (404)', async () => {
      const stranger = await AgreementFixture.open(service.app);
      await stranger.on.exportTrace('theirs');
      for (const target of [{ session_id: 'theirs' }, { session_id: 'nobody' }]) {
        expect((await outcomeOf({ scorer_name: 's', score: 1, ...target })).slice(0, 2)).toEqual([404, 'not_found']);
        expect((await outcomeOf({ scorer_name: 's', score: 1, ...target }, runtime)).slice(0, 2)).toEqual([404, 'not_found']);
      }
      expect(await listed('include_superseded=true')).toEqual([]);
    }); // oxfmt-ignore
  });

  describe('that a client records for a result', () => {
    const summaryOf = async (id: string): Promise<Experiment> =>
      (await fixture.space.viewer.get<Experiment>(`/eval/v1/experiments/${id}`)).body;
    const compared = async (id: string, baseline: string) => {
      const path = `/eval/v1/experiments/${id}/compare?baseline_experiment_id=${baseline}&allow_version_mismatch=true`;
      const { body } = await fixture.space.viewer.get(path);
      return body.scorers as Record<string, { mean: number | null; late_score_count?: number }>;
    };

    it('appear in the result while the experiment runs, and count in its summary', async () => {
      const { space } = fixture;
      const { experiment_id } = await space.experiment();
      const result = await space.result(experiment_id, { scores: { own: 0 } });
      await score({ scorer_name: 'added', result_id: result.result_id, score: 0.25, comment: 'why', label: 'low' });
      await score({ scorer_name: 'own', result_id: result.result_id, score: 1 });
      const now = await resultOf(result);
      expect(now.scores).toEqual({ own: 1, added: 0.25 });
      expect(now.score_details).toEqual({ added: { comment: 'why', label: 'low' } });
      const { summary } = await space.finalize(experiment_id);
      expect(summary!.scores).toEqual({ own: { mean: 1, count: 1 }, added: { mean: 0.25, count: 1 } });
    }); // oxfmt-ignore

    it('count after the experiment is finalized, but not in its summary', async () => {
      const { space } = fixture;
      const [baseline, experiment] = [await space.experiment(), await space.experiment()];
      const before = await space.result(baseline.experiment_id, { case_id: 'c', scores: { s: 1 } });
      const result = await space.result(experiment.experiment_id, { case_id: 'c', scores: { s: 0 } });
      await space.finalize(baseline.experiment_id);
      await space.finalize(experiment.experiment_id);
      const [shown, finalized] = [await resultOf(result), await summaryOf(experiment.experiment_id)];
      expect(finalized).toMatchObject({ current_scores: { s: { mean: 0, count: 1 } }, late_count: 0 });
      const late = await score({ scorer_name: 's', result_id: result.result_id, score: 0.5 });
      expect(await resultOf(result)).toEqual({ ...shown, scores: { s: 0.5 } });
      expect(await summaryOf(experiment.experiment_id)).toEqual({
        ...finalized,
        current_scores: { s: { mean: 0.5, count: 1 } },
        late_count: 1,
      });
      expect(await idsOf(`experiment_id=${experiment.experiment_id}`)).toContain(late.score_id);
      expect(JSON.stringify(await compared(experiment.experiment_id, baseline.experiment_id))).toContain(
        '0.5',
      );
      expect((await resultOf(before)).scores).toEqual({ s: 1 });
    });

    it('are superseded when the result is patched or replaced, and remain readable', async () => {
      const { space } = fixture;
      const { experiment_id } = await space.experiment();
      const result = await space.result(experiment_id, { case_id: 'c', scores: { s: 1, kept: 1 } });
      const path = `/eval/v1/experiments/${experiment_id}/results`;
      const [ofS] = await listed('scorer_name=s');
      await space.editor.patch(`${path}/${result.result_id}`, { scores: { s: 2 } });
      const [patched] = await listed('scorer_name=s');
      expect((await listed('scorer_name=s')).map((one) => one.score)).toEqual([2]);
      const old = await space.viewer.get<Score>(`${SCORES}/${ofS!.score_id}`);
      expect(old.body).toMatchObject({ score: 1, superseded_by_score_id: patched!.score_id });
      await space.post(path, { case_id: 'c', scores: { s: 3 }, on_conflict: 'replace' });
      expect((await listed('')).map((one) => [one.scorer_name, one.score])).toEqual([['s', 3]]);
      const all = await listed('include_superseded=true&sort=created_at');
      expect(all.map((one) => [one.scorer_name, one.score, one.superseded_at !== null])).toEqual([
        ['s', 1, true],
        ['kept', 1, true],
        ['s', 2, true],
        ['s', 3, false],
      ]);
    });

    it('are not superseded by those of another author, but the newest is the current one', async () => {
      const { space } = fixture;
      const { experiment_id } = await space.experiment();
      const result = await space.result(experiment_id, { scores: { s: 0 } });
      const path = `/eval/v1/experiments/${experiment_id}/results/${result.result_id}`;
      await score({ scorer_name: 's', result_id: result.result_id, score: 0.5, author: 'nightly' });
      expect((await resultOf(result)).scores).toEqual({ s: 0.5 });
      expect((await space.editor.patch<Result>(path, { scores: { s: 1 } })).body.scores).toEqual({ s: 1 });
      const scores = (await listed('scorer_name=s&sort=created_at')).map((one) => [one.score, one.author]);
      expect(scores).toEqual([
        [0.5, 'nightly'],
        [1, null],
      ]);
      expect((await space.finalize(experiment_id)).summary!.scores).toEqual({ s: { mean: 1, count: 1 } });
    });
  });

  describe('of end users', () => {
    it('never change results, a summary, a comparison, a gate or an agreement', async () => {
      const { on, space } = fixture;
      const person = await on.scorer(BOOLEAN);
      const judge = await fixture.code();
      const [baseline, experiment] = [await space.experiment(), await space.experiment()];
      const ids = { session_id: 'talk', trace_id: await on.exportTrace('talk') };
      await space.result(baseline.experiment_id, { case_id: 'c', scores: { s: 1 } });
      const result = await space.result(experiment.experiment_id, { case_id: 'c', ...ids, output: 'yes', scores: { s: 1 } });
      await on.score(person, { result_id: result.result_id, score: true });
      await run(judge.scorer_id, { experiment_id: experiment.experiment_id });
      await space.finalize(baseline.experiment_id);
      const state = async () => {
        const path = `/eval/v1/experiments/${experiment.experiment_id}`;
        const gate = {
          baseline_experiment_id: baseline.experiment_id,
          rules: [{ scorer: 's', min_mean: 0.9, max_regression: 0 }, { scorer: person.name, min_mean: 1 }],
        };
        return [
          await resultOf(result),
          (await space.viewer.get(`${path}/compare?baseline_experiment_id=${baseline.experiment_id}`)).body,
          (await space.viewer.post(`${path}/gate`, gate)).body,
          await fixture.agreement(judge, person),
        ];
      };
      const thumbs = async () => {
        for (const target of [{ result_id: result.result_id }, { trace_id: ids.trace_id }, { session_id: 'talk' }]) {
          for (const scorer of [{ scorer_name: 's' }, { scorer_id: person.scorer_id }, { scorer_id: judge.scorer_id }]) {
            await score({ ...scorer, ...target, score: false, author: 'user' }, runtime);
            await score({ ...scorer, ...target, score: false, source: 'end_user' });
          }
        }
      };
      const running = await state();
      await thumbs();
      expect(await state()).toEqual(running);
      const { summary } = await space.finalize(experiment.experiment_id);
      expect(summary!.scores).toEqual({ s: { mean: 1, count: 1 }, [person.name]: { mean: 1, count: 1 }, [judge.name]: { mean: 1, count: 1 } });
      const finalized = await state();
      await thumbs();
      expect(await state()).toEqual(finalized);
      expect(await listed('source=end_user&limit=100')).toHaveLength(27);
      // A new result in the same session gets none of these scores.
      const { experiment_id } = await space.experiment();
      expect((await space.result(experiment_id, { session_id: 'talk' })).scores).toEqual({});
    }, 120_000); // oxfmt-ignore

    it('are the only scores that a runtime key can record (403)', async () => {
      const { on } = fixture;
      const person = await on.scorer(BOOLEAN);
      const trace_id = await on.exportTrace();
      expect(await score({ scorer_id: person.scorer_id, trace_id, score: true }, runtime)).toMatchObject({
        source: 'end_user',
      });
      for (const source of ['client', 'human']) {
        expect(
          await outcomeOf({ scorer_id: person.scorer_id, trace_id, score: true, source }, runtime),
        ).toEqual([403, 'access_denied']);
      }
      expect(outcome(await runtime.get(SCORES))).toEqual([403, 'access_denied']);
    });

    it('keep their value when the same user adds a comment', async () => {
      const trace_id = await fixture.on.exportTrace();
      const thumb = (fields: Fields) => score({ scorer_name: 'thumbs', trace_id, author: 'ann', ...fields }, runtime);
      const up = await thumb({ score: true });
      expect(await thumb({ comment: 'Quick.' })).toMatchObject({ score: 1, comment: 'Quick.', supersedes_score_id: up.score_id });
      expect(await thumb({ score: null })).toMatchObject({ score: null });
      expect(await listed('scorer_name=thumbs')).toHaveLength(1);
      const person = await fixture.on.scorer(TONE);
      const tone = { scorer_id: person.scorer_id, trace_id, author: 'ann' };
      await score({ ...tone, label: 'kind' }, runtime);
      expect(await score({ ...tone, comment: 'Really.' }, runtime)).toMatchObject({ label: 'kind', score: 1 });
      expect(await outcomeOf({ ...tone, comment: 'Really.' })).toEqual([400, 'invalid_request', '/label']);
    }); // oxfmt-ignore

    it('all remain current without an author, but only one per author does', async () => {
      const trace_id = await fixture.on.exportTrace();
      const thumb = (fields: Fields) => score({ scorer_name: 'thumbs', trace_id, ...fields }, runtime);
      await Promise.all(Array.from({ length: 5 }, () => thumb({ score: true })));
      for (const value of [true, false, true]) await thumb({ score: value, author: 'ann' });
      await thumb({ author: 'bob', comment: 'Wrong city.' });
      expect(await listed('scorer_name=thumbs')).toHaveLength(7);
      expect((await listed('author=ann')).map((one) => one.score)).toEqual([1]);
      expect(await listed('author=bob')).toEqual([
        expect.objectContaining({ score: null, comment: 'Wrong city.' }),
      ]);
    });
  });
});
