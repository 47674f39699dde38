import { type Answer, type ApiClient, sharedApp, type TestApp } from '#testing';
import {
  type BulkResponse,
  EvaluationWorkspace,
  type Experiment,
  outcome,
  type Page,
  type Result,
  statuses,
  statusesOf,
} from './evaluation.harness';

const EXPERIMENTS = '/eval/v1/experiments';
const ROUNDS = 12;
const EXPERIMENTS_FINALIZED = 30;
/** Maximum calls of a writer: far more than fit before an experiment is finalized, so that a test fails instead of hanging. */
const CALLS_MAX = 1_000;

/** Independent clients write through two API processes that share a database. */
describe('results written through two API processes', () => {
  const app = sharedApp({ env: { DATABASE_POOL_SIZE: '10' } });
  let other: TestApp;
  let space: EvaluationWorkspace;
  /** Two clients, one for each process. */
  let clients: ApiClient[];

  beforeAll(async () => {
    other = await app.another();
    space = await EvaluationWorkspace.open(app);
    const token = await space.organization.token('editor');
    clients = [app, other].map((one) => one.api(token).in(space.id));
  });
  afterAll(async () => {
    await other.close();
  });

  const single = (client: ApiClient, experimentId: string, fields: object): Promise<Answer<Result>> =>
    client.post<Result>(`${EXPERIMENTS}/${experimentId}/results`, { workspace_id: space.id, ...fields });
  const bulk = (client: ApiClient, experimentId: string, items: object[]): Promise<Answer<BulkResponse>> =>
    client.post<BulkResponse>(`${EXPERIMENTS}/${experimentId}/results/bulk`, {
      workspace_id: space.id,
      items,
    });

  describe('for the same case', () => {
    /** Writes a case, and returns the status. */
    type Writer = (
      client: ApiClient,
      id: string,
      result: { case_id: string; output: string },
    ) => Promise<number>;
    const alone: Writer = async (client, id, result) => (await single(client, id, result)).status;
    const inBulk: Writer = async (client, id, result) => {
      const around = (name: string) => ({ case_id: `${name} ${result.case_id} ${result.output}` });
      const answer = await bulk(client, id, [around('before'), result, around('after')]);
      const [before, status, after] = statuses(answer);
      expect([before, after]).toEqual([201, 201]);
      return status!;
    };

    it.each<[string, Writer, Writer]>([
      ['both alone', alone, alone],
      ['both in bulk', inBulk, inBulk],
      ['one alone and one in bulk', alone, inBulk],
    ])('get 201 once and 409 once if two are written at the same time, %s', async (_, first, second) => {
      const { experiment_id: id } = await space.experiment();
      for (let round = 0; round < ROUNDS; round++) {
        const case_id = `case ${round}`;
        const written = await Promise.all([
          first(clients[round % 2]!, id, { case_id, output: 'first' }),
          second(clients[(round + 1) % 2]!, id, { case_id, output: 'second' }),
        ]);
        expect([...written].sort()).toEqual([201, 409]);
        const stored = await space.list<Result>(`${EXPERIMENTS}/${id}/results?case_id=case ${round}`);
        const winner = written[0] === 201 ? 'first' : 'second';
        expect(stored.map((one) => one.output)).toEqual([winner]);
      }
    });
  });

  it('are all in the summary if the experiment is finalized at the same time', async () => {
    const race = async (index: number): Promise<void> => {
      const { experiment_id: id } = await space.experiment();
      const scored = (case_id: string) => ({ case_id, scores: { s: 1 } });
      /** Writes until a write is rejected, so that each experiment is finalized during writes. Returns the acknowledged cases. */
      const writer = async (client: ApiClient, name: string): Promise<string[]> => {
        const acknowledged: string[] = [];
        for (let call = 0; call < CALLS_MAX; call++) {
          const items = Array.from({ length: 5 }, (_, n) => scored(`${name} ${call} ${n}`));
          const answer = await bulk(client, id, items);
          if (answer.status !== 207) {
            expect(outcome(answer)).toEqual([409, 'conflict']);
            return acknowledged;
          }
          const itemStatuses = statuses(answer);
          acknowledged.push(...items.filter((_, n) => itemStatuses[n] === 201).map((item) => item.case_id));
        }
        throw new Error(`${id} was not finalized for ${name} within ${CALLS_MAX} calls`);
      };
      const finalizer = async (client: ApiClient): Promise<Answer<Experiment>> => {
        // Finalizes at a different time during the writes in each round.
        for (let wait = 0; wait < index % 6; wait++) await client.get(`${EXPERIMENTS}/${id}`);
        return client.patch<Experiment>(`${EXPERIMENTS}/${id}`, { experiment_status: 'completed' });
      };
      const [cases, finals] = await Promise.all([
        Promise.all([...clients, ...clients].map((client, n) => writer(client, `w${n}`))),
        Promise.all(clients.map(finalizer)),
      ]);
      // Only one finalization succeeds.
      expect(statusesOf(finals)).toEqual([200, 409]);
      const acknowledged = cases.flat();
      const { body } = await clients[index % 2]!.get<Experiment>(`${EXPERIMENTS}/${id}`);
      const stored = await storedCases(id);
      expect(stored.sort()).toEqual([...acknowledged].sort());
      expect(body.summary!.scores!.s?.count ?? 0).toBe(acknowledged.length);
      expect(body).toEqual(finals.find((one) => one.status === 200)!.body);
    };
    for (let done = 0; done < EXPERIMENTS_FINALIZED; done += 10) {
      await Promise.all(Array.from({ length: 10 }, (_, n) => race(done + n)));
    }
  }, 180_000);

  it('are in the one summary that a hundred concurrent finalizations create', async () => {
    const { experiment_id: id } = await space.experiment();
    let acknowledged = 0;
    /** Returns the outcome of the rejected write. */
    const writer = async (client: ApiClient, name: string): Promise<unknown> => {
      for (let call = 0; call < CALLS_MAX; call++) {
        const answer = await bulk(client, id, [{ case_id: `${name} ${call}`, scores: { s: 1 } }]);
        if (answer.status !== 207) return outcome(answer);
        acknowledged += statuses(answer).filter((status) => status === 201).length;
      }
      return `not within ${CALLS_MAX} calls`;
    };
    const writers = [...clients, ...clients].map((client, n) => writer(client, `w${n}`));
    const finals = Array.from({ length: 100 }, (_, n) =>
      clients[n % 2]!.patch<Experiment>(`${EXPERIMENTS}/${id}`, {
        experiment_status: n % 3 === 0 ? 'failed' : 'completed',
        metrics: { winner: n },
      }),
    );
    const answers = await Promise.all(finals);
    expect(await Promise.all(writers)).toEqual(writers.map(() => [409, 'conflict']));
    expect(statusesOf(answers)).toEqual([200, ...Array<number>(99).fill(409)]);
    const won = answers.findIndex((one) => one.status === 200);
    const { body } = await space.viewer.get<Experiment>(`${EXPERIMENTS}/${id}`);
    expect(body).toEqual(answers[won]!.body);
    expect(body.summary!.metrics).toEqual({ winner: won });
    const counted = body.summary!.scores!.s?.count ?? 0;
    expect([counted, (await storedCases(id)).length]).toEqual([acknowledged, acknowledged]);
  });

  it('lose no write and cause no deadlock if many clients replace them while people score them', async () => {
    const { experiment_id: id } = await space.experiment();
    const scorer = await space.post<{ scorer_id: string }>('/eval/v1/scorers', {
      ...{ name: 'person', scorer_kind: 'human' },
      definition: { rubric: 'Good?', output: { type: 'boolean' } },
    });
    const session_id = 'shared';
    const names = Array.from({ length: 20 }, (_, n) => `case ${n}`);
    const itemsOf = (order: string[], value: number) =>
      order.map((case_id) => ({ case_id, session_id, scores: { s: value } }));
    const orders = [names, [...names].reverse(), [...names.slice(10), ...names.slice(0, 10)]];
    const replace = async (round: number, n: number): Promise<void> => {
      const body = { items: itemsOf(orders[n % 3]!, n), on_conflict: 'replace', workspace_id: space.id };
      const path = `${EXPERIMENTS}/${id}/results/bulk`;
      const answer = await clients[n % 2]!.post<BulkResponse>(path, body);
      expect(statuses(answer).every((status) => status === 200 || (round === 0 && status === 201))).toBe(
        true,
      );
    };
    const score = async (value: boolean): Promise<void> => {
      const body = { workspace_id: space.id, scorer_id: scorer.body.scorer_id, session_id, score: value };
      const answer = await space.evaluator.post('/eval/v1/scores', body);
      expect(answer.status).toBe(201);
    };
    await replace(0, 0);
    for (let round = 0; round < ROUNDS; round++) {
      await Promise.all([replace(round, 0), replace(round, 1), score(round % 2 === 0), replace(round, 2)]);
    }
    const stored = await space.list<Result>(`${EXPERIMENTS}/${id}/results?limit=500`);
    expect(stored).toHaveLength(names.length);
    const last = Number((ROUNDS - 1) % 2 === 0);
    for (const { version, scores } of stored) {
      expect(version).toBe(1 + 3 * ROUNDS);
      expect([0, 1, 2]).toContain(scores.s);
      expect(scores.person).toBe(last);
    }
    const rows = await app.database.query<{ result_id: string; scores: Record<string, number> }>(
      `SELECT result_id, jsonb_object_agg(scorer_name, score) AS scores FROM scores
       WHERE experiment_id = $1 AND superseded_at IS NULL AND is_current GROUP BY result_id`,
      [id],
    );
    expect(Object.fromEntries(rows.map(({ result_id, scores }) => [result_id, scores.s]))).toEqual(
      Object.fromEntries(stored.map(({ result_id, scores }) => [result_id, scores.s])),
    );
  });

  it('are in the summary, or get 409, if they are replaced while the experiment is finalized', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { experiment_id: id } = await space.experiment();
      await single(clients[0]!, id, { case_id: 'case', scores: { s: 0 } });
      const [replaced, final] = await Promise.all([
        single(clients[0]!, id, { case_id: 'case', scores: { s: 1 }, on_conflict: 'replace' }),
        clients[1]!.patch<Experiment>(`${EXPERIMENTS}/${id}`, { experiment_status: 'completed' }),
      ]);
      expect([200, 409]).toContain(replaced.status);
      expect(final.body.summary!.scores).toEqual({ s: { mean: replaced.status === 200 ? 1 : 0, count: 1 } });
    }
  });

  /** Returns the cases of an experiment, from all pages of its list. */
  async function storedCases(id: string): Promise<string[]> {
    const cases: string[] = [];
    let cursor = '';
    do {
      const path = `${EXPERIMENTS}/${id}/results?limit=500${cursor && `&cursor=${cursor}`}`;
      const { body } = await space.viewer.get<Page<Result>>(path);
      cases.push(...body.items.map((item) => item.case_id));
      cursor = body.page.next_cursor ?? '';
    } while (cursor !== '');
    return cases;
  }
});
