import { newId } from '#platform/ids';
import { newTraceId, sharedApp } from '#testing';
import { AnnotationFixture, type Queue, QUEUES } from './annotation.fixture';
import { outcome, type Page, places, statusesOf } from './evaluation.harness';
import {
  type Annotator,
  BOOLEAN,
  hold,
  type HumanScore,
  SCORES,
  type Scorer,
  STARS,
  TONE,
  untilWaiting,
} from './human-scores.fixture';

describe('work on an annotation queue', () => {
  const app = sharedApp();
  let on: AnnotationFixture;
  let scorer: Scorer;

  beforeEach(async () => {
    on = await AnnotationFixture.open(app);
    scorer = await on.scorer();
  });

  const queueOf = async (items: number, fields: Record<string, unknown> = {}): Promise<Queue> =>
    on.queue(scorer, { trace_ids: await on.traces(items) }, fields);
  const scoresOf = async (query = ''): Promise<HumanScore[]> =>
    on.space.list<HumanScore>(`${SCORES}?limit=500&${query}`);
  const detailOf = ({ body }: { body: unknown }): string => (body as { detail: string }).detail;

  it('shows the same content that scorers get, without any scores', async () => {
    const { experiment_id } = await on.space.experiment();
    const [trace_id] = await on.traces(1);
    const scored = { case_id: 'a', trace_id, output: 'theirs', expected: 42, scores: { judged: 1 } };
    const result = await on.space.result(experiment_id, scored);
    const answer = await on.next(await on.queue(scorer, { experiment_id }));
    expect(answer).toEqual({
      item: {
        item_id: expect.stringMatching(/^qitem_/),
        claimed_until: expect.any(String),
        trace_id,
        session_id: null,
        experiment_id,
        result_id: result.result_id,
        case_id: 'a',
        input: 'question 0',
        output: 'theirs',
        expected: 42,
        content_error: null,
      },
      reason: null,
      retry_at: null,
      scorers: [
        expect.objectContaining({ scorer_id: scorer.scorer_id, rubric: 'Is it good?', output: BOOLEAN }),
      ],
      progress: { item_count: 1, completed_count: 0, in_progress_count: 1, skipped_count: 0 },
    });
    const lease = new Date(answer.item!.claimed_until).getTime() - Date.now();
    expect([lease > 0, lease <= 15 * 60_000]).toEqual([true, true]);
  });

  it('shows the content of a trace itself, although a result names it', async () => {
    const { experiment_id } = await on.space.experiment();
    const [trace_id] = await on.traces(1);
    const theirs = { input: 'theirs', output: 'theirs', expected: 42 };
    await on.space.result(experiment_id, { case_id: 'a', trace_id, ...theirs });
    for (const source of [{ trace_ids: [trace_id] }, { filters: [] }]) {
      const { item } = await on.next(await on.queue(scorer, source));
      const own = { input: 'question 0', output: 'answer 0', expected: null, content_error: null };
      expect(item).toMatchObject({ trace_id, result_id: null, ...own });
    }
  });

  it('says that there is nothing to show of a trace that only a result names', async () => {
    const { experiment_id } = await on.space.experiment();
    const trace_id = newTraceId();
    await on.space.result(experiment_id, { case_id: 'a', trace_id, output: 'theirs' });
    const { item } = await on.next(await on.queue(scorer, { trace_ids: [trace_id] }));
    expect(item).toMatchObject({
      input: null,
      output: null,
      expected: null,
      content_error: expect.stringContaining('never arrived'),
    });
  });

  it('returns the same unfinished item to the same person, and extends the claim', async () => {
    const queue = await queueOf(2);
    const [first, again] = [await on.next(queue), await on.next(queue)];
    expect(again.item!.item_id).toBe(first.item!.item_id);
    expect(again.item!.claimed_until >= first.item!.claimed_until).toBe(true);
    const concurrent = await Promise.all(Array.from({ length: 4 }, () => on.claim(queue)));
    expect(new Set(concurrent)).toEqual(new Set([first.item!.item_id]));
    const other = await on.annotator();
    const theirs = await Promise.all(Array.from({ length: 4 }, () => on.claim(queue, other)));
    expect(new Set(theirs).size).toBe(1);
    expect(theirs[0]).not.toBe(first.item!.item_id);
  });

  it('gives the last item to exactly one of many people who race for it, and tells the others when to retry', async () => {
    const queue = await queueOf(1);
    const people = await Promise.all(Array.from({ length: 6 }, () => on.annotator()));
    const answers = await Promise.all(people.map((by) => on.next(queue, by)));
    const winners = answers.filter(({ item }) => item !== null);
    expect(winners).toHaveLength(1);
    const losers = answers.filter(({ item }) => item === null);
    expect(losers.map(({ reason, retry_at }) => [reason, retry_at])).toEqual(
      losers.map(() => ['claimed', winners[0]!.item!.claimed_until]),
    );
    expect((await on.read(queue)).in_progress_count).toBe(1);
  });

  it('gives a different item to each person who asks at the same time', async () => {
    const queue = await queueOf(6);
    const people = await Promise.all(Array.from({ length: 6 }, () => on.annotator()));
    const claimed = await Promise.all(people.map((by) => on.claim(queue, by)));
    expect(new Set(claimed).size).toBe(6);
  });

  it('accepts one of many concurrent answers to an item, and stores no scores of the others', async () => {
    const queue = await queueOf(1);
    const item = await on.claim(queue);
    const same = await Promise.all(Array.from({ length: 4 }, () => on.score(queue, item)));
    expect(statusesOf(same)).toEqual([200, ...Array<number>(3).fill(409)]);
    expect(await on.read(queue)).toMatchObject({ completed_count: 1, in_progress_count: 0 });
    expect(await scoresOf('include_superseded=true')).toHaveLength(1);
    const free = await queueOf(1);
    const [unclaimed] = await on.items(free);
    const people = await Promise.all(Array.from({ length: 4 }, () => on.annotator()));
    const answers = await Promise.all(
      people.map((by) => on.score(free, unclaimed!.item_id, { score: true }, by)),
    );
    expect(statusesOf(answers)).toEqual([200, ...Array<number>(3).fill(409)]);
    expect(await scoresOf('include_superseded=true')).toHaveLength(2);
    expect((await on.read(free)).completed_count).toBe(1);
  });

  it('stores answers as ordinary human scores, which appear in results and lists', async () => {
    const stars = await on.scorer(STARS);
    const { experiment_id } = await on.space.experiment();
    const result = await on.space.result(experiment_id);
    const queue = await on.queue(
      scorer,
      { experiment_id },
      { scorer_ids: [scorer.scorer_id, stars.scorer_id] },
    );
    const item = await on.claim(queue);
    const scores = [
      { scorer_id: stars.scorer_id, score: 4, comment: 'almost' },
      { scorer_id: scorer.scorer_id, score: true },
    ];
    const answer = await on.ann.api.post(`${QUEUES}/${queue.queue_id}/items/${item}/scores`, { scores });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      item_id: item,
      outcome: 'scored',
      is_completed: true,
      scores: [
        { scorer_id: stars.scorer_id, score_id: expect.any(String), score: 4, label: null },
        { scorer_id: scorer.scorer_id, score_id: expect.any(String), score: 1, label: null },
      ],
    });
    const stored = await scoresOf(`result_id=${result.result_id}`);
    expect(stored.map(({ scorer_id }) => scorer_id).sort()).toEqual(
      [scorer.scorer_id, stars.scorer_id].sort(),
    );
    expect(stored.every(({ created_by }) => created_by === on.ann.id)).toBe(true);
    const details = { queue_id: queue.queue_id, item_id: item };
    expect(stored.map(({ metadata }) => metadata)).toEqual([details, details]);
    expect((await on.humanScores.result(result)).scores).toEqual({ [scorer.name]: 1, [stars.name]: 4 });
    const [done] = await on.items(queue, 'item_status=completed');
    expect(done).toMatchObject({
      item_id: item,
      item_status: 'completed',
      scored_count: 1,
      claimed_until: null,
      completed_at: expect.any(String),
      answers: [{ outcome: 'scored', reason: null, author: null, created_by: on.ann.id }],
    });
    expect(await on.next(queue)).toMatchObject({ item: null, reason: 'completed', retry_at: null });
  });

  it('accepts labels for choices', async () => {
    const tone = await on.scorer(TONE);
    const queue = await on.queue(tone, { trace_ids: await on.traces(1) });
    const { body } = await on.score(queue, await on.claim(queue), { label: 'curt' });
    expect(body.scores).toMatchObject([{ score: 0.25, label: 'curt' }]);
  });

  it('stores no score if one answer is invalid, and keeps the claim', async () => {
    const [stars, tone] = [await on.scorer(STARS), await on.scorer(TONE)];
    const scorer_ids = [scorer, stars, tone].map(({ scorer_id }) => scorer_id);
    const queue = await on.queue(scorer, { trace_ids: await on.traces(1) }, { scorer_ids });
    const item = await on.claim(queue);
    const path = `${QUEUES}/${queue.queue_id}/items/${item}/scores`;
    const outcomeOf = async (...scores: object[]) => {
      const answer = await on.ann.api.post(path, {
        scores: scores.map((one, index) => ({ scorer_id: scorer_ids[index], ...one })),
      });
      return [...outcome(answer), ...places(answer)];
    };
    const [yes, three, kind] = [{ score: true }, { score: 3 }, { label: 'kind' }];
    const invalid = [400, 'invalid_request'];
    expect(await outcomeOf(yes, { score: 6 }, kind)).toEqual([...invalid, '/scores/1/score']);
    expect(await outcomeOf({ score: 2 }, three, kind)).toEqual([...invalid, '/scores/0/score']);
    expect(await outcomeOf(yes, {}, kind)).toEqual([...invalid, '/scores/1/score']);
    expect(await outcomeOf(yes, three, {})).toEqual([...invalid, '/scores/2/label']);
    expect(await outcomeOf(yes, three, { label: 'blue' })).toEqual([
      422,
      'validation_failed',
      '/scores/2/label',
    ]);
    expect(await outcomeOf(yes, three)).toEqual([...invalid, '/scores']);
    expect(await outcomeOf(yes, three, kind, { scorer_id: scorer_ids[0], ...yes })).toEqual([
      ...invalid,
      '/scores/3/scorer_id',
    ]);
    expect(await outcomeOf(yes, three, { scorer_id: 'scr_x', ...kind })).toEqual([
      ...invalid,
      '/scores/2/scorer_id',
      '/scores',
    ]);
    expect(await outcomeOf(yes, three, { ...kind, value: 1 })).toEqual([...invalid, '/scores/2/value']);
    expect(await scoresOf()).toEqual([]);
    expect(await on.claim(queue)).toBe(item);
    expect(await outcomeOf(yes, three, kind)).toEqual([200, undefined]);
  });

  it('needs scores_per_item different people to complete an item, and accepts each person once', async () => {
    const queue = await queueOf(2, { scores_per_item: 2 });
    const other = await on.annotator();
    const item = await on.claim(queue);
    expect(await on.claim(queue, other)).toBe(item);
    expect((await on.score(queue, item)).body).toMatchObject({ is_completed: false });
    const again = await on.score(queue, item);
    expect(outcome(again)).toEqual([409, 'conflict']);
    expect(detailOf(again)).toContain('already scored');
    expect(await on.claim(queue)).not.toBe(item);
    expect((await on.score(queue, item, { score: false }, other)).body).toMatchObject({ is_completed: true });
    const third = await on.annotator();
    expect(outcome(await on.score(queue, item, { score: true }, third))).toEqual([409, 'conflict']);
    expect(await on.read(queue)).toMatchObject({ completed_count: 1, in_progress_count: 1 });
    expect(await scoresOf('include_superseded=true')).toHaveLength(2);
  });

  it('completes an item once when all people score it at the same time', async () => {
    const queue = await queueOf(1, { scores_per_item: 4 });
    const people = await Promise.all(Array.from({ length: 4 }, () => on.annotator()));
    const [item] = await Promise.all(people.map((by) => on.claim(queue, by)));
    const answers = await Promise.all(people.map((by) => on.score(queue, item!, { score: true }, by)));
    expect(statusesOf(answers)).toEqual(Array(4).fill(200));
    expect(answers.filter(({ body }) => body.is_completed)).toHaveLength(1);
    expect(await on.read(queue)).toMatchObject({ completed_count: 1, in_progress_count: 0 });
    expect(await on.items(queue)).toMatchObject([{ item_status: 'completed', scored_count: 4 }]);
  });

  it('gives an item to others when its claim has expired, and rejects the late scores (409)', async () => {
    const queue = await queueOf(1);
    const [late, other] = [on.ann, await on.annotator()];
    const item = await on.claim(queue, late);
    expect(await on.next(queue, other)).toMatchObject({ item: null, reason: 'claimed' });
    await on.expireClaims(queue);
    expect((await on.items(queue, 'item_status=pending')).map(({ item_id }) => item_id)).toEqual([item]);
    expect(await on.claim(queue, other)).toBe(item);
    const refused = await on.score(queue, item, { score: true }, late);
    expect(outcome(refused)).toEqual([409, 'conflict']);
    expect(detailOf(refused)).toContain('Somebody else has claimed');
    expect(await on.next(queue, late)).toMatchObject({ item: null, reason: 'claimed' });
    expect((await on.score(queue, item, { score: false }, other)).status).toBe(200);
    expect((await scoresOf()).map(({ created_by }) => created_by)).toEqual([other.id]);
  });

  it('accepts scores after the claim has expired if nobody else has claimed the item', async () => {
    const queue = await queueOf(2);
    const item = await on.claim(queue);
    await on.expireClaims(queue);
    expect(await on.claim(queue)).toBe(item);
    await on.expireClaims(queue);
    expect((await on.score(queue, item)).status).toBe(200);
  });

  it('rejects a score if the output was replaced while the person read it (409)', async () => {
    const { experiment_id } = await on.space.experiment();
    await on.space.result(experiment_id, { case_id: 'a', output: 'first' });
    const queue = await on.queue(scorer, { experiment_id });
    const item = await on.claim(queue);
    const path = `/eval/v1/experiments/${experiment_id}/results`;
    await on.space.post(path, { case_id: 'a', output: 'second', on_conflict: 'replace' });
    const refused = await on.score(queue, item);
    expect(outcome(refused)).toEqual([409, 'conflict']);
    expect(detailOf(refused)).toContain('replaced');
    expect(await scoresOf('include_superseded=true')).toEqual([]);
    expect((await on.next(queue)).item).toMatchObject({ item_id: item, output: 'second' });
    expect((await on.score(queue, item)).status).toBe(200);
  });

  it('gives a skipped item to others but not to the same person, and stores the reason', async () => {
    const queue = await queueOf(2);
    const other = await on.annotator();
    const item = await on.claim(queue);
    const skipped = await on.skip(queue, item);
    expect(skipped.body).toEqual({ item_id: item, outcome: 'skipped', is_completed: false, scores: [] });
    expect((await on.skip(queue, item)).status).toBe(200);
    expect(await on.read(queue)).toMatchObject({ skipped_count: 1, in_progress_count: 0 });
    const [listed] = await on.items(queue, 'item_status=skipped');
    expect(listed).toMatchObject({
      item_id: item,
      answers: [{ outcome: 'skipped', reason: 'not my field', created_by: on.ann.id, scores: [] }],
    });
    const second = await on.claim(queue);
    expect(second).not.toBe(item);
    await on.score(queue, second);
    expect(await on.next(queue)).toMatchObject({ item: null, reason: 'done', retry_at: null });
    expect(await on.claim(queue, other)).toBe(item);
    expect(await on.read(queue)).toMatchObject({ skipped_count: 0, in_progress_count: 1 });
    expect((await on.score(queue, item, { score: true }, other)).status).toBe(200);
    expect(await on.read(queue)).toMatchObject({
      completed_count: 2,
      skipped_count: 0,
      in_progress_count: 0,
    });
    expect(outcome(await on.skip(queue, item))).toEqual([200, undefined]);
    expect(outcome(await on.skip(queue, second))).toEqual([409, 'conflict']);
    expect(outcome(await on.skip(queue, second, other))).toEqual([409, 'conflict']);
  });

  it('lets people score an item that they skipped', async () => {
    const queue = await queueOf(1);
    const item = await on.claim(queue);
    await on.skip(queue, item);
    expect((await on.score(queue, item)).body).toMatchObject({ is_completed: true });
    expect(await on.read(queue)).toMatchObject({ completed_count: 1, skipped_count: 0 });
    const [person] = await on.space.list(`${QUEUES}/${queue.queue_id}/annotators`);
    expect(person).toMatchObject({ principal_id: on.ann.id, scored_count: 1, skipped_count: 0 });
  });

  it.each([
    ['no reason', {}],
    ['an empty reason', { reason: '' }],
    ['a long reason', { reason: 'x'.repeat(2_001) }],
  ])('rejects a skip with %s (400)', async (_, body) => {
    const queue = await queueOf(1);
    const item = await on.claim(queue);
    const answer = await on.ann.api.post(`${QUEUES}/${queue.queue_id}/items/${item}/skip`, body);
    expect([...outcome(answer), ...places(answer)]).toEqual([400, 'invalid_request', '/reason']);
  });

  describe('for an author', () => {
    let tool: Annotator;
    beforeEach(async () => {
      const { key, serviceAccountId: id } = await on.space.organization.serviceAccount('admin');
      tool = { id, api: app.api(key).in(on.space.id) };
    });

    it('distinguishes the people behind a service account with the role admin', async () => {
      const queue = await queueOf(1, { scores_per_item: 2 });
      const item = await on.claim(queue, tool, 'ada');
      expect(await on.claim(queue, tool, 'ben')).toBe(item);
      expect(await on.next(queue, tool, 'cy')).toMatchObject({ item: null, reason: 'claimed' });
      await on.score(queue, item, { score: true }, tool, 'ada');
      expect((await on.score(queue, item, { score: false }, tool, 'ben')).body).toMatchObject({
        is_completed: true,
      });
      const people = await on.space.list<Record<string, unknown>>(`${QUEUES}/${queue.queue_id}/annotators`);
      const stored = await scoresOf();
      expect(stored.map(({ author, score }) => [author, score]).sort()).toEqual([
        ['ada', 1],
        ['ben', 0],
      ]);
      expect(people.map(({ author, scored_count }) => [author, scored_count])).toEqual([
        ['ada', 1],
        ['ben', 1],
        ['cy', 0],
      ]);
      const [listed] = await on.items(queue);
      expect(listed!.answers.map(({ author }) => author)).toEqual(['ada', 'ben']);
    });

    it('rejects the name of another person from everybody else (403), so that nobody scores as two people', async () => {
      const queue = await queueOf(2, { scores_per_item: 2 });
      const { serviceAccountId, key } = await on.space.organization.serviceAccount('evaluator');
      const bot = { id: serviceAccountId, api: app.api(key).in(on.space.id) };
      const userId = newId('usr');
      const token = await on.space.organization.tokenOf(userId, { roles: ['owner'] });
      const owner = { id: userId, api: app.api(token).in(on.space.id) };
      for (const by of [on.ann, bot, owner]) {
        const item = await on.claim(queue, by);
        for (const answer of [
          await on.ask(queue, by, 'ada'),
          await on.ask(queue, by, tool.id),
          await on.score(queue, item, { score: true }, by, 'ada'),
          await by.api.post(`${QUEUES}/${queue.queue_id}/items/${item}/skip`, { reason: 'x', author: 'ada' }),
        ]) {
          expect(outcome(answer)).toEqual([403, 'access_denied']);
          expect(answer.body).toMatchObject({
            detail: expect.stringContaining(`you work as ${by.id}. Omit`),
          });
        }
      }
      const people = await on.space.list<Record<string, unknown>>(`${QUEUES}/${queue.queue_id}/annotators`);
      expect(people.map(({ author }) => author)).toEqual([null, null, null]);
    });

    it('accepts the own id of the caller, who stays the same person', async () => {
      const queue = await queueOf(1, { scores_per_item: 2 });
      const item = await on.claim(queue);
      expect(await on.claim(queue, on.ann, on.ann.id)).toBe(item);
      expect((await on.score(queue, item, { score: true }, on.ann, on.ann.id)).status).toBe(200);
      expect(outcome(await on.score(queue, item))).toEqual([409, 'conflict']);
      expect((await scoresOf()).map(({ author }) => author)).toEqual([null]);
    });

    it('lets one account claim 100 items at a time (429)', async () => {
      const queue = await queueOf(11, { scores_per_item: 10 });
      for (let n = 0; n < 100; n++) await on.claim(queue, tool, `person ${n}`);
      const refused = await on.ask(queue, tool, 'one more');
      expect([...outcome(refused), refused.headers.get('retry-after')]).toEqual([429, 'rate_limited', '60']);
      const item = await on.claim(queue, tool, 'person 7');
      expect((await on.claim(queue)).length).toBeGreaterThan(0);
      await on.score(queue, item, { score: true }, tool, 'person 7');
      await on.claim(queue, tool, 'one more');
      await on.expireClaims(queue);
      await on.claim(queue, tool, 'another one');
    });

    it('rejects an author of 256 characters (400)', async () => {
      const queue = await queueOf(1);
      const item = await on.claim(queue, tool, 'a'.repeat(255));
      const author = 'a'.repeat(256);
      const path = `${QUEUES}/${queue.queue_id}`;
      const scores = [{ scorer_id: scorer.scorer_id, score: true }];
      const answers = await Promise.all([
        on.ask(queue, tool, author),
        on.ask(queue, tool, ''),
        tool.api.post(`${path}/items/${item}/scores`, { scores, author }),
        tool.api.post(`${path}/items/${item}/skip`, { reason: 'x', author }),
      ]);
      for (const answer of answers) {
        expect([...outcome(answer), ...places(answer)]).toEqual([400, 'invalid_request', '/author']);
      }
    });
  });

  it('rejects everyone but the assignees of a queue that has assignees (403)', async () => {
    const queue = await queueOf(1, { assignees: [on.ann.id] });
    const other = await on.annotator();
    const item = await on.claim(queue);
    const refused = [
      await on.ask(queue, other),
      await on.score(queue, item, { score: true }, other),
      await on.skip(queue, item, other),
    ];
    expect(refused.map(outcome)).toEqual(refused.map(() => [403, 'forbidden']));
    await on.space.editor.patch(`${QUEUES}/${queue.queue_id}`, { assignees: [on.ann.id, other.id] });
    expect(await on.next(queue, other)).toMatchObject({ reason: 'claimed' });
  });

  it('stops while a scorer of the queue is archived, and the error says how to continue', async () => {
    const queue = await queueOf(1);
    const item = await on.claim(queue);
    const path = `/eval/v1/scorers/${scorer.scorer_id}`;
    await on.space.archive(path);
    for (const answer of [await on.ask(queue), await on.score(queue, item)]) {
      expect(outcome(answer)).toEqual([409, 'conflict']);
      expect(detailOf(answer)).toContain(
        `The scorer ${scorer.scorer_id} of this queue is archived. Restore it`,
      );
    }
    expect((await on.space.evaluator.post(`${path}/restore`)).status).toBe(200);
    expect((await on.score(queue, item)).status).toBe(200);
  });

  it('stops while the queue is archived, and keeps its claims and answers', async () => {
    const queue = await queueOf(2);
    await on.score(queue, await on.claim(queue));
    const item = await on.claim(queue);
    const path = `${QUEUES}/${queue.queue_id}`;
    await on.space.archive(path);
    const refused = [await on.ask(queue), await on.score(queue, item), await on.skip(queue, item)];
    expect(refused.map(outcome)).toEqual(refused.map(() => [409, 'conflict']));
    expect((await on.items(queue)).map(({ item_status }) => item_status)).toEqual([
      'completed',
      'in_progress',
    ]);
    await on.space.evaluator.post(`${path}/restore`);
    expect((await on.score(queue, item)).status).toBe(200);
  });

  it('rejects a score that is sent while the queue is being archived (409)', async () => {
    const queue = await queueOf(1);
    const item = await on.claim(queue);
    const archiving = 'UPDATE annotation_queues SET archived_at = now() WHERE queue_id = $1';
    const lock = await hold(app, archiving, [queue.queue_id]);
    const scoring = on.score(queue, item);
    await untilWaiting(app, 1);
    await lock.commit();
    expect(outcome(await scoring)).toEqual([409, 'conflict']);
    expect(await scoresOf()).toEqual([]);
    expect(await on.items(queue)).toMatchObject([{ item_status: 'in_progress', answers: [] }]);
  });

  it('says why the content of an item is missing, and lets people only skip that item', async () => {
    const queue = await queueOf(1);
    const [listed] = await on.items(queue);
    await app.database.query('DELETE FROM traces WHERE trace_id = $1', [listed!.trace_id]);
    const { item } = await on.next(queue);
    expect(item).toMatchObject({
      input: null,
      output: null,
      content_error: expect.stringContaining('no longer stored'),
    });
    const refused = await on.score(queue, item!.item_id);
    expect(outcome(refused)).toEqual([409, 'conflict']);
    expect(detailOf(refused)).toContain('Skip the item');
    expect((await on.skip(queue, item!.item_id)).status).toBe(200);
  });

  it('stores the scores once if a request is repeated with its Idempotency-Key', async () => {
    const queue = await queueOf(1);
    const item = await on.claim(queue);
    const path = `${QUEUES}/${queue.queue_id}/items/${item}/scores`;
    const body = { scores: [{ scorer_id: scorer.scorer_id, score: true }] };
    const key = { 'idempotency-key': 'once' };
    const [one, two] = [await on.ann.api.post(path, body, key), await on.ann.api.post(path, body, key)];
    expect([one.status, two.status]).toEqual([200, 200]);
    expect(two.body).toEqual(one.body);
  });

  it('lists items in pages by cursor, and filters items by status', async () => {
    const queue = await queueOf(5);
    const first = await on.claim(queue);
    await on.score(queue, first);
    const path = `${QUEUES}/${queue.queue_id}/items`;
    const page = (await on.space.viewer.get<Page<{ item_id: string }>>(`${path}?limit=3`)).body;
    const rest = (
      await on.space.viewer.get<Page<{ item_id: string }>>(`${path}?limit=3&cursor=${page.page.next_cursor}`)
    ).body;
    const ids = [...page.items, ...rest.items].map(({ item_id }) => item_id);
    expect([new Set(ids).size, ids[0], rest.page.next_cursor]).toEqual([5, first, null]);
    const newest = await on.items(queue, 'sort=-created_at');
    expect(newest.map(({ item_id }) => item_id)).toEqual([...ids].reverse());
    await on.claim(queue);
    const counts = await Promise.all(
      ['pending', 'in_progress', 'skipped', 'completed'].map(
        async (status) => (await on.items(queue, `item_status=${status}`)).length,
      ),
    );
    expect(counts).toEqual([3, 1, 0, 1]);
    expect(outcome(await on.space.viewer.get(`${path}?item_status=lost`))).toEqual([
      422,
      'validation_failed',
    ]);
    expect(outcome(await on.space.viewer.get(`${path}?status=lost`))).toEqual([400, 'invalid_query']);
  });

  it('returns 404 for an item of another queue', async () => {
    const [queue, other] = [await queueOf(1), await queueOf(1)];
    const item = await on.claim(other);
    expect(outcome(await on.score(queue, item))).toEqual([404, 'not_found']);
    expect(outcome(await on.skip(queue, item))).toEqual([404, 'not_found']);
  });
});

describe('the agreement of the annotators of a queue', () => {
  const app = sharedApp();
  let on: AnnotationFixture;

  beforeAll(async () => {
    on = await AnnotationFixture.open(app);
  });

  it('is measured per scorer, over the items that at least two people have scored', async () => {
    const tone = await on.scorer(TONE);
    const queue = await on.queue(tone, { trace_ids: await on.traces(5) }, { scores_per_item: 2 });
    const path = `${QUEUES}/${queue.queue_id}/agreement`;
    const before = await on.space.viewer.get(path);
    expect(before.body).toEqual({
      queue_id: queue.queue_id,
      is_truncated: false,
      scorers: [
        {
          scorer_id: tone.scorer_id,
          scorer_version: 1,
          name: tone.name,
          units: 0,
          tie_count: 0,
          observed_agreement: null,
          krippendorffs_alpha_nominal: null,
          krippendorffs_alpha_interval: null,
        },
      ],
    });
    const [ada, ben] = [on.ann, await on.annotator()];
    const pairs = [
      ['kind', 'kind'],
      ['rude', 'rude'],
      ['kind', 'rude'],
      ['curt', 'curt'],
    ];
    const items = await on.items(queue);
    for (const [index, [one, two]] of pairs.entries()) {
      const { item_id } = items[index]!;
      expect((await on.score(queue, item_id, { label: one }, ada)).status).toBe(200);
      expect((await on.score(queue, item_id, { label: two }, ben)).status).toBe(200);
    }
    await on.score(queue, items[4]!.item_id, { label: 'kind' }, ada);
    const { body } = await on.space.viewer.get(path);
    const [measured] = body.scorers;
    expect([measured.units, measured.tie_count]).toEqual([4, 1]);
    expect(measured.observed_agreement).toMatchObject({ units: 4, value: 0.75 });
    // Krippendorff (2011): 1 - (n - 1) * observed / expected disagreements, for 3 kind, 3 rude and 2 curt.
    expect(measured.krippendorffs_alpha_nominal.value).toBeCloseTo(1 - (7 * 2) / (8 * 8 - 9 - 9 - 4), 12);
    expect(measured.krippendorffs_alpha_interval.units).toBe(4);
  });

  it('counts a corrected answer instead of the original, and the list shows the correction', async () => {
    const tone = await on.scorer(TONE);
    const queue = await on.queue(tone, { trace_ids: await on.traces(1) }, { scores_per_item: 2 });
    const [ada, ben] = [on.ann, await on.annotator()];
    const { item_id, trace_id } = (await on.items(queue))[0]!;
    await on.score(queue, item_id, { label: 'kind' }, ada);
    await on.score(queue, item_id, { label: 'rude' }, ben);
    const agreed = async () => {
      const { body } = await on.space.viewer.get(`${QUEUES}/${queue.queue_id}/agreement`);
      return body.scorers[0].observed_agreement?.value;
    };
    expect(await agreed()).toBe(0);
    const target = { workspace_id: on.space.id, scorer_id: tone.scorer_id, trace_id };
    const correct = async (label: string) => (await ben.api.post(SCORES, { ...target, label })).body.score_id;
    await correct('curt');
    const score_id = await correct('kind');
    expect(await agreed()).toBe(1);
    const { answers } = (await on.items(queue))[0]!;
    expect(answers.map(({ scores }) => scores)).toEqual([
      [{ scorer_id: tone.scorer_id, score_id: expect.any(String), score: 1, label: 'kind' }],
      [{ scorer_id: tone.scorer_id, score_id, score: 1, label: 'kind' }],
    ]);
    // Scores by other people, or under another author of the same account, correct nothing.
    const other = await on.annotator();
    await other.api.post(SCORES, { ...target, label: 'rude' });
    await ben.api.post(SCORES, { ...target, label: 'rude', author: 'ben' });
    expect(await agreed()).toBe(1);
    // An answer on another scale cannot be compared.
    const definition = { rubric: 'How kind?', output: STARS };
    await on.space.editor.patch(`/eval/v1/scorers/${tone.scorer_id}`, { definition });
    expect((await ben.api.post(SCORES, { ...target, score: 1 })).status).toBe(201);
    expect(await agreed()).toBeUndefined();
  });

  it('does not compare scores of a replaced result with scores of its replacement', async () => {
    const scorer = await on.scorer();
    const { experiment_id } = await on.space.experiment();
    await on.space.result(experiment_id, { case_id: 'a', output: 'first' });
    const queue = await on.queue(scorer, { experiment_id }, { scores_per_item: 3 });
    const { item_id } = (await on.items(queue))[0]!;
    await on.score(queue, item_id, { score: false });
    const replacement = { case_id: 'a', output: 'second', on_conflict: 'replace' };
    await on.space.post(`/eval/v1/experiments/${experiment_id}/results`, replacement);
    const measured = async () =>
      (await on.space.viewer.get(`${QUEUES}/${queue.queue_id}/agreement`)).body.scorers[0];
    await on.score(queue, item_id, { score: true }, await on.annotator());
    expect((await measured()).units).toBe(0);
    await on.score(queue, item_id, { score: true }, await on.annotator());
    expect((await measured()).observed_agreement.value).toBe(1);
  });

  it('is separate for each scorer of the queue, whatever the order of the answers', async () => {
    const [tone, stars] = [await on.scorer(TONE), await on.scorer(STARS)];
    const scorer_ids = [tone.scorer_id, stars.scorer_id];
    const queue = await on.queue(tone, { trace_ids: await on.traces(1) }, { scorer_ids, scores_per_item: 2 });
    const { item_id } = (await on.items(queue))[0]!;
    const kind = { scorer_id: tone.scorer_id, label: 'kind' };
    const path = `${QUEUES}/${queue.queue_id}`;
    const scores = (score: number) => ({ scorer_id: stars.scorer_id, score });
    await on.ann.api.post(`${path}/items/${item_id}/scores`, { scores: [scores(1), kind] });
    const ben = await on.annotator();
    await ben.api.post(`${path}/items/${item_id}/scores`, { scores: [kind, scores(5)] });
    const { body } = await on.space.viewer.get(`${path}/agreement`);
    const measured = body.scorers.map((one: { scorer_id: string; observed_agreement: { value: number } }) => [
      one.scorer_id,
      one.observed_agreement.value,
    ]);
    expect(measured).toEqual([
      [tone.scorer_id, 1],
      [stars.scorer_id, 0],
    ]);
  });
});
