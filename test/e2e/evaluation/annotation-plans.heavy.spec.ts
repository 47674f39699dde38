import { type Answer, ownApp } from '#testing';
import { AnnotationFixture, type Queue, QUEUES } from './annotation.fixture';
import type { Annotator } from './human-scores.fixture';
import { workOf } from './work.harness';

const ITEMS = 10_000;
const DONE = 5_000;
/** How many rows a statement may read: a page, and not all items. */
const FEW = 2_000;
/** Selects the items of the queue $1 that one person has scored. */
const SCORED = `(SELECT item_id FROM annotation_items WHERE queue_id = $1 ORDER BY item_id LIMIT ${DONE})`;

describe('an annotation queue of 10,000 items that the table statistics do not include', () => {
  const app = ownApp({ autovacuum: false });
  let on: AnnotationFixture;
  let queue: Queue;
  let other: Annotator;

  beforeAll(async () => {
    // The statistics know only a small queue.
    const small = await AnnotationFixture.open(app);
    const smallQueue = await small.queue(await small.scorer(), { trace_ids: await small.traces(3) });
    await small.score(smallQueue, await small.claim(smallQueue));
    await app.database.query('ANALYZE');

    on = await AnnotationFixture.open(app);
    other = await on.annotator();
    await app.database.query(
      `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models)
       SELECT $1, lpad(to_hex(n), 32, '0'), now(), now(), 1, 0, '{}' FROM generate_series(1, $2::int) n`,
      [on.space.id, ITEMS],
    );
    queue = await on.queue(await on.scorer(), { filters: [] }, { scores_per_item: 2 });
    // One person has scored the first half. The other has scored nothing.
    await on.claim(queue);
    await on.claim(queue, other);
    await app.database.query(
      `UPDATE annotation_places SET is_scored = true, claimed_until = NULL, principal_id = $2, author = ''
       WHERE place = 1 AND item_id IN ${SCORED}`,
      [queue.queue_id, on.ann.id],
    );
    await app.database.query(
      `INSERT INTO annotation_answers (item_id, principal_id, author, workspace_id, queue_id, outcome, score_ids, created_at)
       SELECT item_id, $2, '', $3, $1, 'scored', ARRAY['score_' || item_id], now() FROM ${SCORED} scored`,
      [queue.queue_id, on.ann.id, on.space.id],
    );
    await app.database.query(
      `UPDATE annotation_annotators SET last_item_id = (SELECT max(item_id) FROM ${SCORED} scored)
       WHERE queue_id = $1 AND principal_id = $2`,
      [queue.queue_id, on.ann.id],
    );
  });

  const list = (rest: string) => () => on.space.viewer.get(`${QUEUES}/${queue.queue_id}${rest}`);
  const requests: [string, () => Promise<Answer>][] = [
    ['the next item for a person far ahead', () => on.ask(queue)],
    ['the next item for a person at the start', () => on.ask(queue, other)],
    ['the next item for a new person', async () => on.ask(queue, await on.annotator())],
    ['scoring an item', async () => on.score(queue, await on.claim(queue))],
    ['skipping an item', async () => on.skip(queue, await on.claim(queue))],
    ['the queue', list('')],
    ['the list of queues', () => on.space.viewer.get(QUEUES)],
    ['the list of items', list('/items?limit=50')],
    ['the list of pending items', list('/items?limit=50&item_status=pending')],
    ['the list of items in progress', list('/items?limit=50&item_status=in_progress')],
    ['the list of skipped items', list('/items?limit=50&item_status=skipped')],
    ['the list of completed items', list('/items?limit=50&item_status=completed')],
    ['the list of annotators', list('/annotators')],
  ];

  const expectFewRows = async (ask: () => Promise<Answer>) => {
    let answer: Answer | undefined;
    const works = await workOf(app.database, async () => (answer = await ask()));
    expect(answer?.status).toBe(200);
    // Totals of lists are counted up to 100,000, as the contract asks.
    const heavy = works.filter(
      ({ rows, statement }) => rows > FEW && !/^\s*SELECT count\(\*\) AS total/.test(statement),
    );
    if (heavy.length > 0) throw new Error(JSON.stringify(heavy, null, 1).slice(0, 8_000));
    expect(works.some(({ statement }) => statement.includes('annotation_'))).toBe(true);
  };

  it.each(requests)('reads few rows for %s', (_, ask) => expectFewRows(ask));

  it('reads each item once for a person who has scored all remaining items', async () => {
    await app.database.query(
      `UPDATE annotation_annotators SET last_item_id = (SELECT max(item_id) FROM annotation_items WHERE queue_id = $1)
       WHERE queue_id = $1 AND principal_id = $2`,
      [queue.queue_id, on.ann.id],
    );
    const works = await workOf(app.database, () => on.ask(queue));
    // Each place is read once, together with its answer.
    expect(Math.max(...works.map(({ rows }) => rows))).toBeLessThan(ITEMS * 2 * 5);
  });

  describe('with a stored score for each answer', () => {
    beforeAll(async () => {
      await app.database.query(
        `INSERT INTO scores (score_id, workspace_id, scorer_id, scorer_version, scorer_kind, scorer_name, source,
                           target_kind, trace_id, score, output_sha256, created_at, created_by)
       SELECT 'score_' || item_id, workspace_id, $2, 1, 'human', 'x', 'human', 'trace', trace_id, 1, 'x', now(), $3
       FROM annotation_items WHERE queue_id = $1 AND item_id IN ${SCORED}`,
        [queue.queue_id, queue.scorer_ids[0], on.ann.id],
      );
    });

    it('reads few rows for the list of completed items with their scores', () =>
      expectFewRows(list('/items?limit=50&item_status=completed')));

    it('finds the score of each answer by key for the agreement', async () => {
      const works = await workOf(app.database, list('/agreement'));
      const ratings = works.filter(({ statement }) => statement.includes('annotation_answers'));
      expect(ratings).toHaveLength(1);
      // Each of about ten nodes of the plan returns one row per answer.
      expect(ratings[0]!.rows).toBeGreaterThan(DONE);
      expect(ratings[0]!.rows).toBeLessThan(DONE * 15);
    });
  });
});
